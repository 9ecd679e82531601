"""Bytes as decimal numbers, as programs print arrays of bytes.

Rules:
- The numbers are between commas or blanks, in brackets, or between commas alone. They are from -128 to 255, because
  Java prints signed bytes.
- Text in which every number has two digits is hex. A number with a leading zero is not decimal.
- Names, types and quotes around the brackets are left out. Lists follow each other.
"""

from __future__ import annotations

import re
from typing import Final

from kafkawire.inspect._hexdump.dumps import HexError

_NUMBER: Final = re.compile(r"-?\d+")
_LIST: Final = r"\s*-?\d{1,3}(?:\s*,\s*-?\d{1,3}|\s+-?\d{1,3})+[\s,]*"
_IN_BRACKETS: Final = re.compile(rf"[\[({{]({_LIST})[\])}}]")
_BARE: Final = re.compile(r"\s*-?\d{1,3}(?:\s*,\s*-?\d{1,3})+[\s,]*")
_AROUND: Final = re.compile(r"[\w\s\[\](){}<>=:;,.\"'*&$]*")
_LONGEST_NAME: Final = 200
_SMALLEST, _LARGEST = -128, 255


def parse_decimals(text: str) -> bytes | None:
    """The bytes of a text with decimal numbers; None if it is not one.

    >>> parse_decimals("new byte[] {0, 18, -1}"), parse_decimals("[0 3 0 12]"), parse_decimals("00 12")
    (b'\\x00\\x12\\xff', b'\\x00\\x03\\x00\\x0c', None)
    """
    lists = [text] if _BARE.fullmatch(text) else _IN_BRACKETS.findall(text)
    if not lists:
        return None
    around = "" if lists == [text] else _IN_BRACKETS.sub("", text)
    if len(around) > _LONGEST_NAME * len(lists) or not _AROUND.fullmatch(around):
        return None
    words = [word for each in lists for word in _NUMBER.findall(each)]
    if all(len(word) == 2 and word[0] != "-" for word in words) or any(
        len(digits) > 1 and digits[0] == "0" for digits in (word.lstrip("-") for word in words)
    ):
        return None
    too_large = next((word for word in words if not _SMALLEST <= int(word) <= _LARGEST), None)
    if too_large is None:
        return bytes(int(word) & 0xFF for word in words)
    if all(len(word) > 1 for word in words):
        return None  # it may be hex
    at = text.find(too_large)
    line = text.count("\n", 0, at) + 1
    problem = f"{too_large} is not a byte; decimal bytes are from {_SMALLEST} to {_LARGEST}"
    raise HexError(line, at - text.rfind("\n", 0, at), problem)
