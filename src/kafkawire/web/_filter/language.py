"""The filter language as a tree.

    api = Fetch and wait > 100ms and not client ~ "^test-"
    topic = orders error != 0
    value.user.id = 42 or header.trace ~ abc

Rules:
- A comparison is `field op value`. The operators are = != < <= > >= and ~ !~ for regular expressions, and `in (a, b)`.
- A word alone is searched for in every text of a row, without regard to case. Terms beside each other must all hold.
- `not` binds strongest, then `and`, then `or`. Parentheses group.
- An error has the column of the character where the text stops making sense.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST: Final = 4_000
DEEPEST: Final = 50
_TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<op>!=|!~|<=|>=|==|[=<>~:(),])
    |(?P<word>(?:[^\s"'()=<>~!,:]|(?<=\d):(?=\d))+)
    |(?P<bad>.))""",
    re.VERBOSE,
)
OPERATORS: Final = {"=": "=", "==": "=", ":": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "~": "~"} | {
    "!~": "!~"
}


@dataclass(frozen=True, slots=True)
class Compare:
    """A field compared with values; `in` has several, every other operator one."""

    field: str
    operator: str
    values: tuple[str, ...]
    column: int


@dataclass(frozen=True, slots=True)
class Word:
    """A text that is searched for everywhere."""

    text: str
    column: int


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a term."""

    term: Term


@dataclass(frozen=True, slots=True)
class Both:
    """All of the terms."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of the terms."""

    terms: tuple[Term, ...]


Term = Compare | Word | Not | Both | Either


def parse(text: str) -> Term | None:
    """The tree of a filter; None if it is empty.

    >>> parse("api = Fetch wait > 100ms").terms[1]
    Compare(field='wait', operator='>', values=('100ms',), column=13)
    """
    if len(text) > LONGEST:
        raise Problem(f"the filter has {len(text)} characters, expected at most {LONGEST}", column=LONGEST)
    parser = _Parser(text)
    if parser.kind == "end":
        return None
    found = parser.either(0)
    if parser.kind != "end":
        raise parser.wrong("an operator, `and` or `or`")
    return found


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    @property
    def kind(self) -> str:
        return self._tokens[self._at][0]

    @property
    def text(self) -> str:
        return self._tokens[self._at][1]

    @property
    def column(self) -> int:
        return self._tokens[self._at][2]

    def wrong(self, expected: str) -> Problem:
        found = "the end" if self.kind == "end" else repr(self.text)
        return Problem(f"column {self.column}: expected {expected}, found {found}", column=self.column)

    def either(self, depth: int) -> Term:
        terms = [self._both(depth)]
        while self._is_keyword("or"):
            self._at += 1
            terms.append(self._both(depth))
        return terms[0] if len(terms) == 1 else Either(tuple(terms))

    def _both(self, depth: int) -> Term:
        terms = [self._one(depth)]
        while True:
            if self._is_keyword("and"):
                self._at += 1
            elif self.kind == "end" or self.text == ")" or self._is_keyword("or"):
                return terms[0] if len(terms) == 1 else Both(tuple(terms))
            terms.append(self._one(depth))

    def _one(self, depth: int) -> Term:
        if depth > DEEPEST:
            raise self.wrong(f"at most {DEEPEST} levels")
        if self._is_keyword("not"):
            self._at += 1
            return Not(self._one(depth + 1))
        if self.kind == "op" and self.text == "(":
            self._at += 1
            inside = self.either(depth + 1)
            if self.text != ")":
                raise self.wrong("a closing parenthesis")
            self._at += 1
            return inside
        if self.kind not in ("word", "string") or self._is_keyword("and") or self._is_keyword("or"):
            raise self.wrong("a field or a word")
        return self._comparison()

    def _comparison(self) -> Term:
        kind, name, column = self._tokens[self._at]
        self._at += 1
        if kind == "word" and self._is_keyword("in"):
            self._at += 1
            return Compare(name, "in", self._list(), column)
        if kind == "word" and self.kind == "op" and self.text in OPERATORS:
            operator = OPERATORS[self.text]
            self._at += 1
            return Compare(name, operator, (self._value(),), column)
        return Word(name, column)

    def _list(self) -> tuple[str, ...]:
        if self.text != "(" or self.kind != "op":
            raise self.wrong("an opening parenthesis")
        self._at += 1
        values = [self._value()]
        while self.kind == "op" and self.text == ",":
            self._at += 1
            values.append(self._value())
        if self.text != ")":
            raise self.wrong("a comma or a closing parenthesis")
        self._at += 1
        return tuple(values)

    def _value(self) -> str:
        if self.kind not in ("word", "string"):
            raise self.wrong("a value")
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _is_keyword(self, word: str) -> bool:
        return self.kind == "word" and self.text.lower() == word


def _tokens(text: str) -> Sequence[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        assert match is not None
        kind = match.lastgroup or "bad"
        start = match.start(kind) + 1
        if kind == "bad":
            closing = " (the quote is not closed)" if match[kind] in "\"'" else ""
            raise Problem(f"column {start}: {match[kind]!r} is not expected here{closing}", column=start)
        value = match[kind]
        if kind == "string":
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        found.append((kind, value, start))
        at = match.end()
    return [*found, ("end", "", len(text) + 1)]
