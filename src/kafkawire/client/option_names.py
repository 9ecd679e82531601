"""Options by their names: from keywords, dicts, property files and command lines.

Rules:
- A name is that of a field, the same with dots for underscores, or one of `also`.
- An unknown option is an error that suggests the closest known name, or an alternative. So is an option that is given
  twice, and a number below its minimum.
- Text is accepted for any type, so that property files and command lines need no parsing of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from types import NoneType
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from kafkawire.client._options.declaration import LEAST, is_secret, names_of
from kafkawire.client.errors import OptionError
from kafkawire.client.options import (
    ClientOptions,
    ConsumerOptions,
    ProducerOptions,
    ShareConsumerOptions,
)

_TRUE: Final = ("true", "1", "yes", "on")
_FALSE: Final = ("false", "0", "no", "off")
_SYNONYMS: Final = {
    "smallest": "earliest",
    "beginning": "earliest",
    "largest": "latest",
    "end": "latest",
    "error": "none",
}
_INSTEAD: Final = {
    "retries": "records are resent until delivery_timeout_ms is over",
    "client_rack": "records are read from leaders",
    "api_version": "versions are negotiated with each broker",
    "consumer_timeout_ms": "getmany and arrow take timeout_ms",
    "allow_auto_create_topics": "a consumer does not create topics",
}
_OF_CLASSIC: Final = {
    "partition_assignment_strategy": "the broker assigns; set group_remote_assignor",
    "session_timeout_ms": "the broker decides, by group.consumer.session.timeout.ms",
    "heartbeat_interval_ms": "the broker decides, by group.consumer.heartbeat.interval.ms",
}
_OF_SHARE_GROUP: Final = {
    "auto_offset_reset": "it is a setting of the group, share.auto.offset.reset",
    "isolation_level": "it is a setting of the group, share.isolation.level",
    "group_instance_id": "share groups have no static members",
    "enable_auto_commit": "set share_acknowledgement_mode",
}
_ROLES: Final = {"producer": ProducerOptions, "consumer": ConsumerOptions, "share consumer": ShareConsumerOptions}
_Options = TypeVar("_Options", bound=ClientOptions)


def read_options(kind: type[_Options], config: Mapping[str, Any] | None, keywords: Mapping[str, Any]) -> _Options:
    """The options of a client from a dict of names in either spelling, and from keywords.

    >>> read_options(ProducerOptions, {"bootstrap.servers": "k:1", "linger.ms": "5"}, {"acks": 1}).linger_ms
    5.0
    """
    known, types = names_of(kind), get_type_hints(kind)
    secrets = {each.name for each in fields(kind) if is_secret(each)}
    least = {each.name: each.metadata.get(LEAST, 0) for each in fields(kind)}
    values: dict[str, Any] = {}
    given: dict[str, str] = {}
    for source in (config or {}, keywords):
        for name, value in source.items():
            if problem := unknown_option(kind, name):
                raise OptionError(problem)
            option = known[name]
            if option in values:
                raise OptionError(f"option {option} is given twice, as {given[option]!r} and as {name!r}")
            made = values[option] = _coerce(name, value, types[option], secret=option in secrets)
            given[option] = name
            if isinstance(made, (int, float)) and least[option] is not None and not made >= least[option]:
                raise OptionError(f"option {name}: expected {least[option]} or more, found {value!r}")
    chosen = kind(**values)
    _ = chosen.servers
    chosen.check_login()
    _ = chosen._trace_sink()
    if isinstance(chosen, ProducerOptions):
        _ = chosen.is_idempotent
    if isinstance(chosen, ConsumerOptions):
        _check_protocol(chosen, given)
    return chosen


def _check_protocol(options: ConsumerOptions, given: Mapping[str, str]) -> None:
    """Refuse options that the protocol of the group does not use."""
    if options.group_protocol == "classic":
        if options.group_remote_assignor is not None:
            raise OptionError("option group_remote_assignor needs group_protocol=consumer")
        return
    for option, instead in _OF_CLASSIC.items():
        if option in given:
            raise OptionError(f"option {given[option]!r} has no effect with group_protocol=consumer: {instead}")


def option_named(name: str) -> str:
    """The keyword of the option with a name; the name itself if there is none.

    >>> option_named("linger.ms"), option_named("compression.codec"), option_named("acsk")
    ('linger_ms', 'compression_type', 'acsk')
    """
    return next((names[name] for names in map(names_of, _ROLES.values()) if name in names), name)


def unknown_option(kind: type[ClientOptions], name: str) -> str | None:
    """Why a kind of client does not take an option of this name, and which one it may mean; None if it does.

    >>> unknown_option(ConsumerOptions, "fetch.max.bytes")
    >>> unknown_option(ConsumerOptions, "linger.ms")
    "option 'linger.ms' is one of the producer, not of the consumer"
    """
    if name in names_of(kind):
        return None
    plain = name.lower().replace(".", "_")
    if kind is ShareConsumerOptions and plain in _OF_SHARE_GROUP:
        return f"no option {name!r} for {_words(kind)}: {_OF_SHARE_GROUP[plain]}"
    for role, other in _ROLES.items():
        if other is not kind and name in names_of(other) and name not in names_of(ClientOptions):
            return f"option {name!r} is one of the {role}, not of {_words(kind)}"
    instead = _INSTEAD.get(plain)
    if instead is not None:
        return f"no option {name!r} for {_words(kind)}: {instead}"
    close = get_close_matches(name.lower(), names_of(kind), n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"no option {name!r} for {_words(kind)}{hint}"


def _words(kind: type[ClientOptions]) -> str:
    return next((f"the {role}" for role, other in _ROLES.items() if other is kind), "a client")


def _coerce(name: str, value: Any, wanted: Any, *, secret: bool = False) -> Any:
    shown = type(value).__name__ if secret else repr(value)
    choices = [each for kind in get_args(wanted) for each in get_args(kind) or (kind,) if isinstance(each, str)]
    if choices and not (value is None and NoneType in get_args(wanted)):
        return _choice(name, value, choices)
    kinds = get_args(wanted) or (wanted,)
    if value is None and NoneType in kinds:
        return None
    try:
        if bool in kinds:
            return _boolean(value)
        if int in kinds and not isinstance(value, bool):
            return int(value)
        if float in kinds and not isinstance(value, bool):
            return float(value)
    except (TypeError, ValueError):
        expected = "true or false" if bool in kinds else "a number"
        raise OptionError(f"option {name}: expected {expected}, found {shown}") from None
    if any(get_origin(each) is Callable for each in kinds) and str not in kinds and not callable(value):
        raise OptionError(f"option {name}: expected a callable, found {shown}")
    plain = [each for each in kinds if isinstance(each, type)]
    if len(plain) == len(kinds) and not isinstance(value, tuple(plain)):
        expected = " or ".join(each.__name__ for each in plain if each is not NoneType)
        raise OptionError(f"option {name}: expected {expected}, found {shown}")
    return value


def _boolean(value: Any) -> bool:
    text = str(value).lower()
    if text not in _TRUE + _FALSE:
        raise ValueError(text)
    return text in _TRUE


def _choice(name: str, value: Any, choices: list[str]) -> str:
    text = "none" if value is None else str(value)
    if text == "-1" and "all" in choices:
        text = "all"
    if "https" in choices:
        text = text or "none"
    if "earliest" in choices:
        text = _SYNONYMS.get(text, text)
    found = {each.lower(): each for each in choices}.get(text.lower())
    if found is None:
        raise OptionError(f"option {name}: expected one of {', '.join(choices)}, found {value!r}")
    return found
