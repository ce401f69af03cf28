"""PostgreSQL's own regression scripts, statement by statement on our server (settings from PG*) and on a PostgreSQL.

    regress.py [--only NAME ...] [--show KIND] [--write] [--seconds N]

Each file runs on a connection of its own, after `test_setup`, on both servers. Answers are compared as they are: names, types,
texts of cells, order where the statement orders, SQLSTATEs. What each file gives is on record in `regress.tsv`: no
count of the same answers may fall, none of others rise; `--write` records what is found where it is better. Exits with 77 where
the scripts or a PostgreSQL are missing.
"""

import argparse
import collections
import math
import re
import sys
import time
from dataclasses import dataclass

import psycopg

import corpus
from statements import statements

sys.path.insert(0, str(corpus.HERE.parent / "postgres"))
import answers  # noqa: E402
import cluster  # noqa: E402

RECORD = corpus.HERE / "regress.tsv"
# `same` may not fall, the others may not rise.
KINDS = ("same", "refused", "state", "accepted", "rows", "types", "internal", "late", "lost")
LONGEST = "5s"
# What needs a PostgreSQL built for its tests, or its files: no answer of ours means anything there.
LEFT_OUT = {"test_setup", "create_function_c", "largeobject", "tablespace", "psql", "psql_crosstab", "sanity_check"}
SETTING = re.compile(r"^\\set\s+(\w+)\s+:abs_srcdir\s+'([^']*)'", re.MULTILINE)
FROM_FILE = re.compile(r"^(copy\s.*?\sfrom\s+):'(\w+)'(.*)$", re.IGNORECASE | re.DOTALL)


@dataclass
class Script:
    name: str
    text: str
    folder: object

    def statements(self):
        """Statements and their data; of a COPY from a file of the scripts the file's lines, as if psql sent them."""
        files = dict(SETTING.findall(self.text))
        for statement, data in statements(self.text):
            found = FROM_FILE.match(statement)
            if found and found.group(2) in files:
                path = self.folder / files[found.group(2)].lstrip("/")
                if path.exists():
                    statement = f"{found.group(1)} STDIN {found.group(3)}"
                    data = path.read_text().splitlines()
            yield statement, data


def ask(connection, statement, data):
    """The answer to a statement; to several in one text the last one's."""
    raw = connection.pgconn
    if data is None:
        return answers.ask(connection, statement)
    try:
        result = raw.exec_(statement.encode())
        if result.status != psycopg.pq.ExecStatus.COPY_IN:
            return answers.answer(result)
        raw.put_copy_data("".join(line + "\n" for line in data).encode())
        raw.put_copy_end()
        result = raw.get_result()
        while raw.get_result():
            pass
        return answers.answer(result)
    except psycopg.OperationalError as error:
        return answers.Answer([], [], [], state=answers.LOST, message=str(error))


def kind_of(statement, ours, theirs):
    if ours.state == answers.LOST:
        return "lost"
    if answers.CANCELED in (ours.state, theirs.state):
        return "same" if ours.state == theirs.state else "late"
    if ours.state == answers.INTERNAL_ERROR and theirs.state != answers.INTERNAL_ERROR:
        return "internal"
    if theirs.state:
        if ours.state is None:
            return "accepted"
        return "same" if ours.state == theirs.state else "state"
    if ours.state:
        return "refused"
    if ours.types != theirs.types or ours.names != theirs.names:
        return "types"
    mine, other = ours.rows, theirs.rows
    if not re.search(r"\border\s+by\b", statement, re.IGNORECASE):
        mine, other = (sorted(rows, key=repr) for rows in (mine, other))
    return "same" if mine == other and ours.tag == theirs.tag else "rows"


class Comparison:
    def __init__(self, address, options):
        self.address = address
        self.options = options
        self.roots = collections.Counter()

    def connect(self):
        both = [psycopg.connect(address, autocommit=True) for address in ("", self.address)]
        for connection in both:
            connection.execute(f"SET statement_timeout = '{LONGEST}'")
        return both

    def run(self, script):
        counts = collections.Counter()
        ours, theirs = self.connect()
        for statement, data in script.statements():
            expected = ask(theirs, statement, data)
            found = ask(ours, statement, data)
            kind = kind_of(statement, found, expected)
            counts[kind] += 1
            if kind != "same":
                self.note(script, kind, statement, found, expected)
            if kind == "lost":
                ours.close()
                ours = psycopg.connect("", autocommit=True)
        for connection in (ours, theirs):
            connection.close()
        return counts

    def note(self, script, kind, statement, found, expected):
        if kind == "refused":
            self.roots[re.sub(r'"[^"]*"|\d+', "..", found.message)[:70]] += 1
        if kind == self.options.show:
            print(f"--- {script.name}: {kind}\n{statement}\n  ours: {found.shown()}\n  PostgreSQL: {expected.shown()}")


def recorded():
    if not RECORD.exists():
        return {}
    lines = RECORD.read_text().splitlines()
    names = lines[0].split("\t")[1:]
    rows = (line.split("\t") for line in lines[1:])
    return {row[0]: collections.Counter(dict(zip(names, map(int, row[1:])))) for row in rows}


def write(record):
    lines = ["\t".join(("file", *KINDS))]
    lines += ["\t".join((name, *(str(counts[kind]) for kind in KINDS))) for name, counts in sorted(record.items())]
    RECORD.write_text("\n".join(lines) + "\n")


def worse(before, now):
    """In what respect a file's answers are worse than on record."""
    if now["same"] < before["same"]:
        return f"{now['same']} answers are the same, {before['same']} were"
    grown = [kind for kind in KINDS[3:] if now[kind] > before[kind]]
    return ", ".join(f"{kind}: {now[kind]}, were {before[kind]}" for kind in grown)


def scripts(folder):
    schedule = (folder / "parallel_schedule").read_text()
    names = [name for line in schedule.splitlines() if line.startswith("test:") for name in line.split()[1:]]
    return [Script(name, (folder / "sql" / f"{name}.sql").read_text(), folder) for name in names]


def run(options, folder, address):
    comparison = Comparison(address, options)
    every = scripts(folder)
    setup = next(script for script in every if script.name == "test_setup")
    comparison.run(setup)
    comparison.roots.clear()
    chosen = [script for script in every if script.name not in LEFT_OUT]
    if options.only:
        chosen = [script for script in chosen if script.name in options.only]
    record, failed, total = recorded(), [], collections.Counter()
    end = time.monotonic() + options.seconds
    for script in chosen:
        if time.monotonic() > end:
            failed.append(f"{script.name}: not reached in {options.seconds:.0f} s")
            continue
        counts = comparison.run(script)
        total += counts
        before = record.get(script.name)
        fault = worse(before, counts) if before is not None else ""
        if fault:
            failed.append(f"{script.name}: {fault}")
        elif options.write:
            record[script.name] = counts
    print(f"regression scripts: {len(chosen)} files, {dict(total)}; left out: {', '.join(sorted(LEFT_OUT))}")
    for root, count in comparison.roots.most_common(12):
        print(f"  refused {count} times: {root}")
    if options.write:
        write(record)
    for fault in failed:
        print(f"  {fault}")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--show", choices=KINDS)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--seconds", type=float, default=math.inf)
    options = parser.parse_args()
    try:
        with corpus.unpacked("postgresql-15-regress") as folder, cluster.running() as address:
            failed = run(options, folder / "postgresql-15/src/test/regress", address)
    except (corpus.Missing, cluster.NoPostgres) as reason:
        print(reason)
        raise SystemExit(corpus.SKIPPED) from None
    raise SystemExit(1 if failed else 0)


main()
