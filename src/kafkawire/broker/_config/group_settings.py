"""Settings of single groups (KIP-848, KIP-932, KIP-1071, `--entity-type groups`): names, checks, values that apply.

Rules:
- A group need not exist to have settings, and any group may have those of all types of groups.
- A value must lie within the broker's limits when it is set. Limits may change later, so a value that lies outside
  counts as the nearest limit.
- The session timeout of a group must be longer than its heartbeat interval.
- Without an own value the broker's setting applies, or the default if brokers have no such setting.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kafkawire.broker._config.own_settings import OwnSettings
from kafkawire.broker._config.settings import GROUP_RESOURCE, SCOPES, ConfigType, Setting, Source, keys
from kafkawire.messages.errors import InvalidConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.broker._config.settings import BrokerConfig

SCOPE: Final = SCOPES[GROUP_RESOURCE]
SESSION_TIMEOUT: Final = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL: Final = "consumer.heartbeat.interval.ms"
ASSIGNMENT_INTERVAL: Final = "consumer.assignment.interval.ms"
STREAMS_SESSION_TIMEOUT: Final = "streams.session.timeout.ms"
STREAMS_HEARTBEAT_INTERVAL: Final = "streams.heartbeat.interval.ms"
STREAMS_ASSIGNMENT_INTERVAL: Final = "streams.assignment.interval.ms"
STREAMS_INITIAL_DELAY: Final = "streams.initial.rebalance.delay.ms"
STREAMS_STANDBYS: Final = "streams.num.standby.replicas"
SHARE_SESSION_TIMEOUT: Final = "share.session.timeout.ms"
SHARE_HEARTBEAT_INTERVAL: Final = "share.heartbeat.interval.ms"
SHARE_ASSIGNMENT_INTERVAL: Final = "share.assignment.interval.ms"
RECORD_LOCK_DURATION: Final = "share.record.lock.duration.ms"
DELIVERY_COUNT_LIMIT: Final = "share.delivery.count.limit"
MAX_RECORD_LOCKS: Final = "share.partition.max.record.locks"
AUTO_OFFSET_RESET: Final = "share.auto.offset.reset"
ISOLATION_LEVEL: Final = "share.isolation.level"
RENEWS: Final = "share.renew.acknowledge.enable"
_TYPES: Final = ("consumer", "share", "streams")
_RANGED: Final = {
    "consumer": ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"),
    "share": (
        "session.timeout.ms",
        "heartbeat.interval.ms",
        "assignment.interval.ms",
        "delivery.count.limit",
        "partition.max.record.locks",
        "record.lock.duration.ms",
    ),
    "streams": ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"),
}
_LIMITS: Final = {
    f"{kind}.{name}": (f"group.{kind}.min.{name}", f"group.{kind}.max.{name}")
    for kind, names in _RANGED.items()
    for name in names
}
"""The broker's limits of a value, by name of the setting."""
_MOST_STANDBY_REPLICAS: Final = "group.streams.max.standby.replicas"
_MOST: Final = 2**31 - 1
_DURATION: Final = r"P(?=.)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d{0,9})?S)?)?"
_WORDS: Final = {
    "share.auto.offset.reset": re.compile(f"earliest|latest|by_duration:(?i:{_DURATION})", re.ASCII),
    "share.isolation.level": re.compile("read_committed|read_uncommitted"),
}
_BY_DURATION: Final = "by_duration:"
_UNITS: Final = {"D": 86_400_000, "H": 3_600_000, "M": 60_000, "S": 1_000}
ASSIGNORS: Final = ("uniform", "range")
_CLASSES: Final = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}


def assignors(config: BrokerConfig) -> tuple[str, ...]:
    """The names in group.consumer.assignors; Kafka's own classes may be named in full."""
    text = config.text("group.consumer.assignors")
    names = tuple(word.strip() for word in text.split(",") if word.strip())
    found = tuple(_CLASSES.get(name, name) for name in names)
    if not found or not set(found) <= set(ASSIGNORS):
        raise InvalidConfigError(f"group.consumer.assignors: found {text!r}, expected some of {', '.join(ASSIGNORS)}")
    return found


def reset_duration(reset: str) -> int | None:
    """How many milliseconds before now a share group begins; None if it begins at one end of the log.

    >>> reset_duration("by_duration:P1DT2H"), reset_duration("by_duration:pt1.5s"), reset_duration("latest")
    (93600000, 1500, None)
    """
    if not reset.startswith(_BY_DURATION):
        return None
    numbers = re.findall(r"([\d.,]+)([DHMS])", reset.removeprefix(_BY_DURATION).upper())
    return sum(int(float(number.replace(",", ".")) * _UNITS[unit]) for number, unit in numbers)


class GroupConfigs(OwnSettings):
    """The settings of all groups that have own ones, by name of the group."""

    what = "group"

    def __init__(self, config: BrokerConfig) -> None:
        super().__init__()
        self._config = config

    def check(self, after: Mapping[str, str]) -> None:
        for name, value in after.items():
            self._check_value(name, value)
        for kind in _TYPES:
            timeout, interval = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
            if after and self._within(after, timeout) <= self._within(after, interval):
                raise InvalidConfigError(
                    f"{timeout}: found {self._within(after, timeout)}, expected more than {interval}, which is "
                    f"{self._within(after, interval)}"
                )

    def integer(self, group: str, name: str) -> int:
        """The number that applies to a group."""
        return self._within(self.own.get(group, {}), name)

    def text(self, group: str, name: str) -> str:
        """The value that applies to a group."""
        return (self.settings(group, name)[0].value or "").strip()

    def settings(self, resource: str, name: str) -> list[Setting]:
        own = self.own.get(resource, {})
        found = [Setting(own[name], Source.GROUP, name)] if name in own else []
        key = keys(SCOPE)[name]
        if not key.server:
            return [*found, Setting(key.default, Source.DEFAULT, name)]
        return [*found, *self._config.settings(key.server[0])]

    def _check_value(self, name: str, value: str) -> None:
        key = keys(SCOPE).get(name)
        if key is None:
            raise InvalidConfigError(f"{name}: a group has no such setting, expected one of {', '.join(keys(SCOPE))}")
        key.check(value)
        if name in _WORDS and not _WORDS[name].fullmatch(value.strip()):
            raise InvalidConfigError(f"{name}: found {value!r}, expected {key.doc}")
        if key.type is ConfigType.INT:
            least, most = self._limits(name)
            if not least <= int(value) <= most:
                raise InvalidConfigError(f"{name}: found {value}, expected {least} to {most}")

    def _limits(self, name: str) -> tuple[int, int]:
        if name in _LIMITS:
            least, most = _LIMITS[name]
            return self._config.integer(least), self._config.integer(most)
        return 0, self._config.integer(_MOST_STANDBY_REPLICAS) if name == STREAMS_STANDBYS else _MOST

    def _within(self, own: Mapping[str, str], name: str) -> int:
        if name not in own:
            return self._config.integer(keys(SCOPE)[name].server[0])
        least, most = self._limits(name)
        return min(max(int(own[name]), least), most)
