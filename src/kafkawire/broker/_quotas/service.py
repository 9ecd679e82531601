"""The quotas of a node in force: the meters of every client, and the throttle times of its requests.

Rules:
- A kind without any quota costs nothing: `is_metering` is False, and no request has a `ClientQuotas`.
- A meter belongs to those who share a quota. A changed quota acts at once, on the values recorded before.
- Meters that were not used for MOST_IDLE_MS are dropped. So the number of meters is bounded by the clients of an hour.
- A change of quotas is written to the journal first, and is in force afterwards.
- request_percentage is the time of the loop that a request took, 100 for one second per second. Waiting does not count.
- The throttle time of requests is at most one sample, as in Kafka. Those of bytes and mutations have no limit.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker._quotas.meters import Rate, TokenBucket
from kafkawire.broker._quotas.stored import CONNECTIONS, CONSUMER, MUTATION, PRODUCER, REQUEST, StoredQuotas, record_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.broker._clock import Clock
    from kafkawire.broker._config.settings import BrokerConfig
    from kafkawire.broker._node import Node
    from kafkawire.broker._quotas.stored import Entity, Quota
    from kafkawire.log import BackgroundWork

    Change = tuple[Entity, str, float | None]

MOST_IDLE_MS: Final = 3_600_000
SWEEP_MS: Final = 60_000
MOST_CACHED: Final = 10_000
PERCENT: Final = 100.0
PRODUCE: Final = 0
ADD_PARTITIONS_TO_TXN: Final = 24
BROKERS_ADD_SINCE: Final = 4
WRITE_TXN_MARKERS: Final = 27
_BY_CLIENT: Final = frozenset({PRODUCER, CONSUMER, REQUEST, MUTATION})


class Quotas:
    """All quotas and meters of a node."""

    def __init__(self, config: BrokerConfig, clock: Clock, stored: StoredQuotas) -> None:
        self.stored = stored
        self.clock = clock
        self.is_metering = False
        """Whether any quota of users or client ids is set."""
        self.limits_addresses = False
        """Whether any quota of addresses is set."""
        self.throttled: dict[str, int] = {}
        """How many requests were throttled, by key."""
        self.throttle_ms: dict[str, int] = {}
        """The sum of the throttle times, by key."""
        self._samples = config.integer("quota.window.num"), config.integer("quota.window.size.seconds") * 1000
        self._mutations = (
            config.integer("controller.quota.window.num"),
            config.integer("controller.quota.window.size.seconds") * 1000,
        )
        self._rates: dict[tuple[str, str | None, str | None], Rate] = {}
        self._buckets: dict[tuple[str | None, str | None], TokenBucket] = {}
        self._clients: dict[tuple[str, str], ClientQuotas] = {}
        self._swept = 0
        self.changed()

    @property
    def sample_ms(self) -> int:
        return self._samples[1]

    @property
    def window_ms(self) -> int:
        return self._samples[0] * self._samples[1]

    def new_rate(self) -> Rate:
        """A meter with the settings of the broker."""
        return Rate(*self._samples)

    @property
    def burst_seconds(self) -> float:
        """The seconds of quota that a client may use at once."""
        return (self._samples[0] - 1) * self._samples[1] / 1000

    def changed(self) -> None:
        """Take a change of the stored quotas into account."""
        self._clients.clear()
        keys = self.stored.keys()
        self.is_metering = bool(keys & _BY_CLIENT)
        self.limits_addresses = CONNECTIONS in keys

    def of(self, user: str, client_id: str | None) -> ClientQuotas:
        """The quotas of a client."""
        key = user, client_id or ""
        found = self._clients.get(key)
        if found is None:
            self._sweep()
            if len(self._clients) >= MOST_CACHED:
                self._clients.clear()
            found = self._clients[key] = ClientQuotas(self, *key)
        return found

    def rate(self, key: str, quota: Quota) -> Rate:
        """The meter of those who share a quota."""
        place = key, quota.user, quota.client_id
        if place not in self._rates:
            self._rates[place] = self.new_rate()
        return self._rates[place]

    def bucket(self, quota: Quota) -> TokenBucket:
        """The mutations that those who share a quota have left."""
        place = quota.user, quota.client_id
        if place not in self._buckets:
            self._buckets[place] = TokenBucket(*self._mutations)
        return self._buckets[place]

    def count(self, key: str, throttle_ms: int) -> None:
        """Count a request that is throttled."""
        self.throttled[key] = self.throttled.get(key, 0) + 1
        self.throttle_ms[key] = self.throttle_ms.get(key, 0) + throttle_ms

    def _sweep(self) -> None:
        now = self.clock.elapsed()
        if now - self._swept < SWEEP_MS:
            return
        self._swept = now
        self._rates = {place: each for place, each in self._rates.items() if now - each.used < MOST_IDLE_MS}
        self._buckets = {place: each for place, each in self._buckets.items() if now - each.used < MOST_IDLE_MS}
        self._clients.clear()


class ClientQuotas:
    """The quotas and meters of one user and client id; a kind without a quota is None."""

    __slots__ = ("_clock", "_consumer", "_mutation", "_producer", "_quotas", "_request")

    def __init__(self, quotas: Quotas, user: str, client_id: str) -> None:
        find = quotas.stored.find
        self._quotas = quotas
        self._clock = quotas.clock
        self._producer = _metered(quotas, PRODUCER, find(PRODUCER, user, client_id))
        self._consumer = _metered(quotas, CONSUMER, find(CONSUMER, user, client_id))
        self._request = _metered(quotas, REQUEST, find(REQUEST, user, client_id))
        mutation = find(MUTATION, user, client_id)
        self._mutation = None if mutation is None else (mutation.value, quotas.bucket(mutation))

    @property
    def meters_time(self) -> bool:
        """Whether the time of requests is limited."""
        return self._request is not None

    @property
    def most_fetched(self) -> float | None:
        """The bytes that one fetch may return; None if there is no quota."""
        return None if self._consumer is None else self._consumer[0] * self._quotas.burst_seconds

    def produced(self, size: int) -> int:
        """Record the bytes of a Produce request; returns the throttle time."""
        return self._record(PRODUCER, self._producer, size)

    def fetched(self, size: int) -> int:
        """Record the bytes of a Fetch response; returns the throttle time. A throttled response is not recorded."""
        throttle = self._record(CONSUMER, self._consumer, size)
        if throttle and self._consumer is not None:
            self._consumer[1].record(-size, self._clock.elapsed())
        return throttle

    def worked(self, seconds: float) -> int:
        """Record the time that a request took; returns the throttle time."""
        return self._record(REQUEST, self._request, seconds * PERCENT, most=self._quotas.sample_ms)

    def encoded(self, seconds: float) -> None:
        """Record the time that a response took to encode, which throttles the next request."""
        if self._request is not None:
            self._request[1].record(seconds * PERCENT, self._clock.elapsed())

    def change_partitions(self, count: int, *, strict: bool) -> tuple[bool, int]:
        """Take partitions that are created or deleted from the bucket; whether they may be, and the throttle time.

        With `strict` nothing is taken from an overdrawn bucket. Otherwise the client is throttled afterwards.
        """
        if self._mutation is None:
            return True, 0
        value, bucket = self._mutation
        now = self._clock.elapsed()
        overdrawn = bucket.throttle_ms(value, now)
        if strict and overdrawn:
            self._quotas.count(MUTATION, overdrawn)
            return False, overdrawn
        bucket.take(count, value, now)
        throttle = 0 if strict else bucket.throttle_ms(value, now)
        if throttle:
            self._quotas.count(MUTATION, throttle)
        return True, throttle

    def _record(self, key: str, metered: tuple[float, Rate] | None, value: float, most: int | None = None) -> int:
        if metered is None:
            return 0
        quota, rate = metered
        now = self._clock.elapsed()
        rate.record(value, now)
        throttle = rate.throttle_ms(quota, now)
        if most is not None:
            throttle = min(throttle, most)
        if throttle:
            self._quotas.count(key, throttle)
        return throttle


def is_exempt(api_key: int | None, version: int, request: Any) -> bool:
    """Whether the time of a request is not limited: requests between brokers, and Produce without a response."""
    if api_key == PRODUCE:
        return bool(getattr(request, "acks", 1) == 0)
    return api_key == WRITE_TXN_MARKERS or (api_key == ADD_PARTITIONS_TO_TXN and version >= BROKERS_ADD_SINCE)


def _metered(quotas: Quotas, key: str, quota: Quota | None) -> tuple[float, Rate] | None:
    return None if quota is None else (quota.value, quotas.rate(key, quota))


def alteration(node: Node, changes: Sequence[Change]) -> BackgroundWork[None]:
    """Set values, or remove them (None); values that are set already are not written again."""
    stored = node.quotas.stored
    effective = [
        (entity, key, value) for entity, key, value in changes if stored.values.get(entity, {}).get(key) != value
    ]
    if not effective:
        return
    yield partial(node.journal.write, [record_of(*each) for each in effective])
    for entity, key, value in effective:
        stored.set(entity, key, value)
    node.quotas.changed()
    log_event("quotas changed", count=len(effective), total=len(stored))
