"""One analytical library behind a socket: embedded.py SYSTEM PORT FOLDER.

A connection is a thread with a session of its own. A request is a kind (one byte), a length (four bytes, big
endian) and UTF-8 text; an answer is `o` or `e`, the numbers of rows and columns, a length, and text.
Kinds: `q` run a query, fetch its rows, answer how many; `a` the same and answer the rows as well, cells between
tabs; `c` create a table (JSON); `l` load files into a table (JSON); `v` name and version; `z` all is loaded.
"""

import datetime
import decimal
import glob
import json
import os
import socket
import struct
import sys
import threading
import time


def sql_type(column):
    kind = column["type"]
    if kind == "text":
        return "VARCHAR"
    if kind == "decimal":
        return "DECIMAL(%d, %d)" % (column["precision"], column["scale"])
    return {"integer": "INTEGER", "biginteger": "BIGINT", "date": "DATE"}[kind]


def columns_of(table):
    return ", ".join("%s %s NOT NULL" % (c["name"], sql_type(c)) for c in table["columns"])


def files_of(folder):
    return sorted(glob.glob(os.path.join(folder, "*.tsv")))


class DuckDb:
    """Native tables in memory, without keys: their indexes serve no query here."""

    def __init__(self, folder):
        import duckdb

        self.version = "DuckDB " + duckdb.__version__
        self.root = duckdb.connect(":memory:")

    def session(self):
        return self.root.cursor()

    def create(self, session, table):
        session.execute("CREATE TABLE %s (%s)" % (table["name"], columns_of(table)))

    def load(self, session, table, folder):
        options = "DELIMITER '\t', HEADER false, QUOTE '', ESCAPE ''"
        session.execute("COPY %s FROM '%s/*.tsv' (%s)" % (table["name"], folder, options))

    def finish(self, session):
        session.execute("ANALYZE")

    def query(self, session, sql):
        return session.execute(sql).fetchall()

    def count(self, session, sql):
        # Columns: making Python values of large answers takes ten times as long.
        columns = session.execute(sql).fetchnumpy().values()
        return max((len(column) for column in columns), default=0)

    def rows(self, answer):
        return answer


class Hyper:
    """A .hyper file."""

    def __init__(self, folder):
        import importlib.metadata
        import tableauhyperapi as hyper

        self.api = hyper
        self.version = "Hyper (tableauhyperapi " + importlib.metadata.version("tableauhyperapi") + ")"
        telemetry = hyper.Telemetry.DO_NOT_SEND_USAGE_DATA_TO_TABLEAU
        parameters = {"log_config": "", "default_database_version": "2"}
        self.process = hyper.HyperProcess(telemetry, parameters=parameters)
        self.database = os.path.join(folder, "data.hyper")
        mode = hyper.CreateMode.CREATE_AND_REPLACE
        hyper.Connection(self.process.endpoint, self.database, mode).close()

    def session(self):
        return self.api.Connection(self.process.endpoint, self.database)

    def create(self, session, table):
        columns = columns_of(table).replace("VARCHAR", "TEXT")
        session.execute_command("CREATE TABLE %s (%s)" % (table["name"], columns))

    def load(self, session, table, folder):
        for file in files_of(folder):
            options = "(format csv, delimiter E'\\t', header false, quote E'\\x01')"
            session.execute_command("COPY %s FROM '%s' WITH %s" % (table["name"], file, options))

    def finish(self, session):
        pass

    def query(self, session, sql):
        return session.execute_list_query(sql)

    def count(self, session, sql):
        return len(self.query(session, sql))

    def rows(self, answer):
        return answer


class ClickHouse:
    """MergeTree tables, sorted by primary key, merged to one part."""

    def __init__(self, folder):
        import chdb
        from chdb import session

        self.version = "ClickHouse (chdb %s)" % chdb.__version__
        self.root = session.Session(os.path.join(folder, "clickhouse"))
        # As the SQL standard has it: NULL for the missing side of an outer join and for aggregates of no row.
        self.root.query("SET join_use_nulls = 1, aggregate_functions_null_for_empty = 1")
        self.tables = []

    def session(self):
        return self.root

    def create(self, session, table):
        columns = columns_of(table).replace("VARCHAR", "String").replace(" NOT NULL", "")
        key = ", ".join(table["primary_key"])
        text = "CREATE TABLE %s (%s) ENGINE = MergeTree ORDER BY (%s)"
        session.query(text % (table["name"], columns, key))
        self.tables.append(table["name"])

    def load(self, session, table, folder):
        text = "INSERT INTO %s SELECT * FROM file('%s/*.tsv', 'TabSeparated', '%s')"
        columns = columns_of(table).replace("VARCHAR", "String").replace(" NOT NULL", "")
        session.query(text % (table["name"], folder, columns))

    def finish(self, session):
        for name in self.tables:
            session.query("OPTIMIZE TABLE %s FINAL" % name)

    def query(self, session, sql):
        return session.query(sql, "TabSeparated").bytes()

    def count(self, session, sql):
        return self.query(session, sql).count(b"\n")

    def rows(self, answer):
        return [line.split("\t") for line in answer.decode().splitlines()]


class DataFusion:
    """Arrow batches in memory."""

    def __init__(self, folder):
        import datafusion
        import pyarrow

        self.arrow = pyarrow
        self.version = "DataFusion " + datafusion.__version__
        self.root = datafusion.SessionContext()

    def session(self):
        return self.root

    def create(self, session, table):
        pass

    def load(self, session, table, folder):
        name, file = table["name"], table["name"] + "_file"
        schema = self.arrow.schema([self.field(column) for column in table["columns"]])
        options = {"has_header": False, "delimiter": "\t", "file_extension": ".tsv"}
        session.register_csv(file, folder, schema=schema, **options)
        session.sql("CREATE TABLE %s AS SELECT * FROM %s" % (name, file)).collect()
        session.deregister_table(file)

    def field(self, column):
        types = {
            "integer": self.arrow.int32,
            "biginteger": self.arrow.int64,
            "text": self.arrow.string_view,
            "date": self.arrow.date32,
            "decimal": lambda: self.arrow.decimal128(column["precision"], column["scale"]),
        }
        return self.arrow.field(column["name"], types[column["type"]](), nullable=False)

    def finish(self, session):
        pass

    def query(self, session, sql):
        return session.sql(sql).collect()

    def count(self, session, sql):
        return sum(batch.num_rows for batch in self.query(session, sql))

    def rows(self, answer):
        return [list(row.values()) for batch in answer for row in batch.to_pylist()]


SYSTEMS = {"duckdb": DuckDb, "hyper": Hyper, "clickhouse": ClickHouse, "datafusion": DataFusion}


def cell(value):
    if value is None:
        return "\\N"
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    return str(value)


def answer_to(system, session, kind, text):
    """Numbers of rows and columns, and text."""
    if kind == "q":
        return system.count(session, text), 0, ""
    if kind == "a":
        rows = system.rows(system.query(session, text))
        lines = ["\t".join(cell(value) for value in row) for row in rows]
        return len(rows), len(rows[0]) if rows else 0, "\n".join(lines)
    if kind == "v":
        return 0, 0, system.version
    if kind == "z":
        system.finish(session)
        return 0, 0, ""
    request = json.loads(text)
    if kind == "c":
        system.create(session, request)
        return 0, 0, ""
    system.load(session, request["table"], request["folder"])
    name = request["table"]["name"]
    rows = system.rows(system.query(session, "SELECT COUNT(*) FROM " + name))
    return int(rows[0][0]), 0, ""


def receive(connection, length):
    parts = []
    while length > 0:
        part = connection.recv(length)
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def serve(system, connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    session = system.session()
    while True:
        head = receive(connection, 5)
        if head is None:
            return
        kind, length = struct.unpack(">cI", head)
        text = receive(connection, length).decode()
        try:
            status, (rows, columns, body) = b"o", answer_to(system, session, kind.decode(), text)
        except Exception as error:
            status, rows, columns, body = b"e", 0, 0, "%s: %s" % (type(error).__name__, error)
        body = body.encode()
        connection.sendall(struct.pack(">cIII", status, rows, columns, len(body)) + body)


def end_with_parent():
    """Whoever started this may be killed without a chance to end it."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main():
    name, port, folder = sys.argv[1:]
    threading.Thread(target=end_with_parent, daemon=True).start()
    system = SYSTEMS[name](folder)
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=64)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(system, connection), daemon=True).start()


main()
