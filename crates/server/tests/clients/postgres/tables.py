"""The tables that statements are about: small, with NULLs, duplicates and keys of several kinds."""

from dataclasses import dataclass

INTEGER, BIGINT, NUMERIC, DOUBLE = "integer", "bigint", "numeric", "double precision"
TEXT, BOOLEAN, DATE, TIMESTAMP, INTERVAL = "text", "boolean", "date", "timestamp", "interval"


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    definition: str = ""
    # What the values of a fresh table are drawn from; None for a key, which counts.
    values: tuple | None = None


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple
    rows: int
    key: tuple = ()
    indexes: tuple = ()

    def names(self):
        return [column.name for column in self.columns]

    def definitions(self):
        columns = [f"{column.name} {column.definition or column.type}" for column in self.columns]
        if self.key:
            columns.append(f"PRIMARY KEY ({', '.join(self.key)})")
        yield f"CREATE TABLE {self.name} ({', '.join(columns)})"
        for index in self.indexes:
            yield f"CREATE INDEX ON {self.name} ({index})"

    def contents(self, source):
        """An INSERT of fresh rows, as `source` draws them."""
        rows = []
        for number in range(self.rows):
            values = [number if column.values is None else source.choice(column.values) for column in self.columns]
            rows.append(f"({', '.join(literal(value) for value in values)})")
        return f"INSERT INTO {self.name} VALUES {', '.join(rows)}"


def literal(value):
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else f"'{value}'"


DATES = (None, "1999-12-31", "2023-11-30", "2024-01-01", "2024-02-29", "2024-03-31", "2024-12-31", "2025-06-15")
TIMESTAMPS = (
    None,
    "1999-12-31 23:59:59.5",
    "2024-01-01 00:00:00",
    "2024-02-29 12:30:15",
    "2024-02-29 23:59:59.999999",
    "2024-03-31 01:02:03.25",
    "2025-06-15 18:00:00",
)
# Binary fractions: their sums are the same in whatever order they are added.
DOUBLES = (None, "0", "0.5", "-1.25", "2.5", "1024", "0.0625")
# No letter of more than a byte: in locale C PostgreSQL does not know its other case.
TEXTS = (None, "", "p", "q", "r", "s", "zz", "Pq", "p_q", "50%", "gr€n")

TABLES = (
    Table(
        "a",
        (
            Column("id", INTEGER),
            Column("g", INTEGER, values=(None, 0, 1, 2, 3)),
            Column("t", TEXT, values=TEXTS),
            Column("v", INTEGER, "integer NOT NULL", tuple(range(10))),
            Column("d", DATE, values=DATES),
            Column("f", BOOLEAN, values=(None, "true", "false")),
        ),
        rows=40,
        key=("id",),
        indexes=("g", "d"),
    ),
    Table(
        "b",
        (
            Column("id", INTEGER),
            Column("aid", INTEGER, values=(None, *range(45))),
            Column("k", INTEGER, values=(0, 1, 2, 3, 4)),
            Column("u", TEXT, values=(None, "p", "q", "s", "zz")),
            Column("s", TIMESTAMP, values=TIMESTAMPS),
            Column("h", DOUBLE, values=DOUBLES),
        ),
        rows=80,
        key=("id",),
        indexes=("aid", "u, k"),
    ),
    Table(
        "c",
        (
            Column("x", INTEGER, values=(None, *range(10))),
            Column("y", INTEGER, values=(0, 1, 2, 3, 4, 5)),
            Column("w", NUMERIC, "numeric(10,2)", (None, "1.50", "2.25", "0.00", "-7.10")),
            Column("l", BIGINT, values=(None, -3, 0, 1, 2, 3_000_000_000)),
            Column("e", DATE, values=DATES),
        ),
        rows=60,
    ),
    Table(
        "m",
        (
            Column("i", INTEGER),
            Column("g", INTEGER, values=(0, 1, 2)),
            Column("n", TEXT, "text NOT NULL", ("p", "q", "zz")),
            # Not without a precision: we print ten digits after the point then (docs/sql.md).
            Column("w", NUMERIC, "numeric(12,3)", (None, "0.125", "10", "3.3")),
        ),
        rows=12,
        key=("i", "g"),
    ),
)
