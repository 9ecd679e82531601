"""The events of the shop, with known content, so that every view can be compared with them.

Rules:
- Everything but the clock derives from a seed.
- The topics differ: with and without keys, headers, tombstones, and the time of the producer or the broker.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

Headers = list[tuple[str, bytes | None]]

ORDERS: Final = "shop.orders"
CLICKS: Final = "shop.clicks"
PAYMENTS: Final = "shop.payments"
STOCK: Final = "shop.stock"

TOPICS: Final[dict[str, tuple[int, dict[str, str]]]] = {
    ORDERS: (3, {}),
    CLICKS: (2, {"message.timestamp.type": "LogAppendTime"}),
    PAYMENTS: (1, {}),
    STOCK: (2, {"cleanup.policy": "compact"}),
}
"""The topics, with their partitions and settings."""

_SPREAD_MS: Final = 600_000


class Event(NamedTuple):
    """A record to send."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int


def orders(count: int, now: int, seed: int = 1) -> Iterator[Event]:
    """Orders as JSON, with the customer as key; a few customers have most orders."""
    chance = random.Random(seed)
    for number in range(count):
        customer = min(int(chance.paretovariate(0.6)), 5_000)
        order = {"order": number, "item": chance.randrange(500), "price": round(chance.uniform(1, 200), 2)}
        headers: Headers = [("trace", chance.randbytes(8)), ("source", b"web")] if chance.random() < 0.3 else []
        yield Event(ORDERS, b"customer-%d" % customer, json.dumps(order).encode(), headers, _time(now, number, count))


def clicks(count: int, now: int, seed: int = 2) -> Iterator[Event]:
    """Page clicks without a key."""
    chance = random.Random(seed)
    for number in range(count):
        page = f"/item/{chance.randrange(500)}?session={chance.getrandbits(64):x}"
        yield Event(CLICKS, None, page.encode(), [], _time(now, number, count))


def payments(count: int, now: int, seed: int = 3) -> Iterator[Event]:
    """Payments in a binary format, each with a header."""
    chance = random.Random(seed)
    for number in range(count):
        yield Event(
            PAYMENTS, chance.randbytes(16), chance.randbytes(60), [("attempt", b"1")], _time(now, number, count)
        )


def stock(count: int, now: int, seed: int = 4) -> Iterator[Event]:
    """Stock by item; an item that is sold out has a tombstone and a header without a value."""
    chance = random.Random(seed)
    for number in range(count):
        left = chance.randrange(6)
        value = b"%d left" % left if left else None
        headers: Headers = [] if left else [("sold-out", None)]
        yield Event(STOCK, b"item-%d" % chance.randrange(500), value, headers, _time(now, number, count))


def _time(now: int, number: int, count: int) -> int:
    return now - _SPREAD_MS + _SPREAD_MS * number // count
