"""The engine: runs plans over bytes. It knows nothing of Kafka.

`decode(plan, buffer, offset, allow_trailing)`, `decode_prefix(plan, buffer, offset, limit)`, `encode(plan, value)` and
`encode_parts(plan, value)` are the whole of it, compiled where that was possible, else in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire import implementation
from kafkawire.codec.errors import CodecError, DecodeError, ElementLimitError, EncodeError, UnsupportedVersionError

if TYPE_CHECKING:
    from kafkawire.codec import engine
else:
    engine = implementation.load("kafkawire.codec._engine", "kafkawire.codec.engine")

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
