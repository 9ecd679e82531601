"""Keys and values with schemas on the command line, with kcat's letters.

Rules:
- -s NAME=FORMAT decodes the key, the value or both. A format is avro, protobuf, json, or characters for numbers and
  texts as in kcat: < > b B h H i I q Q c s $.
- avro:FILE, protobuf:FILE#MESSAGE and json:FILE name a schema. With -r it is that of the reader; without it, values are
  bare and have this schema.
- -r is the URL of a registry, or a directory of schema files named by ids. Its options are
  -X schema.registry.NAME=VALUE.
- A text output has JSON; the JSON output has the value itself. Halves of surrogate pairs are escaped in both, because
  UTF-8 does not have them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse

    from kafkawire.client import ConsumerRecord
    from kafkawire.values import Decoder, SchemaFiles, SchemaRegistry

SIDES: Final = ("key", "value")
PREFIX: Final = "schema.registry."
_FORMATS: Final = ("avro", "protobuf", "json")
_PACKED: Final = "<>bBhHiIqQcs$"
_ON_BAD: Final = ("fail", "bytes", "skip")
_MODES: Final = {"fail": "FAILFAST", "bytes": "PERMISSIVE", "skip": "DROPMALFORMED"}
Headers = tuple[tuple[str, bytes | None], ...]
Decode = Callable[[bytes, Headers], Any]


class Serdes(NamedTuple):
    """The decoders of keys and values, and what becomes of records that they cannot decode."""

    key: Decode | None
    value: Decode | None
    bad: str

    def decoded(self, record: ConsumerRecord) -> tuple[dict[str, Any], str] | None:
        """The decoded parts of a record and the fault, if any; None if the record is to be skipped."""
        from kafkawire.values import FAULTS

        found: dict[str, Any] = {}
        for side, decode in zip(SIDES, (self.key, self.value), strict=True):
            data = getattr(record, side)
            if decode is None or data is None:
                continue
            try:
                found[side] = decode(data, record.headers)
            except FAULTS as error:
                place = f"{record.topic}-{record.partition} at offset {record.offset}, {side}"
                if self.bad == "fail":
                    hint = "--bad-values bytes prints such records undecoded, --bad-values skip leaves them out"
                    error.add_note(f"in {place}")
                    raise type(error)(f"{place}: {error}; {hint}") from error
                return None if self.bad == "skip" else ({}, f"{side}: {error}")
        return found, ""


def add_value_options(parser: argparse.ArgumentParser, on_bad: str = "fail") -> None:
    """Add -s, -r and --bad-values to a command, which does `on_bad` by default."""
    parser.add_argument(
        "-s",
        dest="serdes",
        action="append",
        default=[],
        metavar="[key=|value=]FORMAT",
        help="decode the key, the value or both: avro, protobuf or json, with :FILE for a schema; or kcat's characters"
        " for numbers and texts, such as key=i",
    )
    parser.add_argument(
        "-r",
        dest="registry",
        metavar="URL|DIR",
        help="Schema Registry, or a directory of schema files named by ids; its options: -X schema.registry.NAME=VALUE",
    )
    parser.add_argument(
        "--bad-values",
        dest="bad_values",
        choices=_ON_BAD,
        default=on_bad,
        help=f"with -s: fail at a record that cannot be decoded, keep its bytes, or skip it (default {on_bad})",
    )


def take_registry_options(args: argparse.Namespace) -> dict[str, str]:
    """Take the options of the registry out of -X, because the clients of Kafka do not have them."""
    from kafkawire.cli._support.clients import pair

    own = [text for text in args.options if text.startswith(PREFIX)]
    args.options = [text for text in args.options if not text.startswith(PREFIX)]
    found = dict(pair(text.removeprefix(PREFIX), "-X") for text in own)
    url = found.pop("url", None)
    if url is not None and args.registry is None:
        args.registry = url
    return found


def serdes_of(args: argparse.Namespace, registry_options: dict[str, str]) -> Serdes | None:
    """The decoders that the options name; None without -s."""
    named = _by_side(args.serdes)
    if not named:
        if args.registry:
            raise UsageError("-r needs -s: which part is to be decoded, such as -s value=avro?")
        return None
    registry = _registry(args.registry, registry_options)
    made = {side: _decode(text, registry, is_key=side == "key") for side, text in named.items()}
    return Serdes(made.get("key"), made.get("value"), args.bad_values)


def spark_options(args: argparse.Namespace) -> dict[str, str]:
    """The options of the format `kafkawire` for what -s, -r and --bad-values say."""
    from pathlib import Path

    own = {f"{PREFIX}{name}": value for name, value in take_registry_options(args).items()}
    named = _by_side(args.serdes)
    if not named:
        if args.registry:
            raise UsageError("-r needs -s: which part is to be decoded, such as -s value=avro?")
        return {}
    if args.registry is not None:
        own[f"{PREFIX}url"] = args.registry
    for side, text in named.items():
        name, _, rest = text.partition(":")
        if name not in _FORMATS:
            raise UsageError(f"-s {side}={text}: Spark decodes {', '.join(_FORMATS)}")
        file, _, message = rest.partition("#")
        own[f"{side}.format"] = name
        own |= {f"{side}.schema": str(Path(file).absolute())} if file else {}
        own |= {f"{side}.message": message} if message else {}
    return {**own, "mode": _MODES[args.bad_values]}


def decoders_of(args: argparse.Namespace, registry_options: dict[str, str], topics: list[str]) -> dict[str, Decoder]:
    """The decoders of columns, whose reader's schema is given or the last of each subject TOPIC-value."""
    registry = _registry(args.registry, registry_options)
    found = {}
    for side, text in _by_side(args.serdes).items():
        if text.partition(":")[0] not in _FORMATS:
            raise UsageError(f"-s {side}={text}: a Parquet file needs avro, protobuf or json")
        decoder = _decoder(text, registry, is_key=side == "key")
        if decoder.schema is None and (registry is not None or decoder.format != "json"):
            from kafkawire.values import SchemaRegistry

            if not isinstance(registry, SchemaRegistry) or len(topics) != 1:
                raise UsageError(f"-s {side}={text}: columns need the schema of the reader, as {text}:FILE")
            latest = registry.latest(f"{topics[0]}-{side}").schema
            decoder = type(decoder)(decoder.format, registry, latest, message=decoder.message, is_key=side == "key")
        found[side] = decoder
    return found


def _by_side(texts: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        side, equals, name = text.partition("=")
        if not equals:
            found |= dict.fromkeys(SIDES, text)
        elif side not in SIDES:
            raise UsageError(f"-s {text!r}: expected key=FORMAT or value=FORMAT")
        else:
            found[side] = name
    return found


def _registry(place: str | None, options: dict[str, str]) -> SchemaRegistry | SchemaFiles | None:
    from kafkawire.values import SchemaFiles, SchemaRegistry

    if place is None:
        return None
    if not place.startswith(("http://", "https://")):
        return SchemaFiles(place)
    return SchemaRegistry.from_options(place, options)


def _decode(text: str, registry: SchemaRegistry | SchemaFiles | None, *, is_key: bool) -> Decode:
    if text.partition(":")[0] not in _FORMATS:
        return _unpacker(text)
    return _decoder(text, registry, is_key=is_key).plain


def _decoder(text: str, registry: SchemaRegistry | SchemaFiles | None, *, is_key: bool) -> Decoder:
    from kafkawire.values import Decoder

    name, _, rest = text.partition(":")
    file, _, message = rest.partition("#")
    if not file and registry is None and name != "json":
        raise UsageError(f"-s {text}: expected a registry (-r URL) or a schema (-s {name}:FILE)")
    return Decoder(name, registry, file or None, message=message, is_key=is_key)


def _unpacker(text: str) -> Decode:
    wrong = [character for character in text if character not in _PACKED]
    if wrong or not text:
        kinds = f"{', '.join(_FORMATS)} or characters of {_PACKED}"
        raise UsageError(f"-s {text!r}: expected {kinds}")

    def unpack(data: bytes, headers: Headers) -> Any:
        from kafkawire.values import MalformedValueError

        found, at, order = [], 0, ">"
        for character in text:
            if character in "<>":
                order = character
            elif character == "$":
                if at != len(data):
                    raise MalformedValueError(f"{text!r} expects {at} bytes, found {len(data)}")
            elif character == "s":
                found.append(data[at:].decode(errors="replace"))
                at = len(data)
            else:
                code = order + character
                try:
                    (part,) = struct.unpack_from(code, data, at)
                except struct.error:
                    words = f"{text!r} expects at least {at + struct.calcsize(code)} bytes, found {len(data)}"
                    raise MalformedValueError(words) from None
                found.append(part.decode("latin-1") if isinstance(part, bytes) else part)
                at += struct.calcsize(code)
        return found[0] if len(found) == 1 else " ".join(map(str, found))

    return unpack


def as_text(value: Any) -> bytes:
    """A decoded value in an output of text: JSON, but a text of its own without quotes."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode(errors="backslashreplace")
