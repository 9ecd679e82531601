"""The settings of one log, under Kafka's dotted names and with Kafka's defaults.

Rules:
- The dotted name of a field is its own with dots for underscores. There is no other list of names.
- A value outside its range is refused; the error has the name, the value found and the values expected.
- `flush.on.ack` is not Kafka's: with it, no append is acknowledged before it is durable (docs/durability.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from kafkawire.messages.errors import InvalidConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import Field

FOREVER = 2**63 - 1
POLICIES = ("compact", "delete")
CODECS = ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")
TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The settings of one log.

    >>> LogConfig.from_properties({"segment.bytes": "1048576", "cleanup.policy": "compact,delete"}).compacts
    True
    """

    cleanup_policy: str = "delete"
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    file_delete_delay_ms: int = 60_000
    flush_messages: int = FOREVER
    flush_ms: int = FOREVER
    flush_on_ack: bool = False
    index_interval_bytes: int = 4096
    max_compaction_lag_ms: int = FOREVER
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    message_timestamp_before_max_ms: int = FOREVER
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    producer_id_expiration_ms: int = 86_400_000
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    segment_bytes: int = 1_073_741_824
    segment_index_bytes: int = 10_485_760
    segment_ms: int = 604_800_000
    compacts: bool = field(init=False, repr=False, compare=False)
    deletes: bool = field(init=False, repr=False, compare=False)
    log_append_time: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, check, expected in _CHECKS:
            value = getattr(self, name)
            if not check(value):
                raise InvalidConfigurationError(f"{_dotted(name)}: expected {expected}, found {value!r}")
        object.__setattr__(self, "compacts", "compact" in _words(self.cleanup_policy))
        object.__setattr__(self, "deletes", "delete" in _words(self.cleanup_policy))
        object.__setattr__(self, "log_append_time", self.message_timestamp_type == "LogAppendTime")

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The dotted names of all settings."""
        return tuple(_dotted(each.name) for each in _settings())

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> LogConfig:
        """Parse dotted names and text values, as topic configs have them.

        >>> LogConfig.from_properties({"retention.ms": "-1"}).retention_ms
        -1
        """
        types = {_dotted(each.name): (each.name, each.type) for each in _settings()}
        values: dict[str, object] = {}
        for name, text in properties.items():
            if name not in types:
                from difflib import get_close_matches  # only a mistake pays for it

                near = get_close_matches(name, types, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise InvalidConfigurationError(f"{name}: a log has no such setting{hint}")
            attribute, kind = types[name]
            try:
                values[attribute] = _PARSERS[str(kind)](text)
            except ValueError:
                raise InvalidConfigurationError(f"{name}: expected {kind}, found {text!r}") from None
        return cls(**values)  # type: ignore[arg-type]  # each value was parsed by its field's own type

    def properties(self) -> dict[str, str]:
        """The settings as dotted names and text values."""
        return {_dotted(each.name): _text(getattr(self, each.name)) for each in _settings()}


def _settings() -> tuple[Field[Any], ...]:
    """The fields that are settings, and not derived from them."""
    return tuple(each for each in fields(LogConfig) if each.init)


def _dotted(name: str) -> str:
    return name.replace("_", ".")


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(word.strip() for word in text.split(",") if word.strip())


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


_PARSERS: dict[str, Callable[[str], object]] = {"str": str, "int": int, "float": float, "bool": _boolean}
_CHECKS: tuple[tuple[str, Callable[..., bool], str], ...] = (
    ("cleanup_policy", lambda v: bool(_words(v)) and _words(v) <= set(POLICIES), "delete, compact or both"),
    ("compression_type", lambda v: v in CODECS, " or ".join(CODECS)),
    ("compression_gzip_level", lambda v: v == -1 or 1 <= v <= 9, "-1 or 1 to 9"),
    ("compression_lz4_level", lambda v: 1 <= v <= 17, "1 to 17"),
    ("compression_zstd_level", lambda v: -131072 <= v <= 22, "-131072 to 22"),
    ("delete_retention_ms", lambda v: v >= 0, "0 or more"),
    ("file_delete_delay_ms", lambda v: v >= 0, "0 or more"),
    ("flush_messages", lambda v: v >= 1, "1 or more"),
    ("flush_ms", lambda v: v >= 0, "0 or more"),
    ("index_interval_bytes", lambda v: v >= 0, "0 or more"),
    ("max_compaction_lag_ms", lambda v: v >= 1, "1 or more"),
    ("max_message_bytes", lambda v: v >= 0, "0 or more"),
    ("message_timestamp_after_max_ms", lambda v: v >= 0, "0 or more"),
    ("message_timestamp_before_max_ms", lambda v: v >= 0, "0 or more"),
    ("message_timestamp_type", lambda v: v in TIMESTAMP_TYPES, " or ".join(TIMESTAMP_TYPES)),
    ("min_cleanable_dirty_ratio", lambda v: 0 <= v <= 1, "0 to 1"),
    ("min_compaction_lag_ms", lambda v: v >= 0, "0 or more"),
    ("producer_id_expiration_ms", lambda v: v >= 1, "1 or more"),
    ("retention_bytes", lambda v: v >= -1, "-1 or more"),
    ("retention_ms", lambda v: v >= -1, "-1 or more"),
    ("segment_bytes", lambda v: 14 <= v < 2**31, "14 to 2147483647"),
    ("segment_index_bytes", lambda v: v >= 4, "4 or more"),
    ("segment_ms", lambda v: v >= 1, "1 or more"),
)
