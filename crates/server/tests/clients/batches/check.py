"""Random batches over the wire: many statements wait together on our server (settings from PG*), and each must be answered as
PostgreSQL answers it alone.

    check.py [--seed N] [--batches N] [--seconds N] [--largest N] [--failures N]

A seed gives the same tables, statements and changes again; what runs together depends on the moment, so a failing batch is
tried often and made smaller. Between batches rows, indexes and snapshots change, some members fail, some are cancelled. `--seconds`
ends a run before its last batch. Exits with 77 where there is no PostgreSQL.
"""

import argparse
import collections
import math
import pathlib
import random
import sys
import time

import psycopg

import members
import schema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "postgres"))
import answers  # noqa: E402
import cluster  # noqa: E402
import expected  # noqa: E402

SKIPPED = 77
LONGEST = 60
TRIES = 30


class Pair:
    """A connection to each server, in step."""

    def __init__(self, address):
        self.ours = psycopg.connect("", autocommit=True)
        self.theirs = psycopg.connect(address, autocommit=True)
        self.expected = answers.Answer([], [], [])
        self.in_block = False
        for connection in (self.ours, self.theirs):
            connection.execute(f"SET statement_timeout = '{LONGEST}s'")

    def both(self, text):
        for connection in (self.theirs, self.ours):
            connection.execute(text)

    def begin(self):
        """A snapshot of its own, held while others go on."""
        self.both("BEGIN ISOLATION LEVEL REPEATABLE READ")
        self.both("SELECT count(*) FROM d")
        self.in_block = True

    def end(self):
        if self.in_block:
            self.both("ROLLBACK")
        self.in_block = False


def result(connection):
    """The answer to what was sent; a wait that is too long is an answer, too."""
    raw, found = connection.pgconn, None
    while (given := raw.get_result()) is not None:
        found = answers.answer(given)
    return found or answers.Answer([], [], [], state=answers.LOST, message="no answer")


def differ(member, ours, theirs):
    """In what respect an answer is not PostgreSQL's: exactly, in order where the statement orders."""
    if ours.state or theirs.state:
        return None if ours.state == theirs.state else "state"
    if ours.types != theirs.types:
        return "types"
    mine, other = ours.rows, theirs.rows
    if not member.ordered:
        mine, other = sorted(mine, key=repr), sorted(other, key=repr)
    return None if mine == other else "rows"


class Comparison:
    def __init__(self, options, address):
        self.options = options
        self.source = random.Random(options.seed)
        self.tables = schema.star(self.source)
        self.pairs = [Pair(address) for _ in range(options.largest)]
        self.asked = self.failed = 0
        self.roots = collections.Counter()
        first = self.pairs[0]
        for table in self.tables:
            first.both(f"DROP TABLE IF EXISTS {table.name}")
            first.both(table.definition())
            for text in table.contents(self.source):
                first.both(text)
            for number, columns in enumerate(table.indexes):
                first.both(f"CREATE INDEX {table.name}_i{number} ON {table.name} ({columns})")

    def run(self):
        end = time.monotonic() + self.options.seconds
        for number in range(1, self.options.batches + 1):
            if time.monotonic() > end or self.failed >= self.options.failures:
                break
            size = self.source.choice((2, 3, 8, self.options.largest))
            batch = members.batch(self.source, self.tables, size)
            cancelled = self.source.randrange(size) if self.source.randrange(6) == 0 else None
            self.check(number, batch, cancelled)
            self.move()
        for pair in self.pairs:
            pair.end()

    def move(self):
        """Changes between batches; snapshots of blocks stay behind."""
        writer = self.pairs[-1]
        writer.end()
        for _ in range(self.source.choice((0, 1, 3))):
            text = schema.change(self.source, self.tables)
            if text.startswith("DROP"):
                # PostgreSQL waits for all who have read the table.
                for pair in self.pairs:
                    pair.end()
            writer.both(text)
        for pair in self.source.sample(self.pairs[:-1], 2):
            pair.end()
            if self.source.randrange(2):
                pair.begin()

    def expect(self, batch):
        for member, pair in zip(batch, self.pairs):
            pair.expected = answers.ask(pair.theirs, member.text)

    def answers(self, batch, which, cancelled=None):
        """Sends all members at once, then takes their answers."""
        chosen = [(number, batch[number], self.pairs[number]) for number in which]
        for _, member, pair in chosen:
            pair.ours.pgconn.send_query(member.text.encode())
        if cancelled is not None:
            self.pairs[cancelled].ours.cancel_safe()
        return {number: result(pair.ours) for number, _, pair in chosen}

    def check(self, number, batch, cancelled):
        self.expect(batch)
        found = self.answers(batch, range(len(batch)), cancelled)
        self.asked += len(batch)
        for at, answer in found.items():
            pair = self.pairs[at]
            if at == cancelled and answer.state == answers.CANCELED:
                continue
            kind = differ(batch[at], answer, pair.expected)
            root = kind and expected.root(batch[at].text, answer, pair.expected)
            if root:
                self.roots[root] += 1
            elif kind:
                self.failed += 1
                self.report(number, batch, at, kind, answer)
        for pair in self.pairs[: len(batch)]:
            # A fault on either side ends a block on both.
            if pair.in_block and (pair.expected.state or cancelled is not None):
                pair.end()

    def report(self, number, batch, at, kind, answer):
        expected = self.pairs[at].expected
        print(f"--- {kind} differ: --seed {self.options.seed}, batch {number} of {len(batch)}, member {at}")
        print(f"  {batch[at].text}\n  ours: {answer.shown()}\n  PostgreSQL: {expected.shown()}", flush=True)
        if any(pair.in_block for pair in self.pairs[: len(batch)]):
            return
        least, times = self.smaller(batch, at)
        print(f"  alone with these it differs in {times} of {TRIES} tries:" if times else "  not seen again")
        for other in least if times else ():
            print(f"    {batch[other].text}", flush=True)

    def times(self, batch, which, at):
        tries = range(TRIES)
        return sum(differ(batch[at], self.answers(batch, which)[at], self.pairs[at].expected) is not None for _ in tries)

    def smaller(self, batch, at):
        """The fewest members found beside which the answer still differs, and how often."""
        which = list(range(len(batch)))
        times = self.times(batch, which, at)
        if not times:
            return which, 0
        if self.times(batch, [at], at) == TRIES:
            return [at], TRIES
        for other in [other for other in which if other != at]:
            fewer = [kept for kept in which if kept != other]
            if found := self.times(batch, fewer, at):
                which, times = fewer, found
        return which, times


def seed(text):
    return random.SystemRandom().randrange(1_000_000_000) if text == "random" else int(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=seed, default="random", help="a number, or random")
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--largest", type=int, default=48, help="members of the largest batch")
    parser.add_argument("--failures", type=int, default=3, help="so many are enough")
    options = parser.parse_args()
    print(f"--seed {options.seed}", flush=True)
    try:
        with cluster.running() as address:
            comparison = Comparison(options, address)
            comparison.run()
    except cluster.NoPostgres as reason:
        print(reason)
        raise SystemExit(SKIPPED) from None
    print(f"batches: {comparison.asked} answers compared, {comparison.failed} differ; expected: {dict(comparison.roots)}")
    raise SystemExit(1 if comparison.failed else 0)


if __name__ == "__main__":
    main()
