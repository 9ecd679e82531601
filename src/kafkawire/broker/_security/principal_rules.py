"""How the subject of a client's certificate becomes the name of its principal: ssl.principal.mapping.rules.

Rules:
- A rule is RULE:pattern/replacement/ with L or U after it for lower or upper case, or DEFAULT for the subject itself.
- The pattern must match the whole subject. The first rule that matches decides. If none matches, there is no name, and
  the connection is closed.
- $1 stands for a group. A number without a group stays as it is. A slash within a pattern is written with a backslash.
- Patterns are Python's. They are read when the broker starts, and an invalid one stops it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kafkawire.messages.errors import InvalidConfigError

DEFAULT: Final = "DEFAULT"
_RULE: Final = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)")
_GROUP: Final = re.compile(r"\$(\d+)")


class Rule(NamedTuple):
    """One rule; DEFAULT has no pattern."""

    pattern: re.Pattern[str] | None
    replacement: str
    case: str


class PrincipalRules:
    """The rules in their order.

    >>> rules = PrincipalRules("RULE:^CN=(.*?),OU=Sales.*$/$1/L, DEFAULT")
    >>> rules.name("CN=Ann,OU=Sales,O=Shop"), rules.name("CN=Bob,O=Shop")
    ('ann', 'CN=Bob,O=Shop')
    """

    def __init__(self, text: str) -> None:
        self._rules = list(_parse(text.strip() or DEFAULT))

    def name(self, subject: str) -> str | None:
        """The name for a subject; None if no rule matches."""
        for rule in self._rules:
            if rule.pattern is None:
                return subject
            match = rule.pattern.fullmatch(subject)
            if match is not None:
                name = _replace(rule.replacement, match)
                return name.lower() if rule.case == "L" else name.upper() if rule.case == "U" else name
        return None


def _parse(text: str) -> list[Rule]:
    rules = []
    position = 0
    while position < len(text):
        found = _RULE.match(text, position)
        if found is None:
            raise InvalidConfigError(
                f"ssl.principal.mapping.rules: expected RULE:pattern/replacement/[L|U] or DEFAULT, found "
                f"{text[position : position + 60]!r}"
            )
        if found[1]:
            rules.append(Rule(None, "", ""))
        else:
            try:
                pattern = re.compile(found[2].replace("\\/", "/"))
            except re.error as error:
                raise InvalidConfigError(f"ssl.principal.mapping.rules: {found[2]!r}: {error}") from error
            rules.append(Rule(pattern, found[3].replace("\\/", "/"), found[4]))
        position = found.end()
    return rules


def _replace(replacement: str, match: re.Match[str]) -> str:
    def group(found: re.Match[str]) -> str:
        number = int(found[1])
        return (match[number] or "") if number <= match.re.groups else found[0]

    return _GROUP.sub(group, replacement)
