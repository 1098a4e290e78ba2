"""Drives a server through python-binary-memcached (binary protocol): `checks_bmemcached.py ADDRESS [USER PASSWORD]`."""

import random
import sys
import threading
import time

import bmemcached
from bmemcached.exceptions import MemcachedException

THREADS = 8
INCREMENTS = 50


def connect(user=None, password=None):
    client = bmemcached.Client((sys.argv[1],), user, password, socket_timeout=30)
    client.enable_retry_delay(False)
    return client


def credentials():
    return sys.argv[2:4] if len(sys.argv) > 2 else (None, None)


def mine():
    return connect(*credentials())


def stores(client):
    assert client.set("greeting", "hello")
    assert client.get("greeting") == "hello"
    assert client.add("greeting", "no") is False
    assert client.replace("greeting", "good day")
    assert client.get("greeting") == "good day"
    assert client.delete("greeting")
    assert client.get("greeting") is None
    assert client.replace("greeting", "no") is False


def flags(client):
    """The client keeps a value's type in its flags, so the type of the result shows whether the flags survived."""
    for value in (1, 1 << 40, "text", b"bytes", [1, {"two": 3}], None, True):
        assert client.set("typed", value)
        assert client.get("typed") == value, value


def many(client):
    items = {f"many:{number}": str(number) for number in range(1000)}
    failed = client.set_multi(items)
    assert not failed, failed
    assert client.get_multi(list(items)) == items
    assert client.get_multi(["absent", "many:7", "missing"]) == {"many:7": "7"}
    assert client.delete_multi(list(items))
    assert client.get_multi(list(items)) == {}


def large(client):
    value = random.Random(7).randbytes(1_000_000)
    assert len(value) >= 900 * 1024
    for number in range(4):
        assert client.set(f"large:{number}", value, compress_level=0)
    assert client.get("large:2") == value
    try:
        assert not client.set("larger", bytes(1024 * 1024 + 1), compress_level=0)
    except MemcachedException as error:
        assert error.code == 3, error
    assert client.get("large:3") == value


def counters(client):
    assert client.incr("fresh", 1, default=41) == 41
    assert client.incr("fresh", 1) == 42
    assert client.decr("fresh", 100) == 0


def cas(client):
    assert client.set("token", "1")
    value, token = client.gets("token")
    assert value == "1"
    assert client.cas("token", "2", token)
    assert not client.cas("token", "3", token)
    assert client.get("token") == "2"


def cas_race(client):
    assert client.set("raced", 0)
    failures = []

    def body():
        try:
            own = mine()
            for _ in range(INCREMENTS):
                while True:
                    value, token = own.gets("raced")
                    if own.cas("raced", value + 1, token):
                        break
            own.disconnect_all()
        except BaseException as error:  # noqa: B902
            failures.append(error)

    threads = [threading.Thread(target=body) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    assert client.get("raced") == THREADS * INCREMENTS


def expiry(client):
    """Polls until the item has expired: no server announces expiry."""
    begun = time.monotonic()
    assert client.set("mortal", "x", time=2)
    assert client.set("immortal", "x")
    while client.get("mortal") is not None:
        assert time.monotonic() - begun < 10, "it never expired"
        time.sleep(0.02)
    assert 0.9 <= time.monotonic() - begun <= 3.5, time.monotonic() - begun
    assert client.get("immortal") == "x"


def administration(client):
    (statistics,) = client.stats().values()
    assert int(statistics["cmd_get"]) > 0, statistics
    assert client.set("doomed", "x")
    assert client.flush_all()
    assert client.get("doomed") is None


def strangers(client):
    """With users only: a wrong or missing password is refused."""
    user, password = credentials()
    if user is None:
        return
    assert client.set("secret", "treasure")
    for wrong in ((user, password + "x"), ("nobody", password), (user, "")):
        try:
            connect(*wrong).get("secret")
        except MemcachedException as error:
            assert error.code == 0x20, error
            continue
        raise AssertionError(f"{wrong} was let in")
    try:
        value = connect().get("secret")
    except MemcachedException as error:
        assert error.code == 0x20, error
    else:
        assert value is None, "no password was asked for"


CHECKS = [stores, flags, many, large, counters, cas, cas_race, expiry, administration, strangers]

for check in CHECKS:
    connection = mine()
    check(connection)
    connection.disconnect_all()
    print("ok", check.__name__, flush=True)
