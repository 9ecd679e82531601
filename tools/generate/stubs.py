"""The typing stub of `kafkawire.messages`: every message and struct with its attributes, for editors and checkers.

Rules:
- Derived from the schemas alone; a field is optional in type if it may be null in any version.
- Structs are nested in their message, as at run time, and named in full so that equal names never meet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.messages._compile import attribute_of, inside_out
from kafkawire.messages._registry import message_class, message_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.messages.schema import Field, MessageSchema, Struct

HEAD: Final = '''\
# Generated from the schemas by `make generate`; not to be edited.
"""Every message of the protocol as a class."""

from builtins import type as _type
from uuid import UUID

from kafkawire._codec.errors import CodecError as CodecError
from kafkawire._codec.errors import DecodeError as DecodeError
from kafkawire._codec.errors import EncodeError as EncodeError
from kafkawire._codec.errors import UnsupportedVersionError as UnsupportedVersionError
from kafkawire.messages._model import Message as Message
from kafkawire.messages._model import StructBase as StructBase
from kafkawire.messages._registry import Api as Api
from kafkawire.messages._registry import UnknownMessageError as UnknownMessageError
from kafkawire.messages._registry import api as api
from kafkawire.messages._registry import apis as apis
from kafkawire.messages._registry import message_class as message_class
from kafkawire.messages._registry import message_names as message_names
from kafkawire.messages._uuids import parse_uuid as parse_uuid
from kafkawire.messages._uuids import uuid_text as uuid_text
from kafkawire.messages._compile import compile_plan as compile_plan
from kafkawire.messages._error_table import table as _error_facts

error_facts = _error_facts
_Bytes = bytes | bytearray | memoryview
_Tags = tuple[tuple[int, bytes], ...]
'''

PYTHON_TYPES: Final = {
    **dict.fromkeys(("int8", "int16", "uint16", "int32", "uint32", "int64"), "int"),
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "bytes": "_Bytes",
    "records": "_Bytes",
    "uuid": "UUID",
}


def render_stub() -> str:
    """The whole stub."""
    lines = [HEAD]
    for name in message_names():
        schema = message_class(name).__schema__
        lines += _class(schema.root, schema, "Message", "", nested=schema.structs)
        lines.append("")
    return "\n".join(lines)


def _class(
    struct: Struct, schema: MessageSchema, base: str, indent: str, nested: tuple[Struct, ...] = ()
) -> Iterator[str]:
    yield f"{indent}class {struct.name}({base}):"
    inner = indent + "    "
    for each in inside_out(schema.root):
        if each in nested:
            yield from _class(each, schema, "StructBase", inner)
    parameters = []
    for field in struct.fields:
        annotation = _annotation(field, schema)
        yield f"{inner}{attribute_of(field)}: {annotation}"
        if field.description:
            yield f'{inner}"""{field.description}."""'
        parameters.append(f"{attribute_of(field)}: {annotation} = ...")
    parameters.append("unknown_tagged_fields: _Tags = ...")
    yield f"{inner}def __init__("
    yield f"{inner}    self,"
    yield f"{inner}    *,"
    yield from (f"{inner}    {parameter}," for parameter in parameters)
    yield f"{inner}) -> None: ..."
    if struct is schema.root and schema.kind == "request":
        yield f"{inner}@classmethod"
        yield f"{inner}def response_class(cls) -> _type[{schema.name.removesuffix('Request')}Response]: ..."


def _annotation(field: Field, schema: MessageSchema) -> str:
    base = f"{schema.name}.{field.struct.name}" if field.struct is not None else PYTHON_TYPES[field.type]
    whole = f"list[{base}]" if field.is_array else base
    return f"{whole} | None" if field.nullable else whole
