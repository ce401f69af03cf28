"""asyncpg and its pool against a running server: types, cursors, COPY, notifications. Settings come from PG*."""

import asyncio
import datetime
import decimal
import traceback

import asyncpg

PATIENCE = 120


def address():
    return {"timeout": PATIENCE, "command_timeout": PATIENCE}


async def a_pool_hands_connections_out_clean():
    async with asyncpg.create_pool(min_size=1, max_size=2, **address()) as pool:
        async with pool.acquire() as first:
            await first.execute("SET application_name = 'changed'")
            await first.execute("LISTEN left_over")
            process = first.get_server_pid()
        async with pool.acquire() as again:
            assert again.get_server_pid() == process
            assert await again.fetchval("SHOW application_name") != "changed"
            assert await again.fetch("SELECT pg_listening_channels()") == []
        numbers = await asyncio.gather(*(pool.fetchval("SELECT $1::int + 1", number) for number in range(20)))
        assert numbers == list(range(1, 21)), numbers


async def types_round_trip():
    connection = await asyncpg.connect(**address())
    utc = datetime.timezone.utc
    row = {
        "a": 1,
        "b": "grüß'",
        "c": decimal.Decimal("12.50"),
        "d": datetime.datetime(2024, 2, 29, 12, 0, tzinfo=utc),
        "e": datetime.date(2024, 2, 29),
        "f": b"\x00\xff",
        "g": 1.5,
        "h": True,
    }
    types = "a integer PRIMARY KEY, b text, c numeric(6, 2), d timestamptz, e date, f bytea, g double precision, h boolean"
    await connection.execute(f"CREATE TABLE v ({types})")
    await connection.executemany("INSERT INTO v VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", [tuple(row.values())])
    assert dict(await connection.fetchrow("SELECT * FROM v WHERE a = $1", 1)) == row
    found = await connection.fetchval("SELECT count(*) FROM v WHERE a = ANY($1)", [1, 2])
    assert found == 1, found
    assert await connection.fetchval("SELECT array_agg(b) FROM v") == ["grüß'"]
    assert await connection.fetchval("SELECT ARRAY[1, 2, NULL]") == [1, 2, None]
    await connection.copy_records_to_table("v", records=[(2, "x", None, None, None, None, None, None)])
    async with connection.transaction():
        found = [record["a"] async for record in connection.cursor("SELECT a FROM v ORDER BY a")]
    assert found == [1, 2], found
    statement = await connection.prepare("SELECT a, b FROM v")
    assert [attribute.type.name for attribute in statement.get_attributes()] == ["int4", "text"]
    await connection.set_type_codec("json", encoder=str, decoder=str, schema="pg_catalog")
    await connection.execute("DROP TABLE v")
    await connection.close()


async def notifications_reach_who_listens():
    listener = await asyncpg.connect(**address())
    speaker = await asyncpg.connect(**address())
    told = asyncio.Queue()

    def note(_, process, channel, payload):
        told.put_nowait((process, channel, payload))

    async def next_one():
        return await asyncio.wait_for(told.get(), PATIENCE)

    await listener.add_listener("news", note)
    await speaker.execute("NOTIFY news, 'plain'")
    assert await next_one() == (speaker.get_server_pid(), "news", "plain")
    await speaker.execute("SELECT pg_notify($1, $2)", "news", "with parameters")
    assert (await next_one())[2] == "with parameters"
    async with speaker.transaction():
        await speaker.execute("NOTIFY news, 'first'")
        await speaker.execute("NOTIFY news, 'second'")
        await speaker.execute("NOTIFY news, 'first'")
        assert told.empty()
    assert [(await next_one())[2] for _ in range(2)] == ["first", "second"]
    await listener.remove_listener("news", note)
    await speaker.execute("NOTIFY news, 'to nobody'")
    assert await listener.fetchval("SELECT 1") == 1
    assert told.empty()
    await listener.close()
    await speaker.close()


CHECKS = [a_pool_hands_connections_out_clean, types_round_trip, notifications_reach_who_listens]


def main():
    failed = 0
    for check in CHECKS:
        try:
            asyncio.run(check())
        except Exception:
            failed += 1
            print(f"asyncpg: {check.__name__} failed")
            traceback.print_exc()
    raise SystemExit(1 if failed else 0)


main()
