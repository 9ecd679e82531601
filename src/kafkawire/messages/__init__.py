"""Every message of the protocol as a class: `from kafkawire.messages import FetchRequest`.

Classes are built from the schemas on first use. The generated stub beside this file has their types.
"""

from __future__ import annotations

from typing import Any

from kafkawire._codec.errors import CodecError, DecodeError, EncodeError, UnsupportedVersionError
from kafkawire._lazy import load_when_asked
from kafkawire.messages._model import Message, StructBase
from kafkawire.messages._registry import Api, UnknownMessageError, api, apis, message_class, message_names
from kafkawire.messages._uuids import parse_uuid, uuid_text

__all__ = [
    "Api",
    "CodecError",
    "DecodeError",
    "EncodeError",
    "Message",
    "StructBase",
    "UnknownMessageError",
    "UnsupportedVersionError",
    "api",
    "apis",
    "message_class",
    "message_names",
    "parse_uuid",
    "uuid_text",
]  # and every message, which the stub beside this file declares


# For other packages of kafkawire; not part of the public interface.
_SHARED = {
    "compile_plan": "_compile",
    "error_facts": "_error_table:table",
}
_load = load_when_asked(__name__, _SHARED)


def __getattr__(name: str) -> Any:
    if name in _SHARED:
        return _load(name)
    if not name[:1].isupper():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found = message_class(name)
    except UnknownMessageError as error:
        raise AttributeError(str(error)) from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, *message_names()]
