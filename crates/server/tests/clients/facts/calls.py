"""The rows of the tables of facts as calls over odd values."""

import math
import pathlib
from dataclasses import dataclass

import odd

FACTS = pathlib.Path(__file__).resolve().parents[4] / "values/src/facts"
# Calls of a row.
COUNT = 8
# Values that an aggregate sees at once.
LENGTH = 5
# Functions that look at what a server has, or need a library; those that have another syntax, and those of casts, which stand
# there.
LEFT_OUT = {
    "current_setting", "row_security_active", "to_ascii", "extract", "overlaps", "position", "normalize", "is_normalized",
}  # fmt: skip
LEFT_OUT_WORDS = ("pg_", "has_", "xml_", "gin_", "hash")
FIELDS = (
    "century", "day", "decade", "dow", "doy", "epoch", "hour", "isodow", "isoyear", "julian", "microseconds",
    "millennium", "milliseconds", "minute", "month", "quarter", "second", "week", "year",
)  # fmt: skip
MOMENTS = ("date", "timestamp", "timestamptz", "interval")
# Rows whose syntax is their own: a row of each stands for what the tables file under another name.
WRITTEN = (
    *((f"extract({field} FROM {{}})", "extract", kind) for field in FIELDS for kind in MOMENTS),
    ("position({} IN {})", "position", "text text"),
    ("({} AT TIME ZONE 'America/New_York')", "AT TIME ZONE", "timestamp"),
    ("({} AT TIME ZONE 'America/New_York')", "AT TIME ZONE", "timestamptz"),
    ("({} AT TIME ZONE 'Europe/Brussels')", "AT TIME ZONE", "timestamp"),
    ("({} LIKE {})", "LIKE", "text text"),
    ("({} NOT LIKE {})", "LIKE", "text text"),
    ("({} ILIKE {})", "LIKE", "text text"),
    ("({} LIKE {})", "LIKE", "bpchar text"),
    ("({} SIMILAR TO {})", "SIMILAR TO", "text text"),
    *((f"to_char({{}}, '{form}')", "to_char", kind)
      for form in ("YYYY-MM-DD HH24:MI:SS.US", "FMDay, DD Mon YYYY", "IYYY-IW-ID J Q", "HH12:MI AM", "TMMonth FMDDth")
      for kind in MOMENTS),
    *((f"to_char({{}}, '{form}')", "to_char", kind)
      for form in ("999,999.99", "FM000.0", "S9999", "9.99EEEE") for kind in ("int4", "int8", "numeric", "float8")),
    *((f"{name}({', '.join(['{}'] * count)})", name, " ".join([kind] * count))
      for name, count in (("coalesce", 2), ("nullif", 2), ("greatest", 2), ("least", 3)) for kind in odd.TYPES),
    *((f"({{}} {name} {{}})", name, f"{kind} {kind}") for name in ("IS DISTINCT FROM",) for kind in odd.TYPES),
    *(("({} BETWEEN {} AND {})", "BETWEEN", f"{kind} {kind} {kind}") for kind in odd.TYPES),
    *(("({}::varchar(3))", "typmod", kind) for kind in ("text", "varchar", "bpchar")),
    *(("({}::char(4))", "typmod", kind) for kind in ("text", "varchar", "bpchar")),
    *(("({}::numeric(12,3))", "typmod", kind) for kind in ("numeric", "float8", "int8")),
    *((f"({{}}::{kind}(2))", "typmod", kind) for kind in ("timestamp", "timestamptz", "interval")),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """Something that may be called: `text` has a place for each argument."""

    kind: str
    name: str
    text: str
    arguments: tuple

    def combinations(self, source=None):
        """Which values each call takes, by number: spread evenly over all combinations; from another first one where there is
        a source of random numbers."""
        sizes = [len(odd.VALUES[name]) for name in self.arguments]
        total = math.prod(sizes)
        step = max(total * 618 // 1000, 1)
        while math.gcd(step, total) != 1:
            step += 1
        first = source.randrange(total) if source else 0
        for number in range(min(COUNT, total)):
            place, chosen = (first + number * step) % total, []
            for size in sizes:
                chosen.append(place % size)
                place //= size
            yield tuple(chosen)


def table(name):
    return [line.split("\t") for line in (FACTS / f"{name}.tsv").read_text().splitlines()]


def core(*names):
    return all(name in odd.TYPES for name in names)


def operators():
    for _, name, left, right, result, *_ in table("operators"):
        sides = [right] if left in ("", "-") else [left, right]
        if core(*sides):
            text = f"({name} {{}})" if len(sides) == 1 else f"({{}} {name} {{}})"
            yield Row("operator", name, text, tuple(sides))


def functions():
    behind = {row[6] for row in table("operators")}
    for _, name, arguments, result, volatility, _, source in table("functions"):
        arguments = arguments.split()
        is_left_out = name in LEFT_OUT or name in odd.TYPES or name.startswith(LEFT_OUT_WORDS)
        if volatility == "v" or source in behind or is_left_out or not arguments or not core(*arguments, result):
            continue
        places = ", ".join(["{}"] * len(arguments))
        yield Row("function", name, f"{name}({places})", tuple(arguments))


def casts():
    for source, target, *_ in table("casts"):
        if core(source, target):
            yield Row("cast", f"{source} {target}", f"({{}})::{target}", (source,))
    for name in odd.TYPES:
        if name not in ("text", "varchar", "bpchar"):
            yield Row("cast", f"{name} text", "({})::text", (name,))
            yield Row("cast", f"text {name}", f"({{}})::{name}", ("text",))


def aggregates():
    for _, name, arguments, result, *_ in table("aggregates"):
        arguments = arguments.split()
        if arguments and core(*arguments, result):
            places = ", ".join(["{}"] * len(arguments))
            yield Row("aggregate", name, f"{name}({places})", tuple(arguments))


def written():
    for text, name, arguments in WRITTEN:
        yield Row("syntax", name, text, tuple(arguments.split()))


def rows():
    return [*operators(), *functions(), *written(), *casts(), *aggregates()]


def values(row, chosen):
    return [(name, odd.VALUES[name][at]) for name, at in zip(row.arguments, chosen)]


def by_literals(row, chosen):
    """The statement with its values written in it."""
    if row.kind != "aggregate":
        return f"SELECT {row.text.format(*(odd.literal(*pair) for pair in values(row, chosen)))}"
    given = []
    for shift in range(LENGTH):
        shifted = [(at + shift * shift) % len(odd.VALUES[name]) for name, at in zip(row.arguments, chosen)]
        given.append("(" + ", ".join(odd.literal(*pair) for pair in values(row, shifted)) + ")")
    names = [f"a{place}" for place in range(len(row.arguments))]
    return f"SELECT {row.text.format(*names)} FROM (VALUES {', '.join(given)}) AS given ({', '.join(names)})"


def by_columns(row, chosen):
    """The statement over tables of odd values; `None` for one that asks for what is no column."""
    tables = [f"odd_{name} AS a{place}" for place, name in enumerate(row.arguments)]
    names = [f"a{place}.v" for place in range(len(row.arguments))]
    if row.kind != "aggregate":
        wanted = [f"a{place}.i = {at}" for place, at in enumerate(chosen)]
        return f"SELECT {row.text.format(*names)} FROM {', '.join(tables)} WHERE {' AND '.join(wanted)}"
    wanted = [f"a{place}.i >= {at}" for place, at in enumerate(chosen)]
    wanted += [f"a{place}.i = a0.i" for place in range(1, len(tables))]
    return f"SELECT {row.text.format(*names)} FROM {', '.join(tables)} WHERE {' AND '.join(wanted)}"
