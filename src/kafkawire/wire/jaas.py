"""JAAS configurations in settings: a class, a flag, and options.

Rules:
- The form is `<class> required name="value" ...;` with a semicolon at the end. Values may be bare or quoted. Comments
  are // and /* */. Only one module is allowed.
- Errors name the setting and the position, and never contain a value, because values are passwords.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kafkawire.wire.errors import WireError

FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_TOKEN: Final = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|"(?P<double>(?:\\.|[^"\\])*)"|'(?P<single>(?:\\.|[^'\\])*)'|(?P<sign>[=;])|(?P<word>[^\s=;"']+)""",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class JaasError(WireError):
    """A JAAS configuration that cannot be read; the text contains no value of it."""


class Passwords(dict[str, str]):
    """Passwords by user; no text that is made of it contains one."""

    def __repr__(self) -> str:
        return f"Passwords({', '.join(self)})"


class LoginModule(NamedTuple):
    """A module of a JAAS configuration."""

    name: str
    options: dict[str, str]

    def __repr__(self) -> str:
        return f"LoginModule({self.name}, {len(self.options)} options)"

    @property
    def users(self) -> Passwords:
        """The passwords of the options user_<name>."""
        return Passwords({name[5:]: value for name, value in self.options.items() if name.startswith("user_")})


def parse_jaas(text: str, setting: str) -> LoginModule:
    """The module of a JAAS configuration.

    >>> parse_jaas('a.PlainLoginModule required user_ann="x;y" serviceName=kafka;', "sasl.jaas.config").users
    Passwords(ann)
    """
    words = _words(text, setting)
    if len(words) < 3 or words[-1] != (";", True):
        raise JaasError(f'{setting}: expected <class> required name="value" ...; with a semicolon at the end')
    name, flag = words[0][0], words[1][0]
    if flag.lower() not in FLAGS:
        raise JaasError(f"{setting}: expected one of {', '.join(FLAGS)} after the class")
    options: dict[str, str] = {}
    rest = words[2:-1]
    if len(rest) % 3:
        raise JaasError(f"{setting}: expected options name=value, found one that is incomplete")
    for at in range(0, len(rest), 3):
        (key, is_sign), equals, (value, ends) = rest[at : at + 3]
        if is_sign or equals != ("=", True) or ends:
            raise JaasError(f"{setting}: expected name=value as option {at // 3 + 1}")
        if key in options:
            raise JaasError(f"{setting}: option {key} occurs more than once")
        options[key] = value
    return LoginModule(name, options)


def _words(text: str, setting: str) -> list[tuple[str, bool]]:
    """The words of a text, each with whether it is = or ; outside of quotes."""
    found: list[tuple[str, bool]] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise JaasError(f"{setting}: a quote at character {position + 1} is not closed")
        position = match.end()
        if match["sign"]:
            found.append((match["sign"], True))
        elif match["word"]:
            found.append((match["word"], False))
        else:
            quoted = match["double"] if match["double"] is not None else match["single"]
            if quoted is not None:
                found.append((_ESCAPED.sub(r"\1", quoted), False))
    return found
