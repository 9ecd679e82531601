"""The parts of an encoded message: bytes in memory, and bytes that are still elsewhere.

Rules:
- A `records` field takes an ExternalBytes. The encoder writes its length, and puts the object itself into the list of
  parts. It reads the bytes only if the message is encoded as one piece.
- The sender of the parts decides how the bytes get to the socket; a range of a file is sent by `sendfile`.
"""

from __future__ import annotations

from abc import abstractmethod


class ExternalBytes:
    """Bytes that are not in memory, but have a known length."""

    __slots__ = ()

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def read(self) -> bytes | memoryview:
        """The bytes, read into memory."""


Part = bytes | memoryview | ExternalBytes
