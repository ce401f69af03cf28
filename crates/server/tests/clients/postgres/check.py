"""Compares answers to random statements with PostgreSQL's. Settings of our server come from PG*.

    check.py [--seed N] [--statements N] [--seconds N] [--only N]

A seed gives the same tables and statements again; `--only` runs its statement of that number, `--seconds` ends a run before its
last statement. Every query runs in the
global plan, query at a time, and as the server likes; half of them a second time with other constants, which find the
first one's plan. Exits with 77 where there is no PostgreSQL.
"""

import argparse
import collections
import math
import random
import time

import psycopg

import answers
import changes
import choices
import cluster
import expected
import expressions
import queries
from tables import TABLES

PATHS = ("global", "alone", "automatic")
# What PostgreSQL takes longer for is left out; ours must be there in time.
LONGEST = "5s"
LONGEST_OURS = "60s"
SKIPPED = 77


class Made:
    """A statement of a record of choices."""

    def __init__(self, source=None, record=(), constants=None):
        taken = choices.Choices(source, record, constants)
        protocol = taken.below(4)
        # Two of four by the simple protocol, the others with parameters that have types or have none.
        typed = {2: True, 3: False}.get(protocol)
        statement = expressions.Statement(taken, typed)
        self.table = None
        self.ordered = False
        self.in_block = False
        if taken.chance(25):
            self.in_block = taken.chance(50)
            text, self.table = changes.change(statement)
        else:
            text, self.ordered = queries.top_query(statement)
        self.text = statement.finish(text)
        self.parameters = None if typed is None else statement.parameters
        self.record = taken.record

    def shown(self):
        if not self.parameters:
            return self.text
        return f"{self.text}\n        with {', '.join(f'{value!r}:{oid}' for value, oid in self.parameters)}"


def connect(path):
    """A connection to our server, whose queries take the path."""
    connection = psycopg.connect("", autocommit=True)
    connection.execute(f"SET shareddb.path = '{path}'")
    connection.execute(f"SET statement_timeout = '{LONGEST_OURS}'")
    return connection


class Comparison:
    def __init__(self, seed, address):
        self.seed = seed
        self.theirs = psycopg.connect(address, autocommit=True)
        self.theirs.execute(f"SET statement_timeout = '{LONGEST}'")
        self.ours = {path: connect(path) for path in PATHS}
        self.counts = collections.Counter()
        self.expected = collections.Counter()
        source = choices.of_seed(seed, "tables")
        self.contents = {table.name: table.contents(source) for table in TABLES}
        for connection in (self.theirs, self.ours["global"]):
            for table in TABLES:
                connection.execute(f"DROP TABLE IF EXISTS {table.name}")
                for definition in table.definitions():
                    connection.execute(definition)
                connection.execute(self.contents[table.name])

    def failure(self, made):
        """What differs between PostgreSQL's answers and ours to the statement: kind, path and both answers."""
        paths = random.Random(made.text).sample(PATHS, 1) if made.table else PATHS
        for path in paths:
            found = self.changed(made, path) if made.table else self.read(made, path)
            if found:
                return found
        return None

    def read(self, made, path):
        return self.difference(made.text, *self.ask(made.text, made.parameters, path), made.ordered, path)

    def changed(self, made, path):
        """Changes both tables, compares them, and makes the changes undone."""
        mine = self.ours[path]
        for connection in (mine, self.theirs):
            if made.in_block:
                connection.execute("BEGIN")
        ours, theirs = self.ask(made.text, made.parameters, path)
        found = self.difference(made.text, ours, theirs, False, path)
        if not (found or ours.state or theirs.state):
            text = f"SELECT * FROM {made.table.name}"
            found = self.difference(text, *self.ask(text, None, path), False, path)
        for connection in (self.ours[path], self.theirs):
            if made.in_block:
                connection.execute("ROLLBACK")
            else:
                connection.execute(f"DELETE FROM {made.table.name}")
                connection.execute(self.contents[made.table.name])
        return found

    def ask(self, text, parameters, path):
        """Our answer and theirs."""
        theirs = answers.ask(self.theirs, text, parameters)
        ours = answers.ask(self.ours[path], text, parameters)
        if ours.state == answers.LOST:
            self.ours[path] = connect(path)
        self.counts["answers"] += 1
        return ours, theirs

    def difference(self, text, ours, theirs, ordered, path):
        if theirs.state == answers.CANCELED:
            self.counts["too long for PostgreSQL"] += 1
            return None
        if theirs.state:
            self.counts[f"errors of class {theirs.state[:2]}"] += 1
        kind = answers.difference(ours, theirs, ordered)
        root = kind and expected.root(text, ours, theirs)
        if root:
            self.expected[root] += 1
        return None if not kind or root else (kind, path, ours, theirs)

    def statement(self, number):
        """Compares the statement of this number, and perhaps one of the same shape; what failed, and how."""
        made = Made(choices.of_seed(self.seed, number))
        found = self.failure(made)
        if not found and not made.table and made.record[0] % 2:
            made = Made(record=made.record, constants=choices.of_seed(self.seed, number, "again"))
            found = self.failure(made)
        return (made, found) if found else None

    def shrunk(self, made, found, attempts):
        """The smallest statement found that fails in the same way, and how; the given one where it failed only once."""
        least = made, found

        def fails(record):
            nonlocal least
            smaller = Made(record=record)
            again = self.failure(smaller)
            if again is None or again[0] != found[0]:
                return False
            least = smaller, again
            return True

        if fails(made.record):
            choices.shrink(made.record, fails, attempts)
        return least


def report(seed, number, made, found):
    kind, path, ours, theirs = found
    print(f"--- {kind} differ on path {path}; --seed {seed} --only {number}")
    print(f"        {made.shown()}")
    print(f"  ours: {ours.shown()}")
    print(f"  PostgreSQL: {theirs.shown()}", flush=True)


def run(options, address):
    comparison = Comparison(options.seed, address)
    end = time.monotonic() + options.seconds
    numbers = [options.only] if options.only is not None else range(options.statements)
    failed = 0
    for number in numbers:
        if time.monotonic() > end or failed >= options.failures:
            break
        comparison.counts["statements"] += 1
        outcome = comparison.statement(number)
        if outcome:
            failed += 1
            least = comparison.shrunk(*outcome, options.shrink)
            report(options.seed, number, *least)
    print(f"seed {options.seed}: {dict(comparison.counts)}")
    if comparison.expected:
        print(f"expected differences: {dict(comparison.expected)}")
    return failed


def seed(text):
    return random.SystemRandom().randrange(1_000_000) if text == "random" else int(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=seed, default="random", help="a number, or random")
    parser.add_argument("--statements", type=int, default=1500)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--only", type=int)
    parser.add_argument("--failures", type=int, default=5, help="so many failures are enough")
    parser.add_argument("--shrink", type=int, default=300, help="attempts to make a failing statement smaller")
    options = parser.parse_args()
    print(f"--seed {options.seed}", flush=True)
    try:
        with cluster.running() as address:
            failed = run(options, address)
    except cluster.NoPostgres as reason:
        print(reason)
        raise SystemExit(SKIPPED) from None
    raise SystemExit(1 if failed else 0)


main()
