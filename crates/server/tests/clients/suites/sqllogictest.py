"""SQLite's sqllogictest files on our server (settings from PG*), as engine `postgresql`, with the answers that the files have.

    sqllogictest.py [--only TEXT ...] [--share N] [--seed N] [--show] [--write] [--seconds N]

One of `--share` files runs (1: all), chosen by the seed; those named by `--only` always do. Statements that the files expect to
succeed and that we refuse are counted by file in `sqllogictest.tsv`, and no count may rise; a wrong answer is a failure whatever the
record says. Exits with 77 where the files are missing.
"""

import argparse
import collections
import hashlib
import math
import random
import time
from dataclasses import dataclass, field

import psycopg

import corpus

ENGINE = "postgresql"
RECORD = corpus.HERE / "sqllogictest.tsv"
LONGEST = "20s"


@dataclass
class Record:
    line: int
    kind: str
    text: str
    types: str = ""
    sort: str = "nosort"
    expected: list = field(default_factory=list)


def records(lines):
    """Statements and queries that are for us, in order."""
    at = 0
    wanted = True
    while at < len(lines):
        words = lines[at].split("#")[0].split()
        at += 1
        if not words:
            continue
        if words[0] in ("skipif", "onlyif"):
            wanted = wanted and (words[1] == ENGINE) == (words[0] == "onlyif")
        elif words[0] == "halt" and wanted:
            return
        elif words[0] in ("statement", "query"):
            record, at = read(words, lines, at)
            if wanted:
                yield record
            wanted = True


def read(words, lines, at):
    """The record whose head is above line `at`, and the line behind it."""
    record = Record(at, f"{words[0]} {words[1]}" if words[0] == "statement" else "query", "")
    if words[0] == "query":
        record.types = words[1]
        record.sort = words[2] if len(words) > 2 else "nosort"
    text = []
    while at < len(lines) and lines[at].strip() and lines[at] != "----":
        text.append(lines[at])
        at += 1
    record.text = "\n".join(text)
    if at < len(lines) and lines[at] == "----":
        at += 1
        while at < len(lines) and lines[at].strip():
            record.expected.append(lines[at])
            at += 1
    return record, at


def cell(value, kind):
    """A value as the files write it."""
    if value is None:
        return "NULL"
    if kind == "I":
        return str(int(float(value))) if value not in ("t", "f") else str(int(value == "t"))
    if kind == "R":
        return f"{float(value):.3f}"
    return "".join(c if " " <= c <= "~" else "@" for c in value) or "(empty)"


def values(rows, record):
    rows = [[cell(value, kind) for value, kind in zip(row, record.types)] for row in rows]
    if record.sort == "rowsort":
        rows.sort()
    flat = [value for row in rows for value in row]
    return sorted(flat) if record.sort == "valuesort" else flat


def is_expected(found, expected):
    if len(expected) == 1 and " values hashing to " in expected[0]:
        count, digest = expected[0].split(" values hashing to ")
        text = "".join(f"{value}\n" for value in found)
        return int(count) == len(found) and hashlib.md5(text.encode()).hexdigest() == digest
    return found == expected


class Run:
    def __init__(self, options):
        self.options = options
        self.total = collections.Counter()
        self.roots = collections.Counter()

    def file(self, path):
        """Counts of a file's answers: `right`, `refused`, `wrong`."""
        counts = collections.Counter()
        with psycopg.connect("", autocommit=True) as connection:
            connection.execute(f"SET statement_timeout = '{LONGEST}'")
            self.empty(connection)
            for record in records(path.read_text().splitlines()):
                kind = self.answer(connection, record)
                counts[kind] += 1
                if kind == "wrong":
                    print(f"--- {path.name}:{record.line}: wrong\n{record.text}")
            self.empty(connection)
        self.total += counts
        return counts

    def empty(self, connection):
        """Files expect an empty database."""
        asked = "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public'"
        for name, kind in sorted(connection.execute(asked).fetchall(), key=lambda row: row[1] != "VIEW"):
            connection.execute(f'DROP {"VIEW" if kind == "VIEW" else "TABLE"} IF EXISTS "{name}" CASCADE')

    def answer(self, connection, record):
        result = connection.pgconn.exec_(record.text.encode())
        failed = result.status == psycopg.pq.ExecStatus.FATAL_ERROR
        if record.kind == "statement error":
            return "right" if failed else "wrong"
        if failed:
            message = (result.error_field(psycopg.pq.DiagnosticField.MESSAGE_PRIMARY) or b"connection lost").decode()
            self.roots[message[:70]] += 1
            if self.options.show:
                print(f"refused: {record.text}\n  {message}")
            return "refused"
        if record.kind == "statement ok":
            return "right"
        rows = [
            [value.decode() if (value := result.get_value(row, column)) is not None else None for column in range(result.nfields)]
            for row in range(result.ntuples)
        ]
        width_fits = not rows or len(record.types) == len(rows[0])
        return "right" if width_fits and is_expected(values(rows, record), record.expected) else "wrong"


def recorded():
    if not RECORD.exists():
        return {}
    return {name: int(count) for name, count in (line.split("\t") for line in RECORD.read_text().splitlines())}


def chosen(folder, options):
    files = sorted(folder.rglob("*.test"))
    if options.only:
        return [path for path in files if any(text in str(path) for text in options.only)]
    source = random.Random(options.seed)
    return [path for path in files if source.randrange(options.share) == 0]


def run(options, folder):
    files, record, found = chosen(folder, options), recorded(), Run(options)
    failed, end = [], time.monotonic() + options.seconds
    for number, path in enumerate(files):
        if time.monotonic() > end:
            print(f"sqllogictest: {len(files) - number} of {len(files)} files not reached in {options.seconds:.0f} s")
            break
        name = str(path.relative_to(folder))
        counts = found.file(path)
        if counts["wrong"] or counts["refused"] > record.get(name, 0) and not options.write:
            failed.append(f"{name}: {dict(counts)}, {record.get(name, 0)} were refused")
        if options.write:
            record[name] = counts["refused"]
    print(f"sqllogictest: {dict(found.total)}")
    for root, count in found.roots.most_common(8):
        print(f"  refused {count} times: {root}")
    if options.write:
        lines = [f"{name}\t{count}" for name, count in sorted(record.items()) if count]
        RECORD.write_text("\n".join(lines) + "\n" if lines else "")
    for fault in failed:
        print(f"  {fault}")
    return failed


def seed(text):
    return random.SystemRandom().randrange(1_000_000) if text == "random" else int(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--share", type=int, default=8)
    parser.add_argument("--seed", type=seed, default="random")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--seconds", type=float, default=math.inf)
    options = parser.parse_args()
    print(f"--seed {options.seed}", flush=True)
    try:
        with corpus.unpacked("sqllogictest") as folder:
            failed = run(options, folder)
    except corpus.Missing as reason:
        print(reason)
        raise SystemExit(corpus.SKIPPED) from None
    raise SystemExit(1 if failed else 0)


main()
