"""Hex dumps: lines with an offset, hex, and often the same bytes as text (xxd, hexdump, od, tcpdump, Wireshark).

Rules:
- Offsets are checked. A line has as many bytes as the step to the next offset, so a lost line is an error. An offset
  that restarts begins the next packet, whose bytes follow.
- Text beside the hex is recognised because it equals the bytes before it, so that text like 'face' is not read as hex.
- `*` repeats the line before it, within a bound.
- hexdump and od print words in the byte order of the machine; they are read as little-endian. So is a dump with a colon
  (xxd -e), if only that agrees with its text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import Sequence

_WITH_COLON: Final = re.compile(r"\s*(?:0[xX])?([0-9a-fA-F]{3,16}):(?=\s|$)")
_BARE: Final = re.compile(r"\s*(?:0[xX])?([0-9a-fA-F]{4,16})(?=\s|$)")
_GROUP: Final = re.compile(r"(\s++)(?:0[xX])?([0-9a-fA-F]++)(?=\s|$)")
_WORD: Final = re.compile(r"\s*(\S*)")
_PACKET_SUMMARY: Final = re.compile(
    r"\s*(?:\d\d:\d\d:\d\d|\d{4}-\d\d-\d\d |(?:\d+\.\d+ )?IP6? |\S+ > \S+: "
    r"|\d+\s+\d+\.\d+\s+\S+\s+(?:\u2192|->)\s|(?:Frame|Packet|Reassembled TCP|Decrypted \S+) \()"
)
_COMMENT: Final = ("#", "//")
_UNPRINTABLE: Final = ".\u00b7\u2022\ufffd"
_LONGEST_TEXT: Final = 1024
_LONGEST_REST: Final = 4 * _LONGEST_TEXT
_MOST_REPEATED: Final = 1 << 26
_PROOF: Final = 64
_WORD_DUMP_OFFSETS: Final = (6, 7)
_WORD_SIZES: Final = (2, 4, 8)


class HexError(KafkaWireError, ValueError):
    """Text that is not hex, with its line and column, which count from 1."""

    def __init__(self, line: int, column: int, problem: str) -> None:
        super().__init__(f"line {line}, column {column}: {problem}")
        self.line = line
        self.column = column
        self.problem = problem


class _Row(NamedTuple):
    line: int
    offset: str
    body: str
    column: int
    after_star: bool


class _Scan(NamedTuple):
    groups: list[bytes]
    end: int
    text: str

    @property
    def size(self) -> int:
        return sum(map(len, self.groups))


def read_dump(lines: Sequence[str]) -> list[bytes] | None:
    """The bytes of a dump, by packet, or None if the lines are not one. An offset that restarts begins a packet."""
    if any(_WITH_COLON.match(line) for line in lines):
        rows = _rows(lines, _WITH_COLON, strict=True)
        return _read(rows, 16, in_words=False)
    rows = _rows(lines, _BARE, strict=False)
    if not rows:
        return None
    scans = [_scan(row.body, None) for row in rows[:_PROOF]]
    radix = _radix(rows, scans)
    if radix is None and not _must_be_offsets(rows, scans):
        return None
    wide = any(len(group) > 1 for scan in scans for group in scan.groups)
    in_words = wide and len(rows[0].offset) in _WORD_DUMP_OFFSETS
    return _read(rows, radix or 16, in_words=in_words)


def _rows(lines: Sequence[str], shape: re.Pattern[str], *, strict: bool) -> list[_Row]:
    """The lines with an offset. A line without its offset is an error, or makes the result empty."""
    rows: list[_Row] = []
    star = False
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if not bare or bare.startswith(_COMMENT):
            continue
        if bare == "*" and rows:
            star = True
            continue
        match = shape.match(line)
        if match:
            rows.append(_Row(number, match[1], line[match.end() :].rstrip(), match.end() + 1, star))
            star = False
        elif _PACKET_SUMMARY.match(line):
            continue
        elif not strict:
            return []
        else:
            column = len(line) - len(line.lstrip()) + 1
            raise HexError(number, column, f"expected an offset as on the other lines, found {_excerpt(bare)}")
    return rows


def _radix(rows: list[_Row], scans: list[_Scan]) -> int | None:
    """The base in which every offset is the one before it plus the bytes of that line."""
    if len(rows) < 2 or not scans[0].groups:
        return None
    for radix in (16, 8, 10):
        try:
            offsets = [int(row.offset, radix) for row in rows[:_PROOF]]
        except ValueError:
            continue
        steps = zip(offsets, offsets[1:], scans, rows[1:], strict=False)
        if all(
            _fits(after - before, scan, following.after_star) or (after == 0 < before and bool(scan.groups))
            for before, after, scan, following in steps
        ):
            return radix
    return None


def _fits(step: int, scan: _Scan, repeated: bool) -> bool:
    if not scan.groups:
        return False
    if repeated:
        return step > scan.size
    padding = len(scan.groups[-1]) - 1 if len(scan.groups[-1]) in _WORD_SIZES else 0
    return scan.size - padding <= step <= scan.size


def _must_be_offsets(rows: list[_Row], scans: list[_Scan]) -> bool:
    """Whether first tokens unlike the even groups after them must be offsets, although their steps are wrong."""
    sizes = {len(group) for scan in scans for group in scan.groups}
    if not scans[0].groups or len(sizes) != 1:
        return False
    if sizes == {1}:
        return len(rows) > 1 or int(rows[0].offset, 16) == 0 or bool(scans[0].text)
    return len(rows) > 1 and sizes.issubset(_WORD_SIZES) and len(rows[0].offset) in _WORD_DUMP_OFFSETS


def _read(rows: list[_Row], radix: int, *, in_words: bool) -> list[bytes]:
    offsets = [_offset(row, radix) for row in rows]
    steps = _steps(rows, offsets)
    scans = [_scan(row.body, None if in_words else step) for row, step in zip(rows, steps, strict=True)]
    for row, scan, step in zip(rows, scans, steps, strict=True):
        _check(row, scan, step, in_words=in_words)
    in_words = in_words or _only_reversed_agrees(scans)
    parts: list[bytearray] = []
    size_so_far = 0
    for index, (scan, step) in enumerate(zip(scans, steps, strict=True)):
        if not parts or offsets[index] <= offsets[index - 1]:
            parts.append(bytearray())
        out = parts[-1]
        data = _joined(scan.groups, in_words=in_words)
        following = rows[index + 1] if index + 1 < len(rows) else None
        if following is not None and following.after_star:
            size = offsets[index + 1] - offsets[index]
            size_so_far += size
            if size_so_far > _MOST_REPEATED:
                raise HexError(following.line, 1, f"'*' would repeat {size} bytes, which is too many to write out")
            out += _repeated(data, size, following)
        else:
            out += data[:step]
    if not any(parts):
        raise HexError(rows[0].line, rows[0].column, "offsets, but no bytes beside them")
    return [bytes(part) for part in parts if part]


def _offset(row: _Row, radix: int) -> int:
    try:
        return int(row.offset, radix)
    except ValueError:
        raise HexError(row.line, 1, f"expected an offset in base {radix}, found {row.offset!r}") from None


def _steps(rows: list[_Row], offsets: list[int]) -> list[int | None]:
    """The number of bytes of each line, if the next offset gives it."""
    steps: list[int | None] = []
    for index, following in enumerate(rows[1:]):
        step = offsets[index + 1] - offsets[index]
        if step > 0:
            steps.append(None if following.after_star else step)
        elif offsets[index + 1] in (0, offsets[0]):
            steps.append(None)
        else:
            raise HexError(following.line, 1, f"offset {following.offset} follows {rows[index].offset}")
    return [*steps, None]


def _scan(body: str, need: int | None) -> _Scan:
    """Read groups of hex up to the text beside them, to the first non-hex group, or to the number of bytes needed."""
    groups: list[bytes] = []
    size = end = 0
    while match := _GROUP.match(body, end):
        full = need is not None and size >= need
        text = _text_beside(body, end, groups, size) if full or len(match[1]) > 1 else ""
        if text or full or len(match[2]) % 2:
            break
        groups.append(bytes.fromhex(match[2]))
        size += len(groups[-1])
        end = match.end()
    return _Scan(groups, end, _text_beside(body, end, groups, size))


def _check(row: _Row, scan: _Scan, step: int | None, *, in_words: bool) -> None:
    """Reject a line with anything but hex and its text, or with the wrong number of bytes."""
    rest = row.body[scan.end :]
    gap = len(rest) - len(rest.lstrip())
    column = row.column + scan.end + gap
    padding = len(scan.groups[-1]) - 1 if in_words and scan.groups else 0
    missing = step is not None and scan.size < step
    if rest.strip() and not scan.text and not rest.lstrip().startswith(_COMMENT):
        group = _GROUP.match(rest)
        if group and len(group[2]) % 2:
            raise HexError(row.line, column, f"{_excerpt(rest)} has {len(group[2])} hex digits; bytes need pairs")
        if group:
            raise HexError(
                row.line, column, f"found {_excerpt(rest)}, but the next offset leaves room for {step} bytes"
            )
        if missing or gap < 2:
            raise HexError(row.line, column, f"expected hex digits, found {_excerpt(rest)}")
    if missing or (step is not None and scan.size - padding > step):
        raise HexError(row.line, column, f"the line has {scan.size} bytes, but the next offset says {step}")


def _text_beside(body: str, end: int, groups: list[bytes], size: int) -> str:
    """The rest of a line if it is the text of the bytes before it, in either byte order; else nothing."""
    if not groups or size > _LONGEST_TEXT or len(body) - end > _LONGEST_REST:
        return ""
    text = body[end:].strip()
    if not text or len(text) > size + 2:
        return ""
    orders = (_joined(groups, in_words=in_words) for in_words in (False, True))
    return text if any(_is_text_of(text, data) for data in orders) else ""


def _is_text_of(text: str, data: bytes) -> bool:
    if len(text) == len(data) + 2 and text[0] + text[-1] in ("||", "><"):
        text = text[1:-1]
    elif len(text) == len(data) + 1 and text[8:9] == " ":
        text = text[:8] + text[9:]
    return any(len(text) == len(shown) and all(map(_shows, text, shown)) for shown in (data, data.strip(b" ")))


def _shows(char: str, byte: int) -> bool:
    return ord(char) == byte or (char in _UNPRINTABLE and not 0x21 <= byte <= 0x7E)


def _only_reversed_agrees(scans: list[_Scan]) -> bool:
    with_text = [scan for scan in scans if scan.text]
    straight = all(_is_text_of(scan.text, _joined(scan.groups, in_words=False)) for scan in with_text)
    return not straight and all(_is_text_of(scan.text, _joined(scan.groups, in_words=True)) for scan in with_text)


def _joined(groups: list[bytes], *, in_words: bool) -> bytes:
    return b"".join(group[::-1] for group in groups) if in_words else b"".join(groups)


def _repeated(data: bytes, size: int, following: _Row) -> bytes:
    if size <= 0 or not data or size % len(data):
        problem = f"offset {following.offset} is not a whole number of lines after the one that '*' repeats"
        raise HexError(following.line, 1, problem)
    return data * (size // len(data))


def _excerpt(text: str) -> str:
    match = _WORD.match(text)
    word = match[1] if match else ""
    return repr(word if len(word) <= 20 else word[:20] + "...")
