"""Drives a server through pymemcache (text protocol): `checks_pymemcache.py ADDRESS [CERTIFICATE]`.

ADDRESS is HOST:PORT or the path of a Unix socket; with CERTIFICATE the connection is TLS and trusts that one only.
"""

import random
import ssl
import sys
import threading
import time

from pymemcache.client.base import Client
from pymemcache.exceptions import MemcacheClientError, MemcacheServerError

THREADS = 8
INCREMENTS = 50


def connect():
    """A client with the usual settings, except that it waits for all replies, so that every failure is seen."""
    where = sys.argv[1]
    context = None
    if len(sys.argv) > 2:
        context = ssl.create_default_context(cafile=sys.argv[2])
    if not where.startswith("/"):
        host, port = where.rsplit(":", 1)
        where = (host, int(port))
    return Client(where, default_noreply=False, timeout=30, connect_timeout=30, tls_context=context)


def stores(client):
    assert client.set("greeting", b"hello", flags=0xFFFFFFFF)
    assert client.get("greeting") == b"hello"
    assert client.add("greeting", b"no") is False
    assert client.replace("greeting", b"good day")
    assert client.append("greeting", b", all")
    assert client.prepend("greeting", b"a ")
    assert client.get("greeting") == b"a good day, all"
    assert client.delete("greeting") is True
    assert client.delete("greeting") is False
    assert client.get("greeting") is None
    assert client.replace("greeting", b"no") is False
    assert client.append("greeting", b"no") is False


def noreply(client):
    """Commands with noreply have no reply; otherwise later replies would be assigned to the wrong request."""
    for number in range(100):
        client.set("quiet", b"%d" % number, noreply=True)
        client.delete("absent", noreply=True)
        client.add("quiet", b"no", noreply=True)
    assert client.get("quiet") == b"99"


def flags(client):
    seen = []
    client.serde = type("Flags", (), {
        "serialize": lambda self, key, value: (value, 0xABCDEF01),
        "deserialize": lambda self, key, value, flags: seen.append(flags) or value,
    })()
    assert client.set("flagged", b"x")
    assert client.get("flagged") == b"x"
    assert seen == [0xABCDEF01], seen


def many(client):
    items = {f"many:{number}": b"%d" % (number * number) for number in range(1000)}
    assert client.set_many(items) == []
    assert client.get_many(list(items)) == items
    wanted = [f"many:{number}" for number in range(-500, 500)]
    found = client.get_many(wanted)
    assert found == {key: value for key, value in items.items() if key in wanted}
    assert len(client.gets_many(list(items)[:10])) == 10
    assert client.delete_many(list(items))
    assert client.get_many(list(items)) == {}


def binary_values(client):
    for value in (b"", b"\r\n", b"END\r\n", bytes(range(256)), b"VALUE x 0 1\r\nx\r\nEND\r\n"):
        assert client.set("bytes", value)
        assert client.get("bytes") == value


def large(client):
    value = random.Random(7).randbytes(1_000_000)
    assert len(value) >= 900 * 1024
    for number in range(4):
        assert client.set(f"large:{number}", value)
    assert client.get("large:2") == value
    assert client.append("large:2", b"tail")
    assert client.get("large:2") == value + b"tail"
    try:
        client.set("larger", bytes(1024 * 1024 + 1))
    except (MemcacheServerError, MemcacheClientError) as error:
        assert b"too large" in error.args[0].encode() if isinstance(error.args[0], str) else error.args[0]
    else:
        raise AssertionError("a value beyond item_size_max was taken")
    assert client.get("large:3") == value


def counters(client):
    assert client.set("counter", b"10")
    assert client.incr("counter", 5) == 15
    assert client.decr("counter", 20) == 0
    assert client.incr("nothing", 1) is None
    assert client.set("counter", b"18446744073709551615")
    assert client.incr("counter", 1) == 0


def cas(client):
    assert client.set("token", b"1")
    value, token = client.gets("token")
    assert value == b"1"
    assert client.cas("token", b"2", token) is True
    assert client.cas("token", b"3", token) is False
    assert client.cas("absent", b"3", token) is None


def race(body):
    """Runs the body in threads with one connection each, and fails if one of them fails."""
    failures = []

    def run():
        try:
            mine = connect()
            body(mine)
            mine.close()
        except BaseException as error:  # noqa: B902
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def cas_race(client):
    assert client.set("raced", b"0")

    def body(mine):
        for _ in range(INCREMENTS):
            while True:
                value, token = mine.gets("raced")
                if mine.cas("raced", b"%d" % (int(value) + 1), token):
                    break

    race(body)
    assert client.get("raced") == b"%d" % (THREADS * INCREMENTS)


def incr_race(client):
    assert client.set("counted", b"0")
    race(lambda mine: [mine.incr("counted", 1) for _ in range(INCREMENTS)])
    assert client.get("counted") == b"%d" % (THREADS * INCREMENTS)


def add_race(client):
    client.delete("once")
    won = []
    race(lambda mine: won.append(mine.add("once", b"x")))
    assert sorted(won) == [False] * (THREADS - 1) + [True], won


def expiry(client):
    """Polls until the item has expired, which must happen within the protocol's second of the deadline.

    Polling is the only way: no server announces expiry."""
    begun = time.monotonic()
    assert client.set("mortal", b"x", expire=2)
    assert client.set("touched", b"x", expire=2)
    assert client.touch("touched", 100)
    assert client.set("immortal", b"x", expire=0)
    assert client.set("dead", b"x", expire=-1)
    assert client.get("dead") is None
    while client.get("mortal") is not None:
        assert time.monotonic() - begun < 10, "it never expired"
        time.sleep(0.02)
    assert 0.9 <= time.monotonic() - begun <= 3.5, time.monotonic() - begun
    assert client.get("touched") == b"x"
    assert client.get("immortal") == b"x"


def administration(client):
    assert client.version()
    statistics = client.stats()
    assert statistics[b"cmd_get"] > 0, statistics
    assert client.set("doomed", b"x")
    assert client.flush_all()
    assert client.get("doomed") is None


CHECKS = [stores, noreply, flags, many, binary_values, large, counters, cas, cas_race, incr_race, add_race, expiry, administration]

for check in CHECKS:
    connection = connect()
    check(connection)
    connection.close()
    print("ok", check.__name__, flush=True)
