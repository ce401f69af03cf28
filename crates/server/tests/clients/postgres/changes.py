"""Random INSERT, UPDATE and DELETE statements. Which rows they change, and how, is determined."""

from expressions import Item, Scope, condition, correlation, table_of, value
from queries import where
from tables import INTEGER, TABLES


def change(statement):
    """A statement's text and the table that it changes."""
    table = statement.choices.one_of(TABLES)
    kind = statement.choices.one_of((insert_values, update, delete, insert_select, update_from, delete_using))
    return kind(statement, table), table


def own_scope(table):
    return Scope([Item(f"{table.name}.{column.name}", column.type) for column in table.columns])


def returning(statement, table, depth=1):
    choices = statement.choices
    if not choices.chance(60):
        return ""
    if choices.chance(30):
        return " RETURNING " + ", ".join(item.text for item in own_scope(table).items)
    scope = Scope(own_scope(table).items, asks=False)
    types = [choices.one_of(scope.items).type for _ in range(1 + choices.below(3))]
    return " RETURNING " + ", ".join(value(statement, scope, given, depth) for given in types)


def assignments(statement, table, scope, most=3):
    """Some columns with their new values; keys stay, since which of two equal ones is told is open."""
    columns = [column for column in table.columns if column.name not in table.key]
    return [
        f"{column.name} = {value(statement, scope, column.type, statement.choices.below(3))}"
        for column in statement.choices.several(columns, most)
    ]


def conflict(statement, table):
    choices = statement.choices
    if not table.key or not choices.chance(60):
        return ""
    target = f" ON CONFLICT ({', '.join(table.key)}) DO "
    if choices.chance(40):
        return target + "NOTHING"
    excluded = [Item(f"excluded.{column.name}", column.type) for column in table.columns]
    scope = Scope(own_scope(table).items + excluded, asks=False)
    text = target + "UPDATE SET " + ", ".join(assignments(statement, table, scope, 2))
    if choices.chance(40):
        text += f" WHERE {condition(statement, scope, 1)}"
    return text


def insert_values(statement, table):
    choices = statement.choices
    rows = []
    first = choices.constant_below(60)
    for number in range(1 + choices.below(3)):
        row = []
        for column in table.columns:
            key = column.name == (table.key or (None,))[0]
            row.append(str(first + number) if key else value(statement, Scope([]), column.type, choices.below(2)))
        rows.append(f"({', '.join(row)})")
    end = conflict(statement, table) + returning(statement, table)
    return f"INSERT INTO {table.name} ({', '.join(table.names())}) VALUES {', '.join(rows)}{end}"


def insert_select(statement, table):
    """Rows of a table with a key of its own, whose first column becomes the new key: no two rows meet each other."""
    choices = statement.choices
    source = choices.one_of([other for other in TABLES if other.key == ("id",)])
    name = statement.fresh_name()
    scope = Scope([Item(f"{name}.{column.name}", column.type) for column in source.columns])
    shift = choices.constant_below(60)
    selected = []
    for column in table.columns:
        key = column.name == (table.key or (None,))[0]
        selected.append(f"{name}.id + {shift}" if key else value(statement, scope, column.type, choices.below(2)))
    text = f"SELECT {', '.join(selected)} FROM {source.name} {name}{where(statement, scope, 1)}"
    end = conflict(statement, table) + returning(statement, table)
    return f"INSERT INTO {table.name} ({', '.join(table.names())}) {text}{end}"


def update(statement, table):
    scope = own_scope(table)
    changed = ", ".join(assignments(statement, table, scope))
    filtered = where(statement, scope, statement.choices.below(3))
    return f"UPDATE {table.name} SET {changed}{filtered}{returning(statement, table)}"


def update_from(statement, table):
    """Each row meets at most one other: the one whose key it names."""
    choices = statement.choices
    other = choices.one_of([other for other in TABLES if other.key == ("id",)])
    name = statement.fresh_name()
    scope = own_scope(table)
    joined = Scope(scope.items + [Item(f"{name}.{column.name}", column.type) for column in other.columns])
    key = choices.one_of(scope.of_type(INTEGER)).text
    changed = ", ".join(assignments(statement, table, joined))
    more = f" AND {condition(statement, joined, 1)}" if choices.chance(50) else ""
    end = returning(statement, table)
    return f"UPDATE {table.name} SET {changed} FROM {other.name} {name} WHERE {name}.id = {key}{more}{end}"


def delete(statement, table):
    filtered = where(statement, own_scope(table), statement.choices.below(3))
    return f"DELETE FROM {table.name}{filtered}{returning(statement, table)}"


def delete_using(statement, table):
    """Who is deleted twice is deleted once, whichever pair came first, so RETURNING names the table's columns only."""
    relation, items = table_of(statement)
    scope = Scope(items, own_scope(table))
    joined = correlation(statement, scope, 1)
    return f"DELETE FROM {table.name} USING {relation}{joined}{returning(statement, table)}"
