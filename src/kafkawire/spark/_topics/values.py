"""Decoded keys and values of topics: their options, and their columns on Spark.

Rules:
- `value.format` (avro, protobuf, json) decodes the value, `key.format` the key. Values are framed if there is a
  registry, `schema.registry.url`, and bare otherwise; `value.framing` says otherwise.
- The schema of the reader gives the type of the column: `value.schema` (a file, or its text), else the last version of
  `value.subject`, which is by default TOPIC-value for a query of one topic. The driver looks it up once per `load`.
- Times of day are numbers, as in Spark's own Avro, because Spark cannot write its type for them.
- The decoded column replaces the bytes, unless `value.column` names another.
- `mode` decides about records that cannot be decoded. FAILFAST: the query fails with the offset. DROPMALFORMED: no row.
  PERMISSIVE: null, with the reason in `value_fault`, and in `value_bytes` the bytes if they were replaced.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

from kafkawire.exceptions import KafkaWireError
from kafkawire.spark._options import choice
from kafkawire.spark.errors import SourceOptionError
from kafkawire.values import FORMATS, Decoder, Schema, SchemaRegistry, ValueColumns, read_schema_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.types import DataType

SIDES: Final = ("key", "value")
_REGISTRY: Final = "schema.registry."
_FRAMINGS: Final = {"registry": True, "none": False}
_MODES: Final[Mapping[str, Literal["raise", "column", "drop"]]] = {
    "FAILFAST": "raise",
    "PERMISSIVE": "column",
    "DROPMALFORMED": "drop",
}


def parse_values(given: Mapping[str, str]) -> ValueColumns | None:
    """The decoders that the options name, with the schemas of the reader; None without any."""
    options = {key.lower(): value for key, value in given.items()}
    sides = [side for side in SIDES if f"{side}.format" in options]
    stray = [name for name in options if name.startswith((*(f"{side}." for side in SIDES), _REGISTRY))]
    stray = [
        name for name in stray if name.partition(".")[0] not in sides and not (sides and name.startswith(_REGISTRY))
    ]
    if stray:
        raise SourceOptionError(f"{stray[0]}: needs value.format or key.format, one of {', '.join(FORMATS)}")
    if not sides:
        return None
    if options.get("table", "records").lower() != "records":
        raise SourceOptionError(f"{sides[0]}.format: only for the table records")
    mode = choice("mode", options.get("mode", "FAILFAST").upper(), tuple(_MODES))
    try:
        registry = _registry(options)
        made = {side: _decoder(side, options, registry) for side in sides}
        names = {side: options.get(f"{side}.column", side) for side in sides}
        return ValueColumns(made.get("key"), made.get("value"), _MODES[mode], names)
    except KafkaWireError as error:
        raise SourceOptionError(str(error)) from error


def value_types(values: ValueColumns) -> dict[str, DataType]:
    """The decoded columns, and those about faults, with the types of Spark."""
    return {field.name: from_arrow_type(field.type) for field in values.fields()}


def value_fields(values: ValueColumns) -> dict[str, pa.Field[Any]]:
    """The same columns, as Spark takes them from Arrow."""
    return {name: pa.field(name, to_arrow_type(kind, timezone="UTC")) for name, kind in value_types(values).items()}


def _registry(options: Mapping[str, str]) -> SchemaRegistry | None:
    own = {name.removeprefix(_REGISTRY): value for name, value in options.items() if name.startswith(_REGISTRY)}
    urls = own.pop("url", None)
    if urls is None:
        if own:
            raise SourceOptionError(f"{_REGISTRY}{next(iter(own))}: schema.registry.url is missing")
        return None
    return SchemaRegistry.from_options(urls, own)


def _decoder(side: str, options: Mapping[str, str], registry: SchemaRegistry | None) -> Decoder:
    name = f"{side}.format"
    kind = choice(name, options[name].lower(), tuple(FORMATS))
    framing = options.get(f"{side}.framing")
    framed = None if framing is None else _FRAMINGS[choice(f"{side}.framing", framing.lower(), tuple(_FRAMINGS))]
    text = options.get(f"{side}.schema")
    if text is not None:
        schema = _schema(text, kind)
    elif registry is not None:
        schema = registry.latest(options.get(f"{side}.subject") or _subject(side, options)).schema
    elif kind == "json":
        schema = None
    else:
        raise SourceOptionError(f"{name}: expected schema.registry.url or {side}.schema")
    message = options.get(f"{side}.message", "")
    return Decoder(kind, registry, schema, framed, message, side == "key", plain_times=True)


def _schema(text: str, kind: str) -> Schema:
    """A schema from a file, or given as its text."""
    if text.lstrip()[:1] in ("{", "[", '"') or "\n" in text or ";" in text:
        return Schema(text, FORMATS[kind])
    if not Path(text).is_file():
        raise SourceOptionError(f"{text!r} is neither a schema nor a file on the driver with one")
    return read_schema_file(text)


def _subject(side: str, options: Mapping[str, str]) -> str:
    topics = [name.strip() for name in options.get("subscribe", "").split(",") if name.strip()]
    if "assign" in options:
        try:
            topics = list(json.loads(options["assign"]))
        except (ValueError, TypeError):
            topics = []
    if len(topics) != 1:
        words = f"{side}.subject or {side}.schema, because the query has not exactly one topic"
        raise SourceOptionError(f"{side}.format: expected {words}")
    return f"{topics[0]}-{side}"
