"""Changes of the broker's settings over the wire: the names and values that are accepted.

Rules:
- As in Kafka, unknown names are accepted and stored.
- A setting that cannot be changed, or not to this value, is INVALID_REQUEST. Any setting can be reset to its default.
- Settings of key and trust stores are changed per listener. Settings of security are changed per broker, not for all.
- A number of threads changes by a factor of two at most.
- The settings of logs are checked as they are after the change, so that every topic can use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._config.settings import BrokerConfig, key_of
from kafkawire.messages.errors import InvalidRequestError, KafkaError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.broker._config.settings import ConfigKey

STORES: Final = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
PER_BROKER: Final = ("ssl.", "sasl.", "principal.")
LISTENER: Final = "listener.name."
THREADS: Final = frozenset(
    {
        "background.threads",
        "log.cleaner.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
    }
)
MOST_SETTINGS: Final = 1000
"""Of a resource, because names may be unknown."""
LEAST: Final = {
    "group.consumer.assignment.interval.ms": 0,
    "group.share.assignment.interval.ms": 0,
    "group.streams.assignment.interval.ms": 0,
    "log.cleaner.backoff.ms": 0,
    "log.cleaner.io.buffer.size": 0,
    "log.local.retention.bytes": -2,
    "log.local.retention.ms": -2,
    "log.roll.jitter.ms": 0,
    "max.connection.creation.rate": 1,
    "max.connections": 1,
    "max.connections.per.ip": 1,
    "min.insync.replicas": 1,
    "producer.id.expiration.ms": 1,
}
LIMITS: Final = {
    f"group.{kind}.assignment.interval.ms": f"group.{kind}.max.assignment.interval.ms"
    for kind in ("consumer", "share", "streams")
}
"""The setting with the highest value of another one."""
NOT_ZERO: Final = frozenset({"log.retention.ms"})
"""Settings whose -1 means no limit; topics may have 0."""


def check_changes(config: BrokerConfig, resource: str, changes: Mapping[str, str | None]) -> None:
    """Refuse changes for this broker, or for all ('')."""
    for name, value in changes.items():
        if value is not None:
            _check(config, resource, name, value)
    after = config.with_changes(resource, changes)
    if len(after.changed[resource]) > MOST_SETTINGS:
        raise InvalidRequestError(f"{len(after.changed[resource])} settings, expected at most {MOST_SETTINGS}")
    try:
        after.log_config({})
    except KafkaError as error:
        raise InvalidRequestError(error.message) from error


def _check(config: BrokerConfig, resource: str, name: str, value: str) -> None:
    if name in STORES:
        raise InvalidRequestError(f"{name}: can be changed for a listener only, as listener.name.<listener>.{name}")
    if not resource and name.startswith((*PER_BROKER, LISTENER)):
        raise InvalidRequestError(f"{name}: can be changed for one broker only, not for all")
    key = key_of(name)
    if key is None:
        return
    if not key.is_dynamic:
        raise InvalidRequestError(f"{name}: cannot be changed while the broker runs")
    _check_value(config, key, value)


def _check_value(config: BrokerConfig, key: ConfigKey, value: str) -> None:
    try:
        key.check(value)
    except KafkaError as error:
        raise InvalidRequestError(error.message) from None
    least = LEAST.get(key.name)
    if least is not None and int(value) < least:
        raise InvalidRequestError(f"{key.name}: found {value}, expected at least {least}")
    if key.name in LIMITS and int(value) > config.integer(LIMITS[key.name]):
        raise InvalidRequestError(f"{key.name}: found {value}, expected at most {config.integer(LIMITS[key.name])}")
    if key.name in NOT_ZERO and int(value) == 0:
        raise InvalidRequestError(f"{key.name}: found 0, expected -1 for no limit, or more than 0")
    if key.name in THREADS:
        now = config.integer(key.name)
        if not max(1, now // 2) <= int(value) <= now * 2:
            raise InvalidRequestError(f"{key.name}: found {value}, expected between half and double of {now}")
