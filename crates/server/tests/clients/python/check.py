"""psycopg 3 against a running server: types, transactions, pipelines, COPY, cancel. Settings come from PG*."""

import datetime
import decimal
import threading
import traceback

import psycopg
from psycopg import errors


def connect(**options):
    return psycopg.connect("", **options)


def types_round_trip_in_both_formats():
    utc = datetime.timezone.utc
    values = [
        ("boolean", True),
        ("smallint", -32768),
        ("integer", 2**31 - 1),
        ("bigint", -(2**63)),
        ("real", 1.5),
        ("double precision", 0.1),
        ("numeric(30,10)", decimal.Decimal("-12345678901234567890.0123456789")),
        ("text", "grüß'\\\"\n"),
        ("varchar(20)", "ünïcödé"),
        ("char(5)", "ab   "),
        ("date", datetime.date(2024, 2, 29)),
        ("timestamp", datetime.datetime(1999, 12, 31, 23, 59, 59, 123456)),
        ("timestamptz", datetime.datetime(2024, 3, 1, 12, 0, tzinfo=utc)),
        ("bytea", bytes(range(256))),
    ]
    with connect(autocommit=True) as connection:
        for binary in (False, True):
            for i, (sql_type, value) in enumerate(values):
                cursor = connection.cursor(binary=binary)
                cursor.execute(f"CREATE TABLE v (i integer PRIMARY KEY, v {sql_type})")
                mark = "%b" if binary else "%t"
                for key in range(8):  # from the sixth on psycopg prepares
                    cursor.execute(f"INSERT INTO v VALUES (%s, {mark})", (key, value))
                cursor.execute("INSERT INTO v VALUES (99, NULL)")
                for key in range(8):
                    cursor.execute("SELECT v FROM v WHERE i = %s", (key,))
                    assert cursor.fetchone() == (value,), (sql_type, binary)
                cursor.execute("SELECT v FROM v WHERE i = 99")
                assert cursor.fetchone() == (None,)
                cursor.execute("DROP TABLE v")


def transactions_end_as_they_should():
    with connect(autocommit=True) as connection:
        connection.execute("CREATE TABLE x (i integer PRIMARY KEY)")
    with connect() as connection:
        try:
            with connection.transaction():
                connection.execute("INSERT INTO x VALUES (1)")
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        assert connection.execute("SELECT count(*) FROM x").fetchone() == (0,)
        with connection.transaction():
            connection.execute("INSERT INTO x VALUES (1)")
            try:
                with connection.transaction():  # a savepoint
                    connection.execute("INSERT INTO x VALUES (1)")
            except errors.UniqueViolation as error:
                assert error.diag.constraint_name == "x_pkey", error.diag.constraint_name
                assert error.diag.table_name == "x"
            connection.execute("INSERT INTO x VALUES (2)")
        assert connection.execute("SELECT count(*) FROM x").fetchone() == (2,)
        connection.commit()
        try:
            connection.execute("SELECT 1/0")
            assert False, "should fail"
        except errors.DivisionByZero:
            pass
        try:
            connection.execute("SELECT 1")
            assert False, "should fail"
        except errors.InFailedSqlTransaction:
            pass
        connection.rollback()
    with connect(autocommit=True) as connection:
        connection.execute("DROP TABLE x")


def pipelines_run_and_fail_as_one():
    with connect(autocommit=True) as connection:
        connection.execute("CREATE TABLE p (i integer PRIMARY KEY)")
        with connection.pipeline() as pipeline:
            for i in range(200):
                connection.execute("INSERT INTO p VALUES (%s)", (i,))
            pipeline.sync()
            total = connection.execute("SELECT sum(i) FROM p")
            assert total.fetchone() == (19900,)
        try:
            with connection.pipeline():
                connection.execute("INSERT INTO p VALUES (1000)")
                connection.execute("INSERT INTO p VALUES (1)")
                connection.execute("INSERT INTO p VALUES (1001)")
            assert False, "should fail"
        except errors.UniqueViolation:
            pass
        assert connection.execute("SELECT count(*) FROM p").fetchone() == (200,)
        cursor = connection.cursor()
        cursor.executemany("INSERT INTO p VALUES (%s)", [(i,) for i in range(2000, 2500)])
        assert cursor.rowcount == 500
        connection.execute("DROP TABLE p")


def copy_goes_in_and_out():
    with connect(autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE c (i integer PRIMARY KEY, s text)")
        rows = [(i, f"line {i}\twith tab" if i % 3 else None) for i in range(5000)]
        with cursor.copy("COPY c (i, s) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        assert cursor.rowcount == 5000
        with cursor.copy("COPY c TO STDOUT") as copy:
            lines = b"".join(copy).decode().splitlines()
        assert len(lines) == 5000 and "0\t\\N" in lines
        try:
            with cursor.copy("COPY c (i, s) FROM STDIN") as copy:
                copy.write_row((9000, "new"))
                copy.write(b"no number\tx\n")
            assert False, "should fail"
        except errors.InvalidTextRepresentation:
            pass
        try:
            with cursor.copy("COPY c (i, s) FROM STDIN") as copy:
                copy.write_row((9000, "new"))
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        assert cursor.execute("SELECT count(*) FROM c").fetchone() == (5000,)
        connection.execute("DROP TABLE c")


def a_cancel_reaches_the_running_query_only():
    with connect(autocommit=True) as connection:
        connection.execute("CREATE TABLE n (i integer PRIMARY KEY)")
        with connection.cursor().copy("COPY n FROM STDIN") as copy:
            for i in range(3000):
                copy.write_row((i,))
        has_ended = threading.Event()

        # Again, if the first came before the statement; one that does not end it is ended by the limit on this program.
        def cancel():
            while not has_ended.wait(0.3):
                connection.cancel()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        try:
            connection.execute(
                "SELECT count(*) FROM n a, n b, n c WHERE a.i * b.i + c.i = 7"
            )
            assert False, "should be cancelled"
        except errors.QueryCanceled:
            pass
        finally:
            has_ended.set()
            canceller.join()
        assert connection.execute("SELECT count(*) FROM n").fetchone() == (3000,)
        connection.execute("DROP TABLE n")


def large_results_stream():
    with connect(autocommit=True) as connection:
        connection.execute("CREATE TABLE l (i integer PRIMARY KEY, s text)")
        with connection.cursor().copy("COPY l FROM STDIN") as copy:
            for i in range(1000):
                copy.write_row((i, "x" * 100))
        cursor = connection.cursor()
        seen = 0
        for row in cursor.stream("SELECT a.i, b.s FROM l a, l b WHERE a.i < 100"):
            seen += 1
        assert seen == 100_000, seen
        connection.execute("DROP TABLE l")


def statements_are_prepared_and_deallocated():
    with connect(autocommit=True) as connection:
        connection.prepare_threshold = 0
        connection.prepared_max = 5
        for i in range(40):  # older ones are deallocated on the way
            assert connection.execute(f"SELECT %s::int + {i}", (1,)).fetchone() == (i + 1,)
        connection.execute("DEALLOCATE ALL")


def named_cursors_take_rows_as_they_are_wanted():
    with connect(autocommit=True) as connection:
        connection.execute("CREATE TABLE nc (i integer PRIMARY KEY, s text)")
        connection.execute("INSERT INTO nc SELECT g, 'row ' || g FROM generate_series(1, 500) g")
    with connect() as connection:
        with connection.cursor(name="a") as a, connection.cursor(name="b", scrollable=True) as b:
            a.execute("SELECT i, s FROM nc WHERE i > %s ORDER BY i", (490,))
            b.execute("SELECT i FROM nc ORDER BY i")
            assert [column.name for column in a.description] == ["i", "s"]
            assert a.fetchone() == (491, "row 491")
            assert [row[0] for row in b.fetchmany(3)] == [1, 2, 3]
            assert [row[0] for row in a] == list(range(492, 501))
            b.scroll(-2)
            assert b.fetchone() == (2,)
            b.scroll(499, mode="absolute")
            assert b.fetchall() == [(500,)]
    with connect() as connection:
        held = connection.cursor(name="held", withhold=True)
        held.execute("SELECT i FROM nc ORDER BY i")
        connection.commit()
        assert held.fetchone() == (1,)
        held.close()
    with connect(autocommit=True) as connection:
        connection.execute("DROP TABLE nc")


def binary_copy_goes_in_and_out():
    rows = [
        (1, "grüß", decimal.Decimal("12.50"), datetime.date(2024, 2, 29), b"\x00\xff", True),
        (2, None, None, None, None, None),
    ]
    types = ["int4", "text", "numeric", "date", "bytea", "bool"]
    with connect(autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE bc (i integer PRIMARY KEY, s text, n numeric(8,2), d date, b bytea, f boolean)"
        )
        with connection.cursor().copy("COPY bc FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)
        assert connection.execute("SELECT * FROM bc ORDER BY i").fetchall() == rows
        with connection.cursor().copy("COPY (SELECT * FROM bc ORDER BY i) TO STDOUT (FORMAT BINARY)") as copy:
            copy.set_types(types)
            assert list(copy.rows()) == rows
        try:
            with connection.cursor().copy("COPY bc FROM STDIN (FORMAT BINARY)") as copy:
                copy.write(b"no such file")
            raise AssertionError("should fail")
        except psycopg.errors.BadCopyFileFormat:
            pass
        connection.execute("DROP TABLE bc")


def refused(connection, query, parameters=()):
    """What a client is told whose statement would be late."""
    try:
        connection.execute(query, parameters)
    except errors.ConfigurationLimitExceeded as error:
        assert error.diag.sqlstate == "53400" and error.diag.message_detail and error.diag.message_hint
        return error
    raise AssertionError(f"{query} should be refused")


def promises_are_kept_or_refused():
    with connect(autocommit=True) as connection:
        connection.execute("CREATE TABLE p (i integer PRIMARY KEY, s text)")
        connection.execute("INSERT INTO p VALUES (1, 'one'), (2, 'two')")
        connection.execute("SET shareddb.response_time = '60min'")
        query = "SELECT s FROM p WHERE i = %s"
        for i in (1, 2) * 4:  # prepared from the sixth on
            assert connection.execute(query, (i,)).fetchone() is not None
        connection.execute("SET shareddb.response_time = '1us'")
        refused(connection, query, (1,))
        with connection.transaction():
            connection.execute("SET LOCAL shareddb.response_time = 0")
            assert connection.execute(query, (1,)).fetchone() == ("one",)
            # What has begun goes on.
            connection.execute("SET LOCAL shareddb.response_time = '1us'")
            connection.execute("UPDATE p SET s = 'ONE' WHERE i = 1")
        refused(connection, query, (1,))
        connection.execute("RESET shareddb.response_time")
        assert connection.execute(query, (1,)).fetchone() == ("ONE",)
        seen = connection.execute(
            "SELECT sum(kept) > 0, sum(refused) > 0 FROM shareddb.promises WHERE role = current_user"
        )
        assert seen.fetchone() == (True, True)


def roles_and_databases_promise_too():
    with connect(autocommit=True) as admin:
        admin.execute("CREATE ROLE hasty LOGIN")
        admin.execute("GRANT SELECT ON p TO hasty")
        admin.execute("ALTER ROLE hasty SET shareddb.response_time = '1us'")
        with connect(user="hasty", autocommit=True) as connection:
            refused(connection, "SELECT s FROM p WHERE i = 1")
            connection.execute("ALTER ROLE hasty RESET shareddb.response_time")
        with connect(user="hasty", autocommit=True) as connection:
            assert connection.execute("SELECT s FROM p WHERE i = 1").fetchone() == ("ONE",)
        with connect(user="hasty", options="-c shareddb.response_time=1us", autocommit=True) as connection:
            refused(connection, "SELECT s FROM p WHERE i = 1")
        admin.execute("ALTER DATABASE shareddb SET shareddb.response_time = '1us'")
        try:
            with connect(user="hasty", autocommit=True) as connection:
                refused(connection, "SELECT s FROM p WHERE i = 1")
        finally:
            admin.execute("ALTER DATABASE shareddb RESET shareddb.response_time")
        admin.execute("DROP TABLE p")
        admin.execute("DROP ROLE hasty")


CHECKS = [
    promises_are_kept_or_refused,
    roles_and_databases_promise_too,
    named_cursors_take_rows_as_they_are_wanted,
    binary_copy_goes_in_and_out,
    types_round_trip_in_both_formats,
    transactions_end_as_they_should,
    pipelines_run_and_fail_as_one,
    copy_goes_in_and_out,
    a_cancel_reaches_the_running_query_only,
    large_results_stream,
    statements_are_prepared_and_deallocated,
]


def main():
    failed = 0
    for check in CHECKS:
        try:
            check()
        except Exception:
            failed += 1
            print(f"psycopg: {check.__name__} failed")
            traceback.print_exc()
    raise SystemExit(1 if failed else 0)


main()
