"""Every message of the protocol as a class: `from kafkawire.messages import FetchRequest`.

Classes are built from the schemas when first asked for. Their types stand in the generated stub beside this file.
"""

from __future__ import annotations

from typing import Any

from kafkawire.codec.errors import CodecError, DecodeError, EncodeError, UnsupportedVersionError
from kafkawire.messages.model import Message, StructBase
from kafkawire.messages.registry import Api, UnknownMessageError, api, apis, message_class, message_names

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
]  # and every message, which the stub beside this file declares


def __getattr__(name: str) -> Any:
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
