"""The engine that runs plans over bytes. It is independent of Kafka.

`decode(plan, buffer, offset, allow_trailing)`, `decode_prefix(plan, buffer, offset, limit)`, `encode(plan, value)` and
`encode_parts(plan, value)` are its functions: compiled if they were built, else in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire import _native as implementation
from kafkawire._codec.errors import CodecError, DecodeError, ElementLimitError, EncodeError, UnsupportedVersionError

if TYPE_CHECKING:
    from kafkawire._codec import engine
else:
    engine = implementation.load("kafkawire._codec._engine", "kafkawire._codec.engine")

decode = engine.decode
decode_prefix = engine.decode_prefix
encode = engine.encode
encode_parts = engine.encode_parts

__all__ = [
    "CodecError",
    "DecodeError",
    "ElementLimitError",
    "EncodeError",
    "UnsupportedVersionError",
    "decode",
    "decode_prefix",
    "encode",
    "encode_parts",
]
