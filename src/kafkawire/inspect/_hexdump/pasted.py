"""Hex as articles and chats show it: tables with bars, arrows and comments beside the bytes, placeholders.

Rules:
- A line of a table has cells between bars; the cell with the most bytes counts. Lines of dashes, and headings without
  hex, are left out.
- Text after an arrow, a dash, a semicolon or an equals sign is a comment, if hex stands before it. Words before a colon
  are a label, if they are not hex.
- XX, ??, NN and __ (in any number of pairs) stand for bytes that are not known. So do words in angle or square brackets
  that state a number of bytes, or that name a field of the header.
- Three dots, and other words in such brackets, stand for bytes that were left out. The number beside them, or the size
  at the start of the frame, gives their length.
- All of these are zeros in the result, and holes.
- A hole in place of a frame's size has the size of the bytes that follow, so that the frame can be read.
- All other text is an error. At least one byte must be known.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kafkawire.inspect._hexdump.dumps import HexError

_ARROW: Final = re.compile(r"→|←|⇒|⇐|↔|->|<-|=>|<=|--|\u2013|\u2014|;|=|//|#")
_NOT_HEX: Final = re.compile(r"[g-zG-Z]")
_LONGEST_LABEL: Final = 80
_BORDER: Final = re.compile(r"[\s|+:=\-\u2500-\u257f]*")
_BARS: Final = re.compile(r"[|\u2502\u2503\u2551]")
_PIECE: Final = re.compile(r"(?:0[xX])?((?:[0-9a-fA-F]{2}|[xX?]{2}|NN|nn|__|\.\.(?!\.))+)|(\[?\.\.\.\]?|\[?\u2026\]?)")
_UNKNOWN: Final = "xX?.Nn_"
_GONE: Final = r"(?:omitted|skipped|removed|redacted|elided|left out|snipped|snip)"
_WORDS: Final = re.compile(
    r"[<\[]([^<>\[\]]*[^\W\d_][^<>\[\]]*)[>\]]"
    rf"|\(([^()]*\b{_GONE}\b[^()]*)\)"
    rf"|(?:\.\.\.|\u2026)[ \t]*(\d+[ \t]+(?:more[ \t]+)?bytes?\b(?:[ \t]+{_GONE}\b)?)[ \t]*(?:\.\.\.|\u2026)?"
)
_STATED: Final = re.compile(r"(\d+|a|an|one|two|four|eight)[\s-]+(?:\w+[\s-]+){0,2}(?:bytes?|octets?)\b", re.IGNORECASE)
_NUMBERS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "four": 4, "eight": 8}
_FIELDS: Final = {
    "size": 4,
    "length": 4,
    "correlation id": 4,
    "correlation": 4,
    "api key": 2,
    "request api key": 2,
    "api version": 2,
    "request api version": 2,
}
_DOTS: Final = re.compile(r"\[?(?:\.\.\.|\u2026)")
_LEFT_OUT: Final = "..."
_HOW_MANY: Final = "how many bytes are left out here? Write [N bytes], or give the frame with its size"
_SEPARATORS: Final = " \t\r,\"'(){}\u00a0"
_MOST_LEFT_OUT: Final = 1 << 26
_SIZE: Final = 4


class Hole(NamedTuple):
    """Bytes that the text does not give."""

    offset: int
    length: int


class PastedHex(NamedTuple):
    """The bytes of a text, zeros in the place of placeholders, and the holes."""

    data: bytes
    holes: tuple[Hole, ...]


def parse_pasted(text: str) -> PastedHex:
    """The bytes of a pasted text.

    >>> parse_pasted("00 12 -> the key\\n00 XX -> the version")
    PastedHex(data=b'\\x00\\x12\\x00\\x00', holes=(Hole(offset=3, length=1),))
    """
    out = bytearray()
    holes: list[Hole] = []
    left_out: tuple[int, int] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if _BORDER.fullmatch(line):
            continue
        for piece in _pieces(number, _content(line), line):
            if piece == _LEFT_OUT:
                if left_out is not None:
                    raise HexError(number, 1, "bytes are left out in two places, so their numbers are not known")
                left_out = len(out), number
                continue
            for at in range(0, len(piece), 2):
                pair = piece[at : at + 2]
                if pair[0] in _UNKNOWN:
                    _add_hole(holes, len(out))
                out.append(0 if pair[0] in _UNKNOWN else int(pair, 16))
    if len(out) == sum(hole.length for hole in holes):
        raise HexError(1, 1, "no hex found")
    return _filled(bytes(out), holes, left_out)


def _filled(data: bytes, holes: list[Hole], left_out: tuple[int, int] | None) -> PastedHex:
    """The result, with the bytes that were left out."""
    if left_out is None:
        if holes and holes[0] == (0, _SIZE):
            data = max(len(data) - _SIZE, 0).to_bytes(_SIZE, "big") + data[_SIZE:]
        return PastedHex(data, tuple(holes))
    at, line = left_out
    missing = int.from_bytes(data[:4], "big") + 4 - len(data) if at >= 4 else 0
    if not 0 < missing <= _MOST_LEFT_OUT:
        raise HexError(line, 1, _HOW_MANY)
    moved = [hole if hole.offset < at else Hole(hole.offset + missing, hole.length) for hole in holes]
    return PastedHex(data[:at] + bytes(missing) + data[at:], tuple(sorted([*moved, Hole(at, missing)])))


def _add_hole(holes: list[Hole], offset: int) -> None:
    if holes and holes[-1].offset + holes[-1].length == offset:
        holes[-1] = Hole(holes[-1].offset, holes[-1].length + 1)
    else:
        holes.append(Hole(offset, 1))


def _content(line: str) -> str:
    """The part of a line that has the bytes."""
    if _BARS.search(line):
        cells = [cell.strip() for cell in _BARS.split(line)]
        counted = [(_count(cell), number) for number, cell in enumerate(cells)]
        most, number = max(counted, key=lambda item: (item[0], item[1] <= 1, -item[1]), default=(0, 0))
        return cells[number] if most else ""
    colon = line.find(":", 0, _LONGEST_LABEL)
    opened = max(line.rfind(bracket, 0, max(colon, 0)) for bracket in "<[")
    if (
        colon > 0
        and max(line.rfind(">", 0, colon), line.rfind("]", 0, colon)) >= opened
        and line[colon + 1 : colon + 2].isspace()
        and _NOT_HEX.search(line, 0, colon)
    ):
        line = line[colon + 1 :]
    arrow = _ARROW.search(line)
    return line if arrow is None else line[: arrow.start()]


def _count(cell: str) -> int:
    """The number of bytes in a cell; 0 if it has anything else."""
    try:
        return sum(len(piece) // 2 for piece in _pieces(0, cell, cell))
    except HexError:
        return 0


def _may_end(content: str, position: int) -> bool:
    """Whether a run of digits may end here: at a separator, at three dots, or at the end."""
    return position == len(content) or content[position] in _SEPARATORS or bool(_DOTS.match(content, position))


def _pieces(number: int, content: str, line: str) -> list[str]:
    pieces = []
    position = 0
    while position < len(content):
        words = _WORDS.match(content, position)
        if words is not None:
            pieces.append(_hole_of(words[1] or words[2] or words[3], number, position))
            position = words.end()
            continue
        if content[position] in _SEPARATORS:
            position += 1
            continue
        found = _PIECE.match(content, position)
        if found is None or not (found[2] or _may_end(content, found.end())):
            column = line.find(content[position:]) + 1
            raise HexError(number, max(column, 1), f"{content[position : position + 12]!r} is not hex")
        pieces.append(found[1] or _LEFT_OUT)
        position = found.end()
    return pieces


def _hole_of(words: str, line: int, column: int) -> str:
    """Pairs of placeholders for words that stand for bytes; three dots if the words do not give their number."""
    stated = _STATED.search(words)
    if stated is None:
        length = _FIELDS.get(" ".join(re.split(r"[\W_]+", words.lower())).strip(), 0)
        return "XX" * length or _LEFT_OUT
    length = _NUMBERS.get(stated[1].lower(), 0) or int(stated[1])
    if not 0 < length <= _MOST_LEFT_OUT:
        raise HexError(line, column + 1, f"{length} bytes cannot be left out")
    return "XX" * length
