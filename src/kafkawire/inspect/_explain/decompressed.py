"""Compressed bytes as an inner space with the decompressed bytes.

Rules:
- Compressed bytes are one leaf. The decompressed bytes, at most MAX_UNPACKED, are its inner space.
- If the bytes cannot be decompressed, the leaf has a fault, also if only the codec's library is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.inspect._explain.tree import Fault, Node, Space
from kafkawire.records import Codec, CorruptRecordError, MissingCodecError, decompress

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_UNPACKED: Final = 64 * 1024 * 1024
_NAMES: Final = {codec.value: codec.name.lower() for codec in Codec}


def codec_name(codec: int) -> str:
    """The name of a codec, or its number.

    >>> codec_name(4), codec_name(7)
    ('zstd', 'codec 7')
    """
    return _NAMES.get(codec, f"codec {codec}")


def open_packed(leaf: Node, codec: int, magic: int, inside: Callable[[memoryview], Node]) -> None:
    """Add the inner space to a leaf of compressed bytes; `inside` returns its root for the decompressed bytes."""
    try:
        unpacked = memoryview(decompress(codec, leaf.value, magic=magic, limit=MAX_UNPACKED))
    except MissingCodecError as error:
        remedy = str(error).rpartition(": ")[2]
        leaf.fault = Fault(leaf.offset, f"a library that unpacks {codec_name(codec)}", f"none, {remedy},")
        return
    except CorruptRecordError as error:
        leaf.fault = Fault(leaf.offset, leaf.type, str(error).partition(": ")[2])
        return
    leaf.note = f"{len(unpacked)} bytes unpacked"
    leaf.inner = Space(f"{leaf.type} unpacked, {len(unpacked)} bytes", unpacked, inside(unpacked))
