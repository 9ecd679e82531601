"""The subscriptions that match a client, as one set of metrics and one interval.

Rules:
- A subscription matches a client if every expression of its `match` fits the whole value of its attribute.
- The set is the union of the metrics of all matching subscriptions. One that asks for `*` makes it `*`. Without metrics
  a client sends nothing, and asks again after the interval.
- The interval is the smallest of the matching subscriptions, DEFAULT_INTERVAL without one.
- The id of the set changes when the set or the interval does, and differs between clients.
- Expressions are RE2/J's, in linear time. Their alphabet is printable ASCII and the characters of the client's values.
"""

from __future__ import annotations

from functools import lru_cache
from string import printable
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker._config.client_metrics import INTERVAL, MATCH, METRICS, attribute_patterns, elements
from kafkawire.records import crc32c

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from kafkawire.broker.groups.consumer.patterns import Pattern

DEFAULT_INTERVAL: Final = 300_000
ALL: Final = "*"


class ClientAttributes(NamedTuple):
    """The attributes that a client is matched by, under Kafka's names."""

    client_instance_id: str
    client_id: str
    client_software_name: str
    client_software_version: str
    client_source_address: str
    client_source_port: str


class Wanted(NamedTuple):
    """The metrics that a client shall push, as prefixes of names, and how often."""

    id: int
    metrics: tuple[str, ...]
    interval_ms: int


def wanted_of(subscriptions: Mapping[str, Mapping[str, str]], client: ClientAttributes, instance: UUID) -> Wanted:
    """The metrics and the interval that the subscriptions, by name, want of a client."""
    metrics: set[str] = set()
    intervals = []
    for settings in subscriptions.values():
        if _matches(settings.get(MATCH, ""), client):
            metrics.update(elements(METRICS, settings.get(METRICS, "")))
            intervals.append(int(settings.get(INTERVAL, DEFAULT_INTERVAL)))
    chosen = (ALL,) if ALL in metrics else tuple(sorted(metrics))
    interval = min(intervals, default=DEFAULT_INTERVAL)
    number = crc32c(f"{','.join(chosen)}|{interval}|{instance}".encode())
    return Wanted(number - 2**32 if number >= 2**31 else number, chosen, interval)


def _matches(match: str, client: ClientAttributes) -> bool:
    values = client._asdict()
    return all(_pattern(regex, _symbols(values[name])).matches(values[name]) for name, regex in _patterns(match))


@lru_cache(maxsize=256)
def _patterns(match: str) -> tuple[tuple[str, str], ...]:
    return tuple(attribute_patterns(match).items())


def _symbols(value: str) -> str:
    return printable if value.isascii() and value.isprintable() else "".join(sorted({*printable, *value}))


@lru_cache(maxsize=256)
def _pattern(regex: str, symbols: str) -> Pattern:
    from kafkawire.broker.groups.consumer.patterns import Alphabet, compile_for

    return compile_for(regex, Alphabet(symbols))
