"""The errors of the records layer, and their messages.

Rules:
- A corruption error has the position of its batch in the buffer, so that a hex view can be opened there.
- Both forms of the kernel report a fault as (code, where, found, expected); this module words all messages.
"""

from __future__ import annotations

from enum import IntEnum

from kafkawire.exceptions import KafkaWireError


class RecordsError(KafkaWireError):
    """Base class of all errors of the records layer."""


class CorruptRecordError(RecordsError):
    """Bytes that are not a batch, or not the batch that was written; `position` is where the batch starts."""

    def __init__(self, message: str = "corrupt", *, position: int = 0, code: int = 0) -> None:
        super().__init__(f"batch at byte {position}: {message}")
        self.position = position
        self.code = code


class DecompressedSizeError(CorruptRecordError):
    """A batch that decompresses to more bytes than the reader allows."""


class ColumnSizeError(RecordsError):
    """More bytes than one Arrow column can hold; the buffer has to be read in parts."""


class InvalidRecordError(RecordsError):
    """A value that no batch can hold, raised when it is written."""


class MissingCodecError(RecordsError, ImportError):
    """The library of an optional codec is not installed."""


class Fault(IntEnum):
    """The kinds of corruption that the kernel reports; `_record.h` has the same numbers."""

    NONE = 0
    SIZE = 1
    MAGIC = 2
    CRC = 3
    COUNT = 4
    SHORT = 5
    VARINT = 6
    LENGTH = 7
    RECORD_SIZE = 8
    HEADER_COUNT = 9
    TRAILING = 10
    NESTED = 11
    WRAPPER_OFFSET = 12
    EMPTY_WRAPPER = 13
    NULL_WRAPPER = 14
    OVERFLOW = 15


_WORDS = {
    Fault.SIZE: "size field {found}, expected at least {expected}",
    Fault.MAGIC: "magic {found}, expected 0, 1 or 2",
    Fault.CRC: "stated CRC {expected:#010x}, computed {found:#010x}",
    Fault.COUNT: "record count {found}, but the bytes hold at most {expected}",
    Fault.SHORT: "{expected} bytes needed at byte {where} of the records, {found} left",
    Fault.VARINT: "varint at byte {where} of the records is longer than its type",
    Fault.LENGTH: "length {found} at byte {where} of the records, expected -1 to {expected}",
    Fault.RECORD_SIZE: "record at byte {where} of the records is {expected} bytes long, its fields take {found}",
    Fault.HEADER_COUNT: "header count {found} at byte {where} of the records, expected 0 to {expected}",
    Fault.TRAILING: "{found} bytes left over after the last record, at byte {where} of the records",
    Fault.NESTED: "compressed message inside a compressed message, at byte {where} of the records",
    Fault.WRAPPER_OFFSET: "wrapper offset {found} is smaller than the last inner offset {expected}",
    Fault.EMPTY_WRAPPER: "compressed message without inner messages",
    Fault.NULL_WRAPPER: "compressed message with a null value",
    Fault.OVERFLOW: "a column would exceed 2 GiB; read the bytes before this batch and the rest separately",
}


def describe_fault(code: int, where: int, found: int, expected: int) -> str:
    """The message of a fault.

    >>> describe_fault(Fault.MAGIC, 0, 7, 0)
    'magic 7, expected 0, 1 or 2'
    """
    return _WORDS[Fault(code)].format(where=where, found=found, expected=expected)


def corrupt(position: int, code: int, where: int = 0, found: int = 0, expected: int = 0) -> CorruptRecordError:
    """The exception for a fault that the kernel reports."""
    return CorruptRecordError(describe_fault(code, where, found, expected), position=position, code=code)
