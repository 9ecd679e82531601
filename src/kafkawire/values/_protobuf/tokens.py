"""The tokens of .proto files: names, numbers, strings and symbols; comments and white space are skipped."""

from __future__ import annotations

import re
from typing import Final

from kafkawire.values.errors import SchemaError

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<number>\.?[0-9](?:[eE][+-]|[A-Za-z0-9_.])*)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<symbol>[{}\[\]()<>;,=.:+\-/])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.S)
_NAMED: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
END: Final = ""


class Tokens:
    """The tokens of a text, one after the other; errors name the line."""

    def __init__(self, text: str) -> None:
        self._found: list[tuple[str, str, int]] = []
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None or match.lastgroup is None:
                line = text.count("\n", 0, at) + 1
                raise SchemaError(f"line {line} of the Protobuf schema: unexpected {text[at : at + 10]!r}")
            if match.lastgroup != "space":
                self._found.append((match.lastgroup, match[0], at))
            at = match.end()
        self._text = text
        self._at = 0

    def peek(self, ahead: int = 0) -> str:
        """The next token, or END."""
        at = self._at + ahead
        return self._found[at][1] if at < len(self._found) else END

    def next(self) -> str:
        """Take the next token."""
        token = self.peek()
        if token == END:
            raise self.error("the schema ends too early")
        self._at += 1
        return token

    def take(self, token: str) -> bool:
        """Take the next token if it is this one."""
        if self.peek() != token:
            return False
        self._at += 1
        return True

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.error(f"expected {token!r}, found {self.peek() or 'the end'!r}")

    def name(self) -> str:
        """Take a name without dots."""
        if self._kind() != "name":
            raise self.error(f"expected a name, found {self.peek() or 'the end'!r}")
        return self.next()

    def full_name(self) -> str:
        """Take a name with dots, which may begin with one."""
        found = "." if self.take(".") else ""
        found += self.name()
        while self.peek() == ".":
            self.next()
            found += "." + self.name()
        return found

    def integer(self) -> int:
        """Take a whole number."""
        sign = -1 if self.take("-") else 1
        text = self.peek()
        try:
            if self._kind() != "number":
                raise ValueError
            is_octal = text.startswith("0") and text.isdigit()
            number = int(text, 8 if is_octal else 0)
        except ValueError:
            raise self.error(f"expected a number, found {text!r}") from None
        self.next()
        return sign * number

    def string(self) -> bytes:
        """Take a string, or several in a row, which are one."""
        if self._kind() != "string":
            raise self.error(f"expected a string, found {self.peek() or 'the end'!r}")
        found = b""
        while self._kind() == "string":
            found += _ESCAPE.sub(_unescape, self.next()[1:-1].encode())
        return found

    def is_string(self) -> bool:
        return self._kind() == "string"

    def error(self, text: str) -> SchemaError:
        """An error at the next token."""
        at = self._found[self._at][2] if self._at < len(self._found) else len(self._text)
        return SchemaError(f"line {self._text.count(chr(10), 0, at) + 1} of the Protobuf schema: {text}")

    def _kind(self) -> str:
        return self._found[self._at][0] if self._at < len(self._found) else END


def _unescape(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, short, long, other = match.groups()
    if octal:
        return bytes([int(octal, 8) & 0xFF])
    if hexadecimal:
        return bytes([int(hexadecimal, 16)])
    if short or long:
        return chr(min(int(short or long, 16), 0x10FFFF)).encode(errors="replace")
    return _NAMED.get(other, other)
