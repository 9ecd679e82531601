"""The place of the cursor in a command line: which argument of which command is being typed.

Rules:
- The parsers of the commands are the only source. Words before the cursor are assigned to arguments as argparse does.
- Words that no parser would accept do not stop the completion of later ones.
- Options that were given are not offered again, unless they can be repeated.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMENT = re.compile(r"[;.(]")


@dataclass(slots=True)
class Place:
    """The word at the cursor, and the arguments that it may belong to."""

    prefix: str
    """The typed part of the value, without the option of `--option=value`."""
    attached: str = ""
    """The text of the word before the value, such as `--option=`."""
    values: list[argparse.Action] = field(default_factory=list)
    """Arguments whose value may stand here."""
    options: list[tuple[str, str]] = field(default_factory=list)
    """Options that may stand here, with a description."""
    given: dict[str, list[str]] = field(default_factory=dict)
    """The values of earlier words, by destination of their argument."""


def find_place(parser: argparse.ArgumentParser, words: list[str], default_verb: str | None = None) -> Place:
    """The place of the last word. The words follow the name of the command."""
    *before, last = words
    return _Walk(parser, default_verb).run(before, last)


class _Walk:
    def __init__(self, parser: argparse.ArgumentParser, default_verb: str | None) -> None:
        self._default_verb = default_verb
        self._given: dict[str, list[str]] = {}
        self._used: set[int] = set()
        self._only_values = False
        self._enter(parser)

    def _enter(self, parser: argparse.ArgumentParser) -> None:
        self._parser = parser
        self._places = [each for each in parser._actions if not each.option_strings]

    def run(self, before: list[str], last: str) -> Place:
        waiting: argparse.Action | None = None
        for word in before:
            if waiting is not None:
                self._take(waiting, word)
                waiting = None
            else:
                waiting = self._step(word)
        if waiting is not None:
            return Place(last, values=[waiting], given=self._given)
        return self._at(last)

    def _step(self, word: str) -> argparse.Action | None:
        """Assign a word. Return the option whose value the next word is, if there is one."""
        if self._only_values or not word.startswith("-") or word == "-":
            self._take_positional(word)
            return None
        if word == "--":
            self._only_values = True
            return None
        option, _, value = _split_option(self._parser, word)
        if option is None:
            return None
        self._used.add(id(option))
        if value is not None:
            self._take(option, value)
            return None
        return option if option.nargs != 0 else None

    def _take(self, action: argparse.Action, word: str) -> None:
        self._given.setdefault(action.dest, []).append(word)

    def _take_positional(self, word: str) -> None:
        if not self._places:
            return
        action = self._places[0]
        if isinstance(action, argparse._SubParsersAction):
            verbs: dict[str, Any] = action.choices
            verb = word if word in verbs else self._default_verb
            if verb is None:
                return
            self._take(action, verb)
            self._enter(verbs[verb])
            if verb != word:
                self._take_positional(word)
            return
        self._take(action, word)
        taken = len(self._given[action.dest])
        if action.nargs in (None, argparse.OPTIONAL) or action.nargs == taken:
            self._places.pop(0)

    def _at(self, last: str) -> Place:
        if not self._only_values and last.startswith("-"):
            option, attached, value = _split_option(self._parser, last)
            if option is not None and value is not None and (attached.endswith("=") or value):
                return Place(value, attached, [option], given=self._given)
            return Place(last, options=list(self._offered()), given=self._given)
        values = self._places[:1]
        if values and isinstance(values[0], argparse._SubParsersAction) and self._default_verb:
            verb: argparse.ArgumentParser = values[0].choices[self._default_verb]
            values += [each for each in verb._actions if not each.option_strings][:1]
        return Place(last, values=values, given=self._given)

    def _offered(self) -> Iterator[tuple[str, str]]:
        for action in self._parser._actions:
            repeated = isinstance(action, argparse._AppendAction)
            if (
                action.option_strings
                and action.help != argparse.SUPPRESS
                and (repeated or id(action) not in self._used)
            ):
                yield max(action.option_strings, key=len), describe(action)


def describe(action: argparse.Action) -> str:
    """The first words of the help of an argument."""
    return _COMMENT.split((action.help or "").replace("%%", "%"), 1)[0].strip()


def _split_option(parser: argparse.ArgumentParser, word: str) -> tuple[argparse.Action | None, str, str | None]:
    """The option of a word, its text before the value, and the value if the word contains one."""
    known: dict[str, argparse.Action] = parser._option_string_actions
    if word in known:
        return known[word], word, None
    name, equals, value = word.partition("=")
    if equals and name in known:
        return known[name], f"{name}=", value
    if not word.startswith("--") and word[:2] in known and known[word[:2]].nargs != 0:
        return known[word[:2]], word[:2], word[2:]
    return None, "", None
