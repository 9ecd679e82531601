"""Java's properties files, in which Kafka keeps the settings of brokers and clients.

Rules:
- A line is `name=value`, `name: value` or `name value`. Blanks around both are dropped. `#` and `!` begin a comment.
- A backslash at the end of a line continues it in the next one, without that line's first blanks. Elsewhere it stands
  for the next character: `\\t`, `\\n`, `\\r` and `\\f` for blanks, `\\uXXXX` for a character, any other for itself.
- A later value of a name replaces an earlier one.
- Errors name the line and not its text, because a line may be part of a key or a password.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kafkawire.wire.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME: Final = re.compile(r"((?:\\.|[^\\=:\s])+)(?:\s*[=:]\s*|\s+)(.*)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_BLANKS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertiesError(WireError):
    """A line that has no name and value."""


def parse_properties(text: str, source: str) -> dict[str, str]:
    r"""The settings in the text of a properties file; `source` is its name, for errors.

    >>> parse_properties("a=1\n# comment\nb: \\\n    2\nc = \\\"\\u0041\\\\\\\"", "client.properties")
    {'a': '1', 'b': '2', 'c': '"A\\"'}
    """
    found = {}
    for number, line in _logical_lines(text):
        match = _NAME.fullmatch(line)
        if match is None:
            raise PropertiesError(
                f"{source}, line {number}: expected name=value, found {len(line)} characters without '='; a value of "
                "several lines has a backslash at the end of each but the last"
            )
        found[_unescaped(match[1])] = _unescaped(match[2]).strip()
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    begun, first = "", 0
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        rest = line.lstrip(" \t\f")
        if not begun:
            if not rest or rest[0] in "#!":
                continue
            first = number
        begun += rest
        if (len(rest) - len(rest.rstrip("\\"))) % 2:
            begun = begun[:-1]
        else:
            yield first, begun.rstrip(" \t\f")
            begun = ""
    if begun:
        yield first, begun


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda each: _character(each[1]), text)


def _character(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) == 5 else _BLANKS.get(escape, escape)
