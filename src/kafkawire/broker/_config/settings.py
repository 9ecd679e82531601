"""The settings of the broker and of its topics: Kafka's names, types and defaults, and where each value comes from.

Rules:
- `configs.tsv` beside this file lists all settings. An unknown name is ignored with a warning, as in Kafka.
- A broker's value is the first of: set for this broker, set for all brokers (both over the wire, kept in the journal),
  given at start, the default.
- A topic's value is the first of: set for the topic, its `server` names in their order, the default.
- A value that is set over the wire is checked before it is stored.
- `listener.name.<listener>.<setting>` is a setting for one listener (`listener_settings`), with the same type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker._metadata.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from kafkawire.log.config import LogConfig
from kafkawire.messages.errors import InvalidConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOPIC_RESOURCE, BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE = 2, 4, 16, 32
SCOPES: Final = {
    TOPIC_RESOURCE: "topic",
    BROKER_RESOURCE: "broker",
    CLIENT_METRICS_RESOURCE: "client-metrics",
    GROUP_RESOURCE: "group",
}
"""The scope of the table that a type of resource has."""
_TABLE: Final = Path(__file__).with_name("configs.tsv")
_HOUR, _MINUTE = 3_600_000, 60_000
MOST_REMEMBERED: Final = 1000
_UNITS: Final = {".hours": _HOUR, ".minutes": _MINUTE}
_OF_LISTENER: Final = re.compile(
    r"listener\.name\.[a-z0-9_]+\.((?:plain|scram-sha-256|scram-sha-512|oauthbearer|gssapi)\.)?"
    r"(?P<setting>(?:ssl|sasl|connections|principal)\..+)"
)


class Source(IntEnum):
    """The origin of a value, with the number of DescribeConfigs."""

    TOPIC = 1
    THIS_BROKER = 2
    ALL_BROKERS = 3
    STATIC = 4
    DEFAULT = 5
    CLIENT_METRICS = 7
    GROUP = 8


class ConfigType(IntEnum):
    """The type of a setting, as DescribeConfigs numbers it."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One line of the table."""

    scope: str
    name: str
    type: ConfigType
    default: str | None
    mode: str
    server: tuple[str, ...]
    doc: str

    @property
    def is_dynamic(self) -> bool:
        """Whether it may be changed while the broker runs."""
        return self.mode == "dynamic"

    @property
    def is_sensitive(self) -> bool:
        return self.type in (ConfigType.PASSWORD, ConfigType.UNKNOWN)

    def check(self, text: str) -> None:
        """Refuse a text that does not have the setting's type."""
        try:
            _parse(self.type, text)
        except ValueError:
            found = "another value" if self.is_sensitive else repr(text)
            raise InvalidConfigError(f"{self.name}: expected {self.type.name.lower()}, found {found}") from None


class Setting(NamedTuple):
    """A value and where it comes from."""

    value: str | None
    source: Source
    name: str


class BrokerConfig:
    """The settings of one broker.

    >>> config = BrokerConfig({"num.partitions": "3", "log.retention.hours": "1"})
    >>> config.integer("num.partitions"), config.log_config({}).retention_ms
    (3, 3600000)
    """

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        self.given = dict(given or {})
        if "broker.id" in self.given:
            self.given.setdefault("node.id", self.given["broker.id"])
        for name, value in self.given.items():
            key = key_of(name)
            if key is not None:
                key.check(value)
        self.changed: dict[str, dict[str, str]] = {"": {}}
        self._parsed: dict[str, object] = {}
        self._log_configs: dict[tuple[tuple[str, str], ...], LogConfig] = {}

    def unknown(self) -> dict[str, str]:
        """Unknown names that were given at start, each with the closest known name, or ''."""
        table = keys("broker")
        return {name: _closest(name, table, 0.8) for name in self.given if key_of(name) is None}

    def integer(self, name: str) -> int:
        value = self._value(name)
        assert isinstance(value, int), name
        return value

    def boolean(self, name: str) -> bool:
        value = self._value(name)
        assert isinstance(value, bool), name
        return value

    def text(self, name: str) -> str:
        value = self._value(name)
        return "" if value is None else str(value)

    def settings(self, name: str) -> list[Setting]:
        """Every value that a setting has somewhere, the effective one first."""
        found = [
            Setting(values[name], source, name)
            for source, values in (
                (Source.THIS_BROKER, self.changed.get(self._id(), {})),
                (Source.ALL_BROKERS, self.changed[""]),
                (Source.STATIC, self.given),
            )
            if name in values
        ]
        key = keys("broker").get(name)
        default = None if key is None else key.default
        return found if default is None and found else [*found, Setting(default, Source.DEFAULT, name)]

    def change(self, resource: str, changes: Mapping[str, str | None]) -> None:
        """Set values for this broker, or for all ('')."""
        values = dict(self.changed.get(resource, {}))
        for name, value in changes.items():
            values.pop(name, None)
            if value is not None:
                values[name] = value
        self.changed[resource] = values
        self._parsed.clear()
        self._log_configs.clear()

    def with_changes(self, resource: str, changes: Mapping[str, str | None]) -> BrokerConfig:
        """These settings after a change that is not made yet."""
        copy = BrokerConfig(self.given)
        copy.changed = dict(self.changed)
        copy.change(resource, changes)
        return copy

    def topic_settings(self, name: str, configs: Mapping[str, str]) -> list[Setting]:
        """Every value that a topic's setting has somewhere, the effective one first."""
        key = keys("topic")[name]
        found = [Setting(configs[name], Source.TOPIC, name)] if name in configs else []
        for server in key.server:
            found += (each for each in self.settings(server) if each.value is not None)
        explicit = [each for each in found if each.source != Source.DEFAULT]
        default = [each for each in found if each.source == Source.DEFAULT] or [
            Setting(key.default, Source.DEFAULT, name)
        ]
        return explicit + default

    def topic_value(self, name: str, configs: Mapping[str, str]) -> str:
        """The effective value for a topic, in the unit of the topic setting."""
        setting = self.topic_settings(name, configs)[0]
        factor = next((factor for end, factor in _UNITS.items() if setting.name.endswith(end)), 0)
        if not factor or setting.value is None:
            return setting.value or ""
        return setting.value if int(setting.value) < 0 else str(int(setting.value) * factor)

    def log_config(self, configs: Mapping[str, str]) -> LogConfig:
        """The log settings of a topic with these settings."""
        key = tuple(sorted(configs.items()))
        found = self._log_configs.get(key)
        if found is None:
            if len(self._log_configs) >= MOST_REMEMBERED:
                self._log_configs.clear()
            found = self._log_configs[key] = self._build_log_config(configs)
        return found

    def _build_log_config(self, configs: Mapping[str, str]) -> LogConfig:
        table = keys("topic")
        names = [name for name in LogConfig.names() if name in table]
        properties = {name: self.topic_value(name, configs) for name in names}
        properties["producer.id.expiration.ms"] = str(self.integer("producer.id.expiration.ms"))
        return LogConfig.from_properties(properties)

    def check_topic(self, configs: Mapping[str, str | None]) -> None:
        """Refuse settings that no topic can have; the message names the setting."""
        table = keys("topic")
        for name, value in configs.items():
            if name not in table:
                raise InvalidConfigError(f"{name}: a topic has no such setting{_hint(name, 'topic')}")
            if value is None:
                raise InvalidConfigError(f"{name}: null is not a value")
            table[name].check(value)
        _check_remote_storage(configs)
        self.log_config({name: value for name, value in configs.items() if value is not None})

    def internal_topic(self, name: str) -> tuple[int, dict[str, str]]:
        """Partitions and settings of an internal topic."""
        configs = {"cleanup.policy": "compact", "compression.type": "producer"}
        prefix = _INTERNAL_PREFIXES[name]
        configs["segment.bytes"] = str(self.integer(f"{prefix}.segment.bytes"))
        if name == TRANSACTION_STATE:
            configs["compression.type"] = "uncompressed"
        if name == SHARE_GROUP_STATE:  # its coordinator deletes what no snapshot needs (KIP-932)
            configs |= {"cleanup.policy": "delete", "retention.ms": "-1"}
        return self.integer(f"{prefix}.num.partitions"), configs

    def _value(self, name: str) -> object:
        if name not in self._parsed:
            text = self.settings(name)[0].value
            self._parsed[name] = None if text is None else _parse(keys("broker")[name].type, text)
        return self._parsed[name]

    def _id(self) -> str:
        return self.given.get("node.id") or keys("broker")["node.id"].default or ""


_INTERNAL_PREFIXES: Final = {
    CONSUMER_OFFSETS: "offsets.topic",
    TRANSACTION_STATE: "transaction.state.log",
    SHARE_GROUP_STATE: "share.coordinator.state.topic",
}


@cache
def keys(scope: str) -> dict[str, ConfigKey]:
    """The settings of a broker, a topic, a group or a subscription to client metrics, by name."""
    found = {}
    for line in _TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        where, name, kind, default, mode, server, doc = line.split("\t")
        if where == scope:
            value = None if default == "-" else default
            found[name] = ConfigKey(where, name, ConfigType[kind.upper()], value, mode, tuple(server.split()), doc)
    return dict(sorted(found.items()))


def key_of(name: str) -> ConfigKey | None:
    """The line of the table for a setting of the broker, or of one of its listeners.

    >>> key = key_of("listener.name.outside.ssl.keystore.location")
    >>> None if key is None else key.name
    'ssl.keystore.location'
    """
    table = keys("broker")
    match = None if name in table else _OF_LISTENER.fullmatch(name)
    return table.get(match["setting"] if match else name)


def _parse(kind: ConfigType, text: str) -> object:
    if "_" in text and kind in (ConfigType.INT, ConfigType.SHORT, ConfigType.LONG, ConfigType.DOUBLE):
        raise ValueError(text)  # Python allows underscores between digits, Kafka does not
    if kind is ConfigType.BOOLEAN:
        if text.strip().lower() not in ("true", "false"):
            raise ValueError(text)
        return text.strip().lower() == "true"
    if kind in (ConfigType.INT, ConfigType.SHORT, ConfigType.LONG):
        number = int(text.strip())
        bits = {ConfigType.INT: 31, ConfigType.SHORT: 15, ConfigType.LONG: 63}[kind]
        if not -(2**bits) <= number < 2**bits:
            raise ValueError(text)
        return number
    return float(text) if kind is ConfigType.DOUBLE else text


def _check_remote_storage(configs: Mapping[str, str | None]) -> None:
    """Settings of remote storage (KIP-405) are accepted, as by a Kafka without it; only enabling it is refused."""
    if (configs.get("remote.storage.enable") or "false").strip().lower() == "true":
        raise InvalidConfigError("remote.storage.enable: this broker has no remote storage, expected false")
    for name in ("local.retention.bytes", "local.retention.ms"):
        value = configs.get(name)
        if value is not None and int(value) < -2:
            raise InvalidConfigError(f"{name}: found {value}, expected -2 (as retention) or more")


def _hint(name: str, scope: str) -> str:
    close = _closest(name, keys(scope))
    return f"; did you mean {close}?" if close else ""


def _closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    from difflib import get_close_matches  # only a mistake pays for it

    return next(iter(get_close_matches(name, list(known), 1, cutoff)), "")
