"""Rates of new connections (KIP-612): of one address, and of the whole broker.

Rules:
- An address above its connection_creation_rate is not served: the connection is kept unread for the throttle time, and
  then closed. It does not count for the rate.
- Above max.connection.creation.rate the broker accepts later. The connections wait in the system's queue.
- Both throttle times are at most one sample.
- Without a limit nothing is metered. At most MOST_ADDRESSES are remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._acls.entries import canonical_host
from kafkawire.broker._quotas.stored import CONNECTIONS

if TYPE_CHECKING:
    from kafkawire.broker._config.settings import BrokerConfig
    from kafkawire.broker._quotas.meters import Rate
    from kafkawire.broker._quotas.service import Quotas

UNLIMITED: Final = 2**31 - 1
MOST_ADDRESSES: Final = 10_000
SETTING: Final = "max.connection.creation.rate"


class ConnectionRates:
    """The meters of new connections."""

    def __init__(self, quotas: Quotas, config: BrokerConfig) -> None:
        self._quotas = quotas
        self._config = config
        self._all = quotas.new_rate()
        self._addresses: dict[str, Rate] = {}

    @property
    def limits_addresses(self) -> bool:
        """Whether the connections of any address are limited."""
        return self._quotas.limits_addresses

    def of_address(self, host: str, now: float) -> int:
        """Count a connection; returns how long it is kept before it is closed, 0 if it may stay."""
        address = canonical_host(host)
        value = self._quotas.stored.of_ip(address)
        if value is None:
            return 0
        if address not in self._addresses:
            self._forget(now)
            self._addresses[address] = self._quotas.new_rate()
        rate = self._addresses[address]
        rate.record(1, now)
        throttle = min(rate.throttle_ms(value, now), self._quotas.sample_ms)
        if throttle:
            rate.record(-1, now)
            self._quotas.count(CONNECTIONS, throttle)
        return throttle

    def of_broker(self, now: float) -> int:
        """Count a connection; returns how long the broker accepts no other one."""
        value = self._config.integer(SETTING)
        if value >= UNLIMITED:
            return 0
        self._all.record(1, now)
        throttle = min(self._all.throttle_ms(max(value, 1), now), self._quotas.sample_ms)
        if throttle:
            self._quotas.count(SETTING, throttle)
        return throttle

    def _forget(self, now: float) -> None:
        if len(self._addresses) >= MOST_ADDRESSES:
            self._addresses = {
                host: rate for host, rate in self._addresses.items() if now - rate.used < self._quotas.window_ms
            }
        if len(self._addresses) >= MOST_ADDRESSES:
            self._addresses.clear()
