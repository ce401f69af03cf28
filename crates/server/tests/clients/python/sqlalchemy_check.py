"""SQLAlchemy 2 against a running server, over psycopg 3 and psycopg2: create, change, query, reflect. Settings come from PG*."""

import datetime
import decimal
import os
import select
import traceback

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

PATIENCE = 120


def tables(metadata):
    author = sa.Table(
        "author",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(40), nullable=False, unique=True),
        sa.Column("born", sa.Date),
        sa.Column("score", sa.Numeric(10, 2), server_default="0"),
        sa.CheckConstraint("id > 0", name="id_is_positive"),
    )
    book = sa.Table(
        "book",
        metadata,
        sa.Column("id", sa.BigInteger, sa.Identity(always=True, start=5), primary_key=True),
        sa.Column("author_id", sa.ForeignKey("author.id", ondelete="CASCADE"), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("added", sa.DateTime(timezone=True)),
        sa.Column("lent", sa.Boolean),
        sa.Column("cover", sa.LargeBinary),
        sa.Column("weight", sa.Float),
        sa.UniqueConstraint("author_id", "title", name="one_title"),
        sa.Index("by_title", "title"),
    )
    return author, book


class Library:
    """Tables of a test, which go with it."""

    def __init__(self, engine):
        self.engine = engine
        self.metadata = sa.MetaData()
        self.author, self.book = tables(self.metadata)

    def __enter__(self):
        self.metadata.create_all(self.engine)
        with self.engine.begin() as connection:
            connection.execute(sa.text("CREATE VIEW names AS SELECT id, name FROM author"))
            connection.execute(sa.text("CREATE SEQUENCE spare"))
        return self

    def __exit__(self, *_):
        with self.engine.begin() as connection:
            connection.execute(sa.text("DROP VIEW names"))
            connection.execute(sa.text("DROP SEQUENCE spare"))
        self.metadata.drop_all(self.engine)


def rows_go_in_and_come_back(engine):
    added = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)
    with Library(engine) as library, engine.begin() as connection:
        author, book = library.author, library.book
        connection.execute(author.insert(), [{"name": "ann", "born": datetime.date(1901, 2, 3)}, {"name": "bob", "born": None}])
        values = {"author_id": 1, "title": "it's", "added": added, "lent": True, "cover": b"\x00\xff", "weight": 1.5}
        keys = connection.execute(book.insert().returning(book.c.id), [values, {**values, "title": "so"}]).all()
        assert keys == [(5,), (6,)], keys
        connection.execute(author.update().where(author.c.name == "bob").values(score=decimal.Decimal("2.50")))
        joined = sa.select(author, book).join(book).where(book.c.title.like("it%"))
        row = connection.execute(joined).mappings().one()
        assert (row["name"], row["born"], row["score"]) == ("ann", datetime.date(1901, 2, 3), decimal.Decimal("0.00")), row
        assert (row["added"], row["lent"], bytes(row["cover"]), row["weight"]) == (added, True, b"\x00\xff", 1.5), row
        counted = sa.select(author.c.name, sa.func.count(book.c.id)).outerjoin(book).group_by(author.c.name)
        assert sorted(connection.execute(counted).all()) == [("ann", 2), ("bob", 0)]
        assert connection.execute(author.delete().where(author.c.id.in_([1, 7]))).rowcount == 1
        assert connection.scalar(sa.select(sa.func.count()).select_from(book)) == 0


def names_are_inspected(engine):
    with Library(engine):
        inspector = sa.inspect(engine)
        assert {"public", "information_schema"} <= set(inspector.get_schema_names())
        assert {"author", "book"} <= set(inspector.get_table_names())
        assert inspector.get_view_names() == ["names"]
        assert sorted(inspector.get_sequence_names()) == ["author_id_seq", "book_id_seq", "spare"]
        assert inspector.get_materialized_view_names() == []
        assert inspector.get_enums() == []
        assert inspector.has_table("author") and not inspector.has_table("nobody")
        assert inspector.has_sequence("spare") and not inspector.has_sequence("none")
        assert "author" in inspector.get_view_definition("names")


def columns_are_inspected(engine):
    with Library(engine):
        inspector = sa.inspect(engine)
        columns = {column["name"]: column for column in inspector.get_columns("author")}
        assert list(columns) == ["id", "name", "born", "score"]
        assert isinstance(columns["id"]["type"], sa.INTEGER) and not columns["id"]["nullable"]
        assert columns["id"]["autoincrement"] is True, columns["id"]
        assert columns["id"]["default"] == "nextval('author_id_seq'::regclass)", columns["id"]
        assert columns["name"]["type"].length == 40
        assert isinstance(columns["born"]["type"], sa.DATE) and columns["born"]["nullable"]
        assert (columns["score"]["type"].precision, columns["score"]["type"].scale) == (10, 2)
        columns = {column["name"]: column for column in inspector.get_columns("book")}
        identity = columns["id"]["identity"]
        assert identity["always"] is True and identity["start"] == 5 and identity["increment"] == 1, identity
        assert columns["added"]["type"].timezone is True
        assert isinstance(columns["cover"]["type"], postgresql.BYTEA)
        assert isinstance(columns["weight"]["type"], postgresql.DOUBLE_PRECISION)
        assert [column["name"] for column in inspector.get_columns("names")] == ["id", "name"]


def constraints_are_inspected(engine):
    with Library(engine):
        inspector = sa.inspect(engine)
        key = inspector.get_pk_constraint("author")
        assert (key["name"], key["constrained_columns"]) == ("author_pkey", ["id"]), key
        assert inspector.get_foreign_keys("author") == []
        (key,) = inspector.get_foreign_keys("book")
        assert (key["name"], key["constrained_columns"]) == ("book_author_id_fkey", ["author_id"]), key
        assert (key["referred_table"], key["referred_columns"]) == ("author", ["id"]), key
        assert key["options"] == {"ondelete": "CASCADE"}, key
        indexes = {index["name"]: index for index in inspector.get_indexes("book")}
        assert sorted(indexes) == ["by_title", "one_title"], indexes
        assert indexes["by_title"]["column_names"] == ["title"] and not indexes["by_title"]["unique"], indexes
        assert indexes["one_title"]["column_names"] == ["author_id", "title"], indexes
        assert indexes["one_title"]["duplicates_constraint"] == "one_title", indexes
        (key,) = inspector.get_unique_constraints("book")
        assert (key["name"], key["column_names"]) == ("one_title", ["author_id", "title"]), key
        (check,) = inspector.get_check_constraints("author")
        assert (check["name"], check["sqltext"]) == ("id_is_positive", "id > 0"), check
        assert inspector.get_table_comment("author") == {"text": None}


def a_schema_is_reflected(engine):
    with Library(engine) as library:
        found = sa.MetaData()
        found.reflect(engine, views=True, only=["author", "book", "names"])
        assert [table.name for table in found.sorted_tables] == ["author", "names", "book"], found.sorted_tables
        book = found.tables["book"]
        assert list(book.columns.keys()) == list(library.book.columns.keys())
        assert [column.name for column in book.primary_key] == ["id"]
        assert book.c.id.identity is not None and book.c.id.identity.start == 5
        (key,) = book.foreign_keys
        assert key.target_fullname == "author.id" and key.ondelete == "CASCADE"
        assert [index.name for index in book.indexes] == ["by_title"], book.indexes
        # What was reflected can be made anew.
        library.book.drop(engine)
        book.create(engine)
        with engine.begin() as connection:
            connection.execute(found.tables["author"].insert().values(name="ann"))
            connection.execute(book.insert().values(author_id=1, title="t"))
            assert connection.execute(sa.select(book.c.id, book.c.title)).all() == [(5, "t")]


def a_transaction_is_rolled_back(engine):
    with Library(engine) as library:
        with engine.connect() as connection:
            with connection.begin(), connection.begin_nested() as inner:
                connection.execute(library.author.insert().values(name="ann"))
                inner.rollback()
            assert connection.scalar(sa.select(sa.func.count()).select_from(library.author)) == 0


def next_notification(connection):
    """The next one of a driver's connection: the drivers differ."""
    if hasattr(connection, "poll"):
        while not connection.notifies:
            assert select.select([connection], [], [], PATIENCE)[0], "nothing is told"
            connection.poll()
        return connection.notifies.pop(0)
    return next(connection.notifies(timeout=PATIENCE, stop_after=1))


def notifications_are_told(engine):
    engine = engine.execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as listener, engine.connect() as speaker:
        listener.execute(sa.text("LISTEN news"))
        driver = listener.connection.driver_connection
        speaker.execute(sa.text("NOTIFY news, 'plain'"))
        told = next_notification(driver)
        assert (told.channel, told.payload) == ("news", "plain"), told
        speaker.execute(sa.select(sa.func.pg_notify("news", "called")))
        assert next_notification(driver).payload == "called"
        listener.execute(sa.text("UNLISTEN *"))


CHECKS = [
    rows_go_in_and_come_back,
    names_are_inspected,
    columns_are_inspected,
    constraints_are_inspected,
    a_schema_is_reflected,
    a_transaction_is_rolled_back,
    notifications_are_told,
]


def main():
    place = f"{os.environ['PGUSER']}@{os.environ['PGHOST']}:{os.environ['PGPORT']}/{os.environ['PGDATABASE']}"
    failed = 0
    for driver in ("psycopg", "psycopg2"):
        engine = sa.create_engine(f"postgresql+{driver}://{place}")
        for check in CHECKS:
            try:
                check(engine)
            except Exception:
                failed += 1
                print(f"sqlalchemy: {check.__name__} over {driver} failed")
                traceback.print_exc()
        engine.dispose()
    raise SystemExit(1 if failed else 0)


main()
