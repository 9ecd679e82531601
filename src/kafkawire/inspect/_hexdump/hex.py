r"""Hex in any common format.

Accepted: plain digits with any of the usual separators; 0x prefixes; C, Java and Go arrays; \x escapes and bytes
literals; dumps of xxd, hexdump, od, tcpdump and Wireshark (see dumps.py); tables, arrows, comments and placeholders of
articles (see pasted.py); arrays of decimal numbers (see decimals.py); base64, if it cannot be anything else.
Rules:
- Nothing is skipped silently. Text that is not hex, a separator or a comment is an error with its line and column.
- A byte is two adjacent digits. Digits are joined across line ends only if every line is one run of digits.
- Comments run from # or // to the end of the line, or between /* and */.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kafkawire.inspect._hexdump.decimals import parse_decimals
from kafkawire.inspect._hexdump.dumps import HexError, read_dump
from kafkawire.inspect._hexdump.pasted import Hole, parse_pasted

__all__ = ["HexError", "HexInput", "parse_hex", "raw_or_hex", "read_hex"]

_UNDERSCORES: Final = re.compile(r"(?<![^\s,|])(?:__)+(?![^\s,|])")
_DIGITS: Final = frozenset("0123456789abcdefABCDEF")
_ONLY_DIGITS: Final = re.compile(r"[0-9a-fA-F\s]*", re.ASCII)
_NOT_A_DIGIT: Final = re.compile(r"[^0-9a-fA-F]")
_TOKEN: Final = re.compile(r"[^\s,:;_\-\[\](){}\"'\u200b\ufeff]+")
_COMMENT: Final = re.compile(r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|\Z)|(?<![^\s,;])//[^\n]*|#[^\n]*")
_CAST: Final = re.compile(r"\(\s*(?:u?int8(?:_t)?|(?:unsigned )?char|byte)\s*\)")
_BRACES: Final = re.compile(r"\{[^{}]*\}")
_POSTGRES: Final = re.compile(r"\s*\\x([0-9a-fA-F]{4,})\s*")
_OPENING: Final = re.compile(r"[\s\w\[\]*()=&$]*?[bB]?(?=[\"'])")
_BETWEEN: Final = re.compile(r"(?:[\s,+()\[\];]|\\\r?\n|#[^\n]*)*+[bB]?")
_ESCAPE: Final = re.compile(r"\\x([0-9a-fA-F]{2})|\\([0-3][0-7]{2}|[0-7]{1,2})|\\([abfnrtv\\'\"])|([ -\[\]-~])")
_ONLY_ESCAPES: Final = re.compile(r"(?:\\x[0-9a-fA-F]{2}|[\s,:;]++)*+")
_NAMED: Final = dict(zip("abfnrtv\\'\"", b"\a\b\f\n\r\t\v\\'\"", strict=True))
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]*={0,2}\s*", re.ASCII)


class HexInput(NamedTuple):
    """The bytes of a text in hex, those of each packet of a dump, and the holes that placeholders leave."""

    data: bytes
    packets: tuple[bytes, ...] = ()
    holes: tuple[Hole, ...] = ()


def parse_hex(text: str) -> bytes:
    r"""The bytes of a text in hex. Placeholders are zeros, and the packets of a dump follow each other.

    >>> parse_hex("00 1f, 0x0012") == parse_hex(r"\x00\x1f\x00\x12") == parse_hex("00000000: 001f 0012  ....")
    True
    >>> parse_hex("00 1g")
    Traceback (most recent call last):
    kafkawire.inspect._hexdump.dumps.HexError: line 1, column 5: 'g' is not a hex digit
    """
    return read_hex(text).data


def read_hex(text: str) -> HexInput:
    """The bytes of a text in hex, with its packets and its holes."""
    if not text.strip():
        raise HexError(1, 1, "no hex found")
    dump = read_dump(text.split("\n"))
    if dump is not None:
        return HexInput(b"".join(dump), tuple(dump))
    decimals = parse_decimals(_COMMENT.sub(_blank, text))
    if decimals is not None:
        return HexInput(decimals)
    try:
        if _UNDERSCORES.search(text):
            raise HexError(1, 1, "underscores in place of bytes")
        return HexInput(_parse(text))
    except HexError as error:
        try:
            pasted = parse_pasted(text)
        except HexError as refusal:
            raise (refusal if "left out" in refusal.problem else error) from None
        return HexInput(pasted.data, (), pasted.holes)


def _parse(text: str) -> bytes:
    if _ONLY_DIGITS.fullmatch(text):
        try:
            return bytes.fromhex(text)
        except ValueError:
            return _parse_plain(text)
    postgres = _POSTGRES.fullmatch(text)
    if postgres:
        return _parse_plain(text.replace("\\x", "  "))
    opening = _OPENING.match(text)
    if "\\x" in text or (opening and opening[0][-1:] in ("b", "B")):
        return _parse_escapes(text)
    try:
        return _parse_plain(text)
    except HexError:
        decoded = _unambiguous_base64(text)
        if decoded is None:
            raise
        return decoded


def raw_or_hex(data: bytes) -> HexInput:
    r"""Binary data unchanged; the bytes of text in hex, which is UTF-8, or UTF-16 with a mark.

    >>> raw_or_hex(b"\x00\x00\x00\x02\x00\x12").data == raw_or_hex(b"00 00 00 02 00 12\n").data
    True
    """
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return HexInput(data)
    if not text.translate(dict.fromkeys(map(ord, "\t\r\n\f\v\u00a0\u200b\ufeff"), " ")).isprintable():
        return HexInput(data)
    return read_hex(text)


def _parse_plain(text: str) -> bytes:
    kept = _without_decoration(text)
    runs = list(_TOKEN.finditer(kept))
    if not runs:
        raise HexError(1, 1, "no hex found")
    for run in runs:
        _check_digits(text, run)
    if all(len(_TOKEN.findall(line)) <= 1 for line in kept.split("\n")) and "x" not in kept.lower():
        digits = "".join(run[0] for run in runs)
        if len(digits) % 2:
            raise _refusal(text, runs[-1].end() - 1, f"{len(digits)} hex digits in all; bytes need pairs of digits")
        return bytes.fromhex(digits)
    return b"".join(_byte_run(text, run) for run in runs)


def _without_decoration(text: str) -> str:
    """The text with comments, text columns and the frame of an array replaced by blanks."""
    kept = "\n".join(_without_text_column(line) for line in text.split("\n"))
    kept = _CAST.sub(_blank, _COMMENT.sub(_blank, kept))
    if _BRACES.search(kept):
        inside = [False] * len(kept)
        for match in _BRACES.finditer(kept):
            inside[match.start() : match.end()] = [True] * len(match[0])
        kept = "".join(char if within or char == "\n" else " " for char, within in zip(kept, inside, strict=True))
    return kept


def _blank(match: re.Match[str]) -> str:
    return "".join("\n" if char == "\n" else " " for char in match[0])


def _without_text_column(line: str) -> str:
    for opening, closing in (("  |", "|"), ("  >", "<")):
        start = line.find(opening)
        if start > 0 and line.rstrip().endswith(closing):
            return line[:start].ljust(len(line))
    return line


def _check_digits(text: str, run: re.Match[str]) -> None:
    prefixed = 2 if run[0][:2] in ("0x", "0X") else 0
    strange = _NOT_A_DIGIT.search(run[0], prefixed)
    if strange:
        raise _refusal(text, run.start() + strange.start(), f"{strange[0]!r} is not a hex digit")
    if len(run[0]) == prefixed:
        raise _refusal(text, run.start(), "0x without digits")


def _byte_run(text: str, run: re.Match[str]) -> bytes:
    prefixed = run[0][:2].lower() == "0x"
    digits = run[0][2:] if prefixed else run[0]
    if prefixed and len(digits) == 1:
        return bytes([int(digits, 16)])
    if len(digits) % 2:
        shown = run[0] if len(run[0]) <= 20 else run[0][:20] + "..."
        raise _refusal(text, run.start(), f"{shown!r} has {len(digits)} hex digits; bytes need pairs of digits")
    return bytes.fromhex(digits)


def _parse_escapes(text: str) -> bytes:
    opening = _OPENING.match(text)
    first = text.find("\\x")
    if opening is None or 0 <= first < opening.end():
        only = _ONLY_ESCAPES.fullmatch(text)
        start, stop = len(text) - len(text.lstrip()), len(text.rstrip())
        return bytes.fromhex(re.sub(r"\\x|[\s,:;]", "", text)) if only else _escaped(text, start, stop, "")[0]
    out = bytearray()
    position = opening.end()
    while position < len(text):
        quote = text[position]
        if quote not in "\"'":
            raise _refusal(text, position, f"expected a string in quotes, found {quote!r}")
        part, position = _escaped(text, position + 1, len(text), quote)
        out += part
        between = _BETWEEN.match(text, position)
        position = between.end() if between else position
    return bytes(out)


def _escaped(text: str, start: int, stop: int, quote: str) -> tuple[bytes, int]:
    """The bytes up to the closing quote, or up to `stop` without quotes, and the position after them."""
    out = bytearray()
    position = start
    while position < stop:
        char = text[position]
        if quote and char == quote:
            return bytes(out), position + 1
        match = _ESCAPE.match(text, position, stop)
        if match is None and not quote and char in "\r\n":
            position += 1
            continue
        if match is None:
            found = text[position : position + 4] if char == "\\" else char
            raise _refusal(text, position, f"{found!r} is neither an escape nor a printable ASCII character")
        pair, octal, named, plain = match.groups()
        out.append(int(pair, 16) if pair else int(octal, 8) if octal else _NAMED[named] if named else ord(plain))
        position = match.end()
    if quote:
        raise _refusal(text, start - 1, f"the string that begins here has no closing {quote}")
    return bytes(out), position


def _unambiguous_base64(text: str) -> bytes | None:
    """The decoded text, if it is complete base64 and cannot be hex with a typing error."""
    compact = "".join(text.split())
    if not _BASE64.fullmatch(text) or len(compact) % 4 or len(compact) < 8:
        return None
    strange = {char for char in compact if char not in _DIGITS and char.isalpha()}
    both_cases = any(char.isupper() for char in strange) and any(char.islower() for char in strange)
    if not compact.endswith("=") and not (len(strange) >= 4 and both_cases):
        return None
    import base64

    return base64.b64decode(compact, validate=True)


def _refusal(text: str, position: int, problem: str) -> HexError:
    line_start = text.rfind("\n", 0, position) + 1
    return HexError(text.count("\n", 0, position) + 1, position - line_start + 1, problem)
