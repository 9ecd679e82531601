"""The errors of encoding and decoding, and their place in a message.

Rules:
- An error is raised where it is detected, and collects its path as it propagates, innermost part first.
- `fault` builds every decoding error for both forms of the engine, so that their messages are the same.
"""

from __future__ import annotations

from typing import ClassVar, Final

from kafkawire.exceptions import KafkaWireError


class CodecError(KafkaWireError):
    """A message that cannot be read or written; `title` names message and version, `path` the field."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(expected, found)
        self.expected, self.found = expected, found
        self.title = ""
        self._parts: list[str | int] = []

    def within(self, part: str | int) -> None:
        """Add the enclosing field's name, or the index within it."""
        self._parts.append(part)

    @property
    def path(self) -> str:
        """The field, for example `responses[0].partitions[3].records`."""
        texts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in reversed(self._parts))
        return "".join(texts).lstrip(".")

    def __str__(self) -> str:
        place = ", ".join(part for part in (self.title, self.path) if part)
        return f"{place}: {self.problem}" if place else self.problem

    @property
    def problem(self) -> str:
        return f"expected {self.expected}, found {self.found}"


class DecodeError(CodecError):
    """Bytes that are not this message; `offset` counts from the start of the buffer."""

    CODE: ClassVar = 42  # INVALID_REQUEST, for a server that must answer

    def __init__(self, offset: int, expected: str, found: str) -> None:
        super().__init__(expected, found)
        self.offset = offset

    @property
    def problem(self) -> str:
        return f"{super().problem} at offset {self.offset}"


class ElementLimitError(DecodeError):
    """More elements in the arrays of one message than the caller allows."""


class EncodeError(CodecError):
    """A value that does not fit its field."""


class UnsupportedVersionError(CodecError):
    """A version that the message does not have, or a value that the version cannot hold."""

    CODE: ClassVar = 35  # UNSUPPORTED_VERSION, for a server that must answer


PAST_END, LENGTH, COUNT, NULL, NEGATIVE, TEXT, VARINT, TAG_VERSION, TAG_SIZE, TRAILING, ELEMENTS = range(11)

_TEXTS: Final = {
    PAST_END: ("{a} more bytes", "{b}"),
    LENGTH: ("a length of at most the {b} bytes left", "length {a}"),
    COUNT: ("at most {b} elements in the bytes left", "{a} elements"),
    NULL: ("a value", "null"),
    NEGATIVE: ("a length of 0 or more, or -1 for null", "length {a}"),
    TEXT: ("a string of at most 32767 bytes", "length {a}"),
    VARINT: ("a varint of at most 5 bytes", "a longer one"),
    TAG_VERSION: ("a tag of this version", "tag {a}, which other versions have"),
    TAG_SIZE: ("a tag value of the declared {a} bytes", "{b} bytes"),
    TRAILING: ("the end", "{a} bytes more"),
    ELEMENTS: ("at most {b} elements in the whole message", "{a}"),
}


def fault(kind: int, offset: int, a: int, b: int) -> DecodeError:
    """The decoding error of one kind, with its two numbers."""
    expected, found = _TEXTS[kind]
    error = ElementLimitError if kind == ELEMENTS else DecodeError
    return error(offset, expected.format(a=a, b=b), found.format(a=a, b=b))
