"""What a server answers, byte for byte, and where two answers differ."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus

NUMERIC, FLOATS = 1700, (700, 701)
# From so many digits after the point on a numeric is a division's or an average's, of which we print fewer (docs/sql.md).
DIVIDED_SCALE = 10
INTERNAL_ERROR, CANCELED = "XX000", "57014"
# What a connection that ended says (08006: connection failure).
LOST = "08006"


@dataclass
class Answer:
    names: list
    types: list
    rows: list
    tag: str = ""
    state: str | None = None
    message: str = ""

    def shown(self, most=8):
        if self.state:
            return f"ERROR {self.state}: {self.message}"
        lines = [f"{self.tag}; {', '.join(f'{name}:{oid}' for name, oid in zip(self.names, self.types))}"]
        lines += [" | ".join("NULL" if cell is None else cell for cell in row) for row in self.rows[:most]]
        if len(self.rows) > most:
            lines.append(f"... {len(self.rows)} rows")
        return "\n        ".join(lines)


def ask(connection, text, parameters=None):
    """Runs a statement by the simple protocol, or with parameters, a list of values and types, by the extended one."""
    try:
        if parameters is None:
            return answer(connection.pgconn.exec_(text.encode()))
        values = [value.encode() for value, _ in parameters]
        return answer(connection.pgconn.exec_params(text.encode(), values, [oid for _, oid in parameters]))
    except psycopg.OperationalError as error:
        return Answer([], [], [], state=LOST, message=str(error))


def answer(result):
    if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        state = result.error_field(DiagnosticField.SQLSTATE)
        message = result.error_field(DiagnosticField.MESSAGE_PRIMARY) or result.error_message
        return Answer([], [], [], state=state.decode() if state else LOST, message=message.decode())
    columns = range(result.nfields)
    rows = []
    for row in range(result.ntuples):
        cells = [result.get_value(row, column) for column in columns]
        rows.append(tuple(None if cell is None else cell.decode() for cell in cells))
    names = [result.fname(column).decode() for column in columns]
    tag = (result.command_status or b"").decode()
    return Answer(names, [result.ftype(column) for column in columns], rows, tag)


def difference(ours, theirs, ordered):
    """In what respect the answers differ; `None` where they do not."""
    if theirs.state or ours.state:
        return fault_difference(ours, theirs)
    if ours.types != theirs.types:
        return "types"
    if ours.names != theirs.names:
        return "names"
    if ours.tag != theirs.tag:
        return "tags"
    mine, other = ours.rows, theirs.rows
    if not ordered:
        mine, other = sorted(mine, key=sort_key), sorted(other, key=sort_key)
    if len(mine) != len(other):
        return "rows"
    same = all(
        cells_equal(cell, another, oid)
        for row, other_row in zip(mine, other)
        for cell, another, oid in zip(row, other_row, theirs.types)
    )
    return None if same else "rows"


def fault_difference(ours, theirs):
    if ours.state == LOST:
        return "connection lost"
    if ours.state == INTERNAL_ERROR:
        return "internal error"
    if ours.state is None:
        return "no error"
    if theirs.state is None:
        return "error"
    return None if ours.state[:2] == theirs.state[:2] else "another error"


def sort_key(row):
    """Puts rows in an order that digits beyond the tenth do not change."""
    return [(cell is None, rounded(cell)) for cell in row]


def rounded(cell):
    if not cell or cell[0] not in "-.0123456789" or "." not in cell:
        return cell or ""
    try:
        return f"{Decimal(cell):.8f}"
    except InvalidOperation:
        return cell


def cells_equal(mine, other, oid):
    if mine == other or mine is None or other is None:
        return mine == other
    if oid in FLOATS:
        return close(float(mine), float(other))
    if oid == NUMERIC:
        divided = DIVIDED_SCALE <= max(scale(mine), scale(other))
        # All numerics of one of our columns have equally many digits after the point (docs/sql.md).
        return close(Decimal(mine), Decimal(other)) if divided else Decimal(mine) == Decimal(other)
    return False


def scale(text):
    return len(text.partition(".")[2])


def close(mine, other):
    return mine == other or abs(mine - other) <= type(mine)("1e-9") * max(1, abs(mine), abs(other))
