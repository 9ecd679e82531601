"""Regular expressions over names, matched in linear time.

Rules:
- A tree becomes a program of MOST_INSTRUCTIONS at most. A name is matched against all paths of the program at once. For
  every expression the time is at most the length of the name times the size of the program.
- Sets of places in the program that were met before are remembered, up to MOST_REMEMBERED, with where each character
  leads. Most names are then matched by one lookup per character.
- A match runs in steps (`matching`), one per set that was not remembered, because a large program has slow steps.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from kafkawire.broker.groups.consumer.patterns.alphabet import TOPIC_NAMES, Alphabet
from kafkawire.broker.groups.consumer.patterns.parser import Chars, Choice, Edge, PatternError, Repeat, Sequence, parse
from kafkawire.broker.groups.steps import finish
from kafkawire.messages.errors import InvalidRegularExpressionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.broker.groups.consumer.patterns.parser import Node
    from kafkawire.broker.groups.steps import Steps

MOST_INSTRUCTIONS: Final = 5_000
MOST_NODES: Final = 20_000
"""Parts with repetitions written out; a repeated empty part has no instructions."""
MOST_REMEMBERED: Final = 2_000
_MATCH: Final = 0
_OUTSIDE, _WORD, _NO_WORD = 0, 1, 2


class _Take(NamedTuple):
    """Take one character of a set."""

    mask: int
    then: int


class _Fork(NamedTuple):
    """Go on at all of these."""

    ways: tuple[int, ...]


class _Check(NamedTuple):
    """Go on if the place is an edge of this kind."""

    edge: Edge
    then: int


class _Place(NamedTuple):
    """Places in the program before a character, and the kind of the character before it."""

    places: frozenset[int]
    before: int


_Instruction: TypeAlias = "_Take | _Fork | _Check | None"


class Pattern:
    """A compiled regular expression."""

    def __init__(self, tree: Node, alphabet: Alphabet = TOPIC_NAMES) -> None:
        self._alphabet = alphabet
        self._program: list[_Instruction] = [None]
        self._nodes_left = MOST_NODES
        self._start = _Place(frozenset((self._compile(tree, _MATCH),)), _OUTSIDE)
        self._known: dict[_Place, dict[str, _Place]] = {}

    def matches(self, name: str) -> bool:
        """Whether the whole name matches."""
        return finish(self.matching(name))

    def matching(self, name: str) -> Steps[bool]:
        """The steps of `matches`. The name has characters of the alphabet only."""
        place = self._start
        for symbol in name:
            if not place.places:
                return False
            ways = self._known.get(place)
            if ways is None:
                if len(self._known) >= MOST_REMEMBERED:
                    self._known.clear()
                ways = self._known[place] = {}
            after = ways.get(symbol)
            if after is None:
                after = ways[symbol] = self._step(place, symbol)
                yield
            place = after
        return _MATCH in self._reach(place.places, place.before, _OUTSIDE)

    def _step(self, place: _Place, symbol: str) -> _Place:
        bit = 1 << self._alphabet.places[symbol]
        kind = _WORD if bit & self._alphabet.word else _NO_WORD
        reached = (self._program[each] for each in self._reach(place.places, place.before, kind))
        taken = frozenset(each.then for each in reached if isinstance(each, _Take) and each.mask & bit)
        return _Place(taken, kind)

    def _reach(self, places: Iterable[int], before: int, after: int) -> set[int]:
        """Everything that is reached from some places without a character."""
        waiting, reached = list(places), set(places)
        while waiting:
            instruction = self._program[waiting.pop()]
            if isinstance(instruction, _Fork):
                ways = instruction.ways
            elif isinstance(instruction, _Check) and _holds(instruction.edge, before, after):
                ways = (instruction.then,)
            else:
                continue
            for way in ways:
                if way not in reached:
                    reached.add(way)
                    waiting.append(way)
        return reached

    def _compile(self, node: Node, then: int) -> int:
        """Add the instructions of a node that goes on at `then`; returns where it begins."""
        self._nodes_left -= 1
        if self._nodes_left < 0:
            raise PatternError(f"expression too large: more than {MOST_NODES} parts")
        match node:
            case Chars(mask):
                return self._add(_Take(mask, then))
            case Edge():
                return self._add(_Check(node, then))
            case Sequence(nodes):
                for each in reversed(nodes):
                    then = self._compile(each, then)
                return then
            case Choice(nodes):
                return self._add(_Fork(tuple([self._compile(each, then) for each in nodes])))
            case Repeat(each, least, most):
                return self._compile_repeat(each, least, most, then)

    def _compile_repeat(self, node: Node, least: int, most: int | None, then: int) -> int:
        if most is None:
            loop = self._add(None)
            self._program[loop] = _Fork((self._compile(node, loop), then))
            then = loop
        else:
            end = then
            for _ in range(most - least):
                then = self._add(_Fork((self._compile(node, then), end)))
        for _ in range(least):
            then = self._compile(node, then)
        return then

    def _add(self, instruction: _Instruction) -> int:
        if len(self._program) >= MOST_INSTRUCTIONS:
            raise PatternError(f"expression too large: more than {MOST_INSTRUCTIONS} instructions")
        self._program.append(instruction)
        return len(self._program) - 1


def _holds(edge: Edge, before: int, after: int) -> bool:
    match edge:
        case Edge.BEGIN:
            return before == _OUTSIDE
        case Edge.END:
            return after == _OUTSIDE
        case Edge.WORD:
            return (before == _WORD) != (after == _WORD)
        case Edge.NO_WORD:
            return (before == _WORD) == (after == _WORD)


@lru_cache(maxsize=64)
def compile_pattern(regex: str) -> Pattern:
    """A compiled regular expression; INVALID_REGULAR_EXPRESSION if it is not one.

    >>> pattern = compile_pattern("orders-[0-9]+|(?i)logs.*")
    >>> [name for name in ("orders-1", "orders-", "LOGS", "my-orders-1") if pattern.matches(name)]
    ['orders-1', 'LOGS']
    """
    try:
        return Pattern(parse(regex))
    except PatternError as error:
        raise InvalidRegularExpressionError(
            f"SubscribedTopicRegex `{regex[:200]}` is not a valid regular expression: {error}."
        ) from error


def compile_for(regex: str, alphabet: Alphabet) -> Pattern:
    """A regular expression over names of some characters; INVALID_REGULAR_EXPRESSION if it is not one.

    >>> compile_for("é+|[^a]", Alphabet("éa ")).matches("éé")
    True
    """
    try:
        return Pattern(parse(regex, alphabet), alphabet)
    except PatternError as error:
        raise InvalidRegularExpressionError(f"{regex[:200]!r}: {error}") from error
