"""Every operator, function, cast and aggregate of the tables of facts over odd values, on our server (settings from PG*) and on
a PostgreSQL.

    check.py [--part N] [--only NAME ...] [--show KIND ...] [--write] [--seconds N] [--seed N]

Each call is asked twice: with its values as literals, and with values from columns. What each name answers is on record in
`facts.tsv`: no count of the same answers may fall, no count of other values, of answers where PostgreSQL fails, of
internal errors may rise; `--write` records what is found. `--part N` asks every Nth name only. With `--seed` other
values are drawn, and a call fails only where it ends its connection. Exits with 77 where there is no PostgreSQL.
"""

import argparse
import collections
import math
import pathlib
import random
import sys
import time

import psycopg

import calls
import odd

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "postgres"))
import answers  # noqa: E402
import cluster  # noqa: E402

RECORD = HERE / "facts.tsv"
SKIPPED = 77
# `same` may not fall, what follows `types` may not rise. `refused`: an error where PostgreSQL answers; `accepted`: the
# contrary; `types`: the same text as another type.
KINDS = ("same", "refused", "state", "types", "accepted", "value", "internal", "lost")
# A record that nothing is worse than but a lost connection.
ANYTHING = collections.Counter(dict.fromkeys(KINDS[4:-1], math.inf))
LONGEST = "5s"
FORMS = {"literals": calls.by_literals, "columns": calls.by_columns}


def kind_of(ours, theirs):
    if ours.state == answers.LOST:
        return "lost"
    if ours.state == answers.INTERNAL_ERROR:
        return "internal"
    if theirs.state:
        if ours.state is None:
            return "accepted"
        return "same" if ours.state == theirs.state else "state"
    if ours.state:
        return "refused"
    if ours.rows != theirs.rows:
        return "value"
    return "same" if ours.types == theirs.types else "types"


def connected(address):
    connection = psycopg.connect(address, autocommit=True)
    for setting in (f"statement_timeout = '{LONGEST}'", "client_min_messages = error"):
        connection.execute(f"SET {setting}")
    return connection


class Comparison:
    def __init__(self, address, options):
        self.options = options
        self.source = None if options.seed is None else random.Random(options.seed)
        self.ours, self.theirs = connected(""), connected(address)
        self.kept = {name: self.fill(name) for name in odd.TYPES}

    def fill(self, name):
        """Makes the table of a type's odd values; which of them both servers keep."""
        both = (self.theirs, self.ours)
        answers.ask(self.ours, f"DROP TABLE IF EXISTS odd_{name}")
        made = [answers.ask(server, f"CREATE TABLE odd_{name} (i int PRIMARY KEY, v {name})") for server in both]
        if any(answer.state for answer in made):
            return set()
        kept = set()
        for place, value in enumerate(odd.VALUES[name]):
            text = f"INSERT INTO odd_{name} VALUES ({place}, {odd.literal(name, value)})"
            stored = [answers.ask(server, text) for server in both]
            if not any(answer.state for answer in stored):
                kept.add(place)
            else:
                for server in both:
                    answers.ask(server, f"DELETE FROM odd_{name} WHERE i = {place}")
        return kept

    def run(self, row, form):
        counts = collections.Counter()
        for chosen in row.combinations(self.source):
            pairs = zip(row.arguments, chosen)
            if form == "columns" and not all(at in self.kept[name] for name, at in pairs):
                continue
            statement = FORMS[form](row, chosen)
            expected, found = (answers.ask(server, statement) for server in (self.theirs, self.ours))
            kind = kind_of(found, expected)
            counts[kind] += 1
            if kind in self.options.show:
                print(f"--- {row.kind} {row.name} {form}: {kind}\n{statement}")
                print(f"  ours: {found.shown()}\n  PostgreSQL: {expected.shown()}")
            if kind == "lost":
                self.ours = connected("")
        return counts


def recorded():
    if not RECORD.exists():
        return {}
    lines = [line.split("\t") for line in RECORD.read_text().splitlines()[1:]]
    return {tuple(line[:3]): collections.Counter(dict(zip(KINDS, map(int, line[3:])))) for line in lines}


def write(record):
    lines = ["\t".join(("form", "kind", "name", *KINDS))]
    lines += ["\t".join((*key, *(str(counts[kind]) for kind in KINDS))) for key, counts in sorted(record.items())]
    RECORD.write_text("\n".join(lines) + "\n")


def worse(before, now):
    """In what respect answers are worse than on record."""
    if now["same"] < before["same"]:
        return f"{now['same']} answers are the same, {before['same']} were"
    grown = [kind for kind in KINDS[4:] if now[kind] > before[kind]]
    return ", ".join(f"{kind}: {now[kind]}, were {before[kind]}" for kind in grown)


def chosen_rows(options):
    """Rows by kind and name."""
    named = collections.defaultdict(list)
    for row in calls.rows():
        named[row.kind, row.name].append(row)
    keys = sorted(named)[:: options.part]
    return {key: named[key] for key in keys if not options.only or key[1] in options.only or key[0] in options.only}


def run(options, address):
    comparison = Comparison(address, options)
    record, failed, totals = recorded(), [], collections.defaultdict(collections.Counter)
    end = time.monotonic() + options.seconds
    for (kind, name), rows in chosen_rows(options).items():
        if time.monotonic() > end:
            break
        for form in FORMS:
            counts = sum((comparison.run(row, form) for row in rows), collections.Counter())
            totals[form] += counts
            key = (form, kind, name)
            known = record.get(key) if options.seed is None else ANYTHING
            fault = worse(known, counts) if known is not None else ""
            if fault and not options.write:
                failed.append(f"{form}, {kind} {name}: {fault}")
            elif options.write:
                record[key] = counts
    for name in odd.TYPES:
        answers.ask(comparison.ours, f"DROP TABLE IF EXISTS odd_{name}")
    for form, counts in totals.items():
        asked = counts.total()
        shares = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS)
        print(f"facts by {form}: {asked} calls, {100 * counts['same'] / max(asked, 1):.1f} % the same: {shares}")
    if options.write:
        write(record)
    for fault in failed:
        print(f"  {fault}")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", type=int, default=1, help="every Nth name")
    parser.add_argument("--only", nargs="*", help="names or kinds")
    parser.add_argument("--show", choices=KINDS, nargs="*", default=())
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--seed", help="a number, or random")
    options = parser.parse_args()
    if options.seed is not None:
        options.seed = random.SystemRandom().randrange(1_000_000) if options.seed == "random" else int(options.seed)
        print(f"--seed {options.seed}", flush=True)
    try:
        with cluster.running() as address:
            failed = run(options, address)
    except cluster.NoPostgres as reason:
        print(reason)
        raise SystemExit(SKIPPED) from None
    raise SystemExit(1 if failed else 0)


main()
