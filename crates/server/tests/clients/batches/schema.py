"""A random star: a fact table of several chunks, dimensions of all sizes, one of them a dimension's dimension, and what changes them."""

from dataclasses import dataclass, field

# Per type: what a random value is, as SQL text.
VALUES = {
    "integer": lambda source: str(source.randrange(-5, 60)),
    "smallint": lambda source: f"{source.randrange(-3, 12)}::smallint",
    "bigint": lambda source: f"{source.choice((0, 1, 7, 3_000_000_000, -9))}::bigint",
    "numeric(10,2)": lambda source: f"{source.randrange(-300, 3000) / 100}::numeric(10,2)",
    "text": lambda source: source.choice(("''", "'p'", "'q'", "'zz'", "'Pq'", "'gr€n'", f"'t{source.randrange(40)}'")),
    "varchar(9)": lambda source: f"'v{source.randrange(9)}'",
    "boolean": lambda source: source.choice(("true", "false")),
    "date": lambda source: f"date '2024-01-01' + {source.randrange(400)}",
    "timestamp": lambda source: f"timestamp '2024-01-01' + {source.randrange(9000)} * interval '7 minutes'",
    "double precision": lambda source: f"{source.randrange(-64, 640) / 16}::double precision",
    "real": lambda source: f"{source.randrange(-64, 640) / 16}::real",
}
SUMMED = ("integer", "smallint", "bigint", "numeric(10,2)")


@dataclass
class Column:
    name: str
    type: str
    # The table whose `k` this column points at, mostly.
    target: "Table | None" = None


@dataclass
class Table:
    name: str
    rows: int
    columns: list = field(default_factory=list)
    indexes: list = field(default_factory=list)

    def of_types(self, types):
        return [column for column in self.columns if column.type in types]

    def definition(self):
        columns = ", ".join(f"{column.name} {column.type}" for column in self.columns)
        return f"CREATE TABLE {self.name} (k integer PRIMARY KEY, {columns})"

    def row(self, source, key):
        cells = [str(key)]
        for column in self.columns:
            if source.randrange(9) == 0:
                cells.append("NULL")
            elif column.target:
                # A few point at nothing; low keys are asked for more often.
                most = column.target.rows + 2
                cells.append(str(min(source.randrange(most), source.randrange(most)) if source.randrange(2) else source.randrange(most)))
            else:
                cells.append(VALUES[column.type](source))
        return f"({', '.join(cells)})"

    def contents(self, source):
        for first in range(0, self.rows, 1000):
            rows = (self.row(source, key) for key in range(first, min(first + 1000, self.rows)))
            yield f"INSERT INTO {self.name} VALUES {', '.join(rows)}"


def random_columns(source, count, prefix):
    types = list(VALUES)
    return [Column(f"{prefix}{number}", source.choice(types)) for number in range(count)]


def star(source):
    """The fact table first; then dimensions, the last of which hangs on the one before."""
    sizes = source.sample((3, 12, 40, 100, 300, 900, 4000), 3)
    dimensions = [Table(name, rows, random_columns(source, 3, "c")) for name, rows in zip("deh", sizes)]
    dimensions[1].columns.append(Column("hk", "integer", dimensions[2]))
    fact = Table("f", source.choice((700, 9_000, 20_000, 30_000)), random_columns(source, 4, "v"))
    fact.columns += [Column(f"{table.name}k", "integer", table) for table in dimensions]
    for table in (fact, *dimensions):
        for column in table.columns:
            if source.randrange(4) == 0:
                table.indexes.append(column.name)
        if source.randrange(3) == 0:
            table.indexes.append(", ".join(column.name for column in source.sample(table.columns, 2)))
    return [fact, *dimensions]


def change(source, tables):
    """A statement that changes rows, an index or a column's type."""
    table = source.choice(tables)
    plain = [column for column in table.columns if not column.target]
    column = source.choice(plain)
    low = source.randrange(table.rows)
    high = low + source.choice((0, 1, 5, table.rows // 3))
    kind = source.randrange(10)
    if kind < 4:
        return f"UPDATE {table.name} SET {column.name} = {VALUES[column.type](source)} WHERE k BETWEEN {low} AND {high}"
    if kind < 6:
        return f"DELETE FROM {table.name} WHERE k BETWEEN {low} AND {min(high, low + 40)}"
    if kind < 8:
        rows = ", ".join(table.row(source, key) for key in range(low, low + 20))
        return f"INSERT INTO {table.name} VALUES {rows} ON CONFLICT (k) DO NOTHING"
    if kind == 8:
        return f"CREATE INDEX IF NOT EXISTS {table.name}_{column.name} ON {table.name} ({column.name})"
    return f"DROP INDEX IF EXISTS {table.name}_{column.name}"
