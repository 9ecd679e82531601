"""The syntax of RE2/J, which Kafka uses for subscriptions: a regular expression becomes a tree.

Rules:
- Groups, alternation, classes, repetition, anchors, flags and escapes are those of RE2/J 1.8. Back references and
  look-around do not exist in it, and are refused.
- Greedy and lazy repetition are the same here, because only full matches are of interest.
- Groups may nest MOST_NESTED deep. An expression may have LONGEST characters. Apache Kafka has no such limits.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple, TypeAlias

from kafkawire.broker.groups.consumer.patterns.alphabet import TOPIC_NAMES, Alphabet
from kafkawire.exceptions import KafkaWireError

LONGEST: Final = 10_000
MOST_NESTED: Final = 200
MOST_REPEATED: Final = 1_000
_OCTAL: Final = "01234567"
_SPECIAL: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_LAST_CODE_POINT: Final = 0x10FFFF


class PatternError(KafkaWireError):
    """A text that is not a regular expression."""


class Edge(Enum):
    """A place between two characters."""

    BEGIN = auto()
    END = auto()
    WORD = auto()
    NO_WORD = auto()


class Chars(NamedTuple):
    """One character of a set."""

    mask: int


class Sequence(NamedTuple):
    """Nodes one after the other."""

    nodes: tuple[Node, ...]


class Choice(NamedTuple):
    """One of several nodes."""

    nodes: tuple[Node, ...]


class Repeat(NamedTuple):
    """A node several times; `most` is None if there is no limit."""

    node: Node
    least: int
    most: int | None


Node: TypeAlias = "Chars | Sequence | Choice | Repeat | Edge"


class _Open(NamedTuple):
    """A group that is not closed yet: the state outside of it."""

    choices: list[Node]
    nodes: list[Node]
    folds: bool


def parse(text: str, alphabet: Alphabet = TOPIC_NAMES) -> Node:
    """The tree of a regular expression over names of some characters.

    >>> parse("ab?") == Sequence((Chars(TOPIC_NAMES.mask_of("a")), Repeat(Chars(TOPIC_NAMES.mask_of("b")), 0, 1)))
    True
    """
    if len(text) > LONGEST:
        raise PatternError(f"{len(text)} characters, expected at most {LONGEST}")
    return _Parser(text, alphabet).parse()


class _Parser:
    def __init__(self, text: str, alphabet: Alphabet) -> None:
        self._text = text
        self._alphabet = alphabet
        self._at = 0
        self._folds = False
        self._names: set[str] = set()
        self._open: list[_Open] = []
        self._choices: list[Node] = []
        self._nodes: list[Node] = []

    def parse(self) -> Node:
        repeated_at = -1
        while self._at < len(self._text):
            start = self._at
            was_repeat = False
            match self._text[self._at]:
                case "(":
                    self._begin_group()
                case "|":
                    self._at += 1
                    self._choices.append(Sequence(tuple(self._nodes)))
                    self._nodes = []
                case ")":
                    self._at += 1
                    self._end_group()
                case "*" | "+" | "?" as sign:
                    self._at += 1
                    least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
                    was_repeat = self._repeat(least, most, repeated_at)
                case "{" if (limits := self._limits()) is not None:
                    was_repeat = self._repeat(*limits, repeated_at)
                case _:
                    self._nodes += self._atom()
            repeated_at = start if was_repeat else -1
        if self._open:
            raise PatternError("missing closing )")
        return self._finished()

    def _finished(self) -> Node:
        return Choice((*self._choices, Sequence(tuple(self._nodes)))) if self._choices else Sequence(tuple(self._nodes))

    def _atom(self) -> list[Node]:
        match self._text[self._at]:
            case "^":
                self._at += 1
                return [Edge.BEGIN]
            case "$":
                self._at += 1
                return [Edge.END]
            case ".":
                self._at += 1
                return [Chars(self._alphabet.all & ~self._alphabet.mask_of("\n"))]
            case "[":
                return [Chars(self._class())]
            case "\\":
                return self._backslash()
            case symbol:
                self._at += 1
                return [self._literal(ord(symbol))]

    def _literal(self, point: int) -> Chars:
        return Chars(self._range(point, point))

    def _range(self, low: int, high: int) -> int:
        find = self._alphabet.folded_range if self._folds else self._alphabet.mask_of_range
        return find(low, high)

    def _repeat(self, least: int, most: int | None, repeated_at: int) -> bool:
        if self._text.startswith("?", self._at):
            self._at += 1
        if repeated_at != -1:
            raise PatternError(f"invalid nested repetition operator: {self._text[repeated_at : self._at]}")
        if not self._nodes:
            raise PatternError("missing argument to repetition operator")
        self._nodes[-1] = Repeat(self._nodes[-1], least, most)
        return True

    def _limits(self) -> tuple[int, int | None] | None:
        """The limits of a repetition in braces; None if the brace is a character."""
        end = self._text.find("}", self._at)
        least, comma, most = self._text[self._at + 1 : end].partition(",") if end >= 0 else ("", "", "")
        if not _is_number(least) or not (not comma or not most or _is_number(most)):
            return None
        low = int(least) if len(least) <= 8 else MOST_REPEATED + 1
        high = low if not comma else None if not most else int(most) if len(most) <= 8 else MOST_REPEATED + 1
        if low > MOST_REPEATED or (high is not None and (high > MOST_REPEATED or low > high)):
            raise PatternError(f"invalid repeat count: {self._text[self._at : end + 1]}")
        self._at = end + 1
        return low, high

    def _begin_group(self) -> None:
        outside = self._folds
        if self._text.startswith("(?", self._at):
            if not self._begin_special_group():
                return
        else:
            self._at += 1
        if len(self._open) >= MOST_NESTED:
            raise PatternError(f"groups nested deeper than {MOST_NESTED}")
        self._open.append(_Open(self._choices, self._nodes, outside))
        self._choices, self._nodes = [], []

    def _begin_special_group(self) -> bool:
        """Read a name or flags; whether a group begins."""
        for prefix in ("(?P<", "(?<"):
            if self._text.startswith(prefix, self._at):
                begin = self._at + len(prefix)
                end = self._text.find(">", begin)
                name = self._text[begin:end] if end >= 0 else ""
                if not name or not all(each == "_" or _is_alphanumeric(each) for each in name):
                    raise PatternError("invalid named capture")
                if name in self._names:
                    raise PatternError(f"duplicate capture group name: {name}")
                self._names.add(name)
                self._at = end + 1
                return True
        self._at += 2
        folds, removes, seen = self._folds, False, False
        while self._at < len(self._text):
            flag = self._text[self._at]
            self._at += 1
            if flag in "imsU":
                folds = not removes if flag == "i" else folds
                seen = True
            elif flag == "-" and not removes:
                removes, seen = True, False
            elif flag in ":)" and (seen or not removes):
                self._folds = folds
                return flag == ":"
            else:
                break
        raise PatternError("invalid or unsupported Perl syntax")

    def _end_group(self) -> None:
        if not self._open:
            raise PatternError("unexpected )")
        found = self._finished()
        self._choices, self._nodes, self._folds = self._open.pop()
        self._nodes.append(found)

    def _backslash(self) -> list[Node]:
        letter = self._text[self._at + 1 : self._at + 2]
        edge = {"A": Edge.BEGIN, "z": Edge.END, "b": Edge.WORD, "B": Edge.NO_WORD}.get(letter)
        if edge is not None:
            self._at += 2
            return [edge]
        if letter == "Q":
            end = self._text.find("\\E", self._at + 2)
            quoted = self._text[self._at + 2 : end if end >= 0 else None]
            self._at = end + 2 if end >= 0 else len(self._text)
            return [self._literal(ord(each)) for each in quoted]
        mask = self._class_escape()
        return [Chars(mask)] if mask is not None else [self._literal(self._escape())]

    def _class(self) -> int:
        """The mask of a class in brackets."""
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        mask = 0
        first = True
        while first or not self._text.startswith("]", self._at):
            first = False
            if self._text.startswith("[:", self._at) and (end := self._text.find(":]", self._at)) >= 0:
                mask |= self._named(self._text[self._at + 2 : end])
                self._at = end + 2
                continue
            escaped = self._class_escape() if self._text.startswith("\\", self._at) else None
            if escaped is not None:
                mask |= escaped
                continue
            low = high = self._class_symbol()
            if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
                self._at += 1
                high = self._class_symbol()
                if high < low:
                    raise PatternError("invalid character class range")
            mask |= self._range(low, high)
        self._at += 1
        return self._alphabet.all & ~mask if negated else mask

    def _class_symbol(self) -> int:
        if self._at >= len(self._text):
            raise PatternError("missing closing ]")
        if self._text[self._at] == "\\":
            return self._escape()
        self._at += 1
        return ord(self._text[self._at - 1])

    def _named(self, name: str) -> int:
        bare = name.removeprefix("^")
        if bare not in self._alphabet.posix:
            raise PatternError(f"invalid character class range: [:{name}:]")
        return self._group(self._alphabet.posix[bare], negated=bare != name)

    def _group(self, mask: int, *, negated: bool) -> int:
        mask = self._alphabet.folded(mask) if self._folds else mask
        return self._alphabet.all & ~mask if negated else mask

    def _class_escape(self) -> int | None:
        """The mask of an escape for a class of characters; None if it is another escape."""
        letter = self._text[self._at + 1 : self._at + 2]
        if letter in ("p", "P"):
            return self._property(negated=letter == "P")
        mask = self._alphabet.perl.get(letter.lower()) if letter else None
        if mask is None:
            return None
        self._at += 2
        return self._group(mask, negated=letter.isupper())

    def _property(self, *, negated: bool) -> int:
        start = self._at + 2
        name, end = self._text[start : start + 1], start + 1
        if name == "{":
            end = self._text.find("}", start) + 1
            name = self._text[start + 1 : end - 1] if end else ""
        bare = name.removeprefix("^")
        mask = self._alphabet.mask_of_property(bare)
        if not end or mask is None:
            raise PatternError(f"invalid character class range: {self._text[self._at : max(end, start + 1)]}")
        self._at = end
        return self._group(mask, negated=negated != (bare != name))

    def _escape(self) -> int:
        """The code point of an escape."""
        text, start = self._text, self._at
        letter = text[start + 1 : start + 2]
        if not letter:
            raise PatternError("trailing \\")
        self._at += 2
        if letter in _SPECIAL:
            return _SPECIAL[letter]
        if not _is_alphanumeric(letter):
            return ord(letter)
        if letter in _OCTAL:
            more = text[self._at : self._at + 2]
            taken = len(more) - len(more.lstrip(_OCTAL))
            if letter == "0" or taken:
                self._at += taken
                return int(letter + more[:taken], 8)
        if letter == "x":
            end = text.find("}", self._at) if text.startswith("{", self._at) else self._at + 2
            number = text[self._at : end].removeprefix("{") if end >= 0 else ""
            self._at = end + text.startswith("{", self._at)
            if number and len(number.lstrip("0")) <= 6 and all(each in "0123456789abcdefABCDEF" for each in number):
                point = int(number, 16)
                if (
                    point <= _LAST_CODE_POINT
                    and (self._at <= len(text))
                    and (len(number) == 2 or text[start + 2] == "{")
                ):
                    return point
        raise PatternError(f"invalid escape sequence: {text[start : start + 10]}")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and (len(text) == 1 or text[0] != "0")


def _is_alphanumeric(symbol: str) -> bool:
    return symbol.isascii() and symbol.isalnum()
