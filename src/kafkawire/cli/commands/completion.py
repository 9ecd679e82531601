"""`kafkawire completion`: completion scripts for shells, and the values that they offer.

Rules:
- `words` is for the scripts. Its last word is the one being typed, and may be empty.
- With --line the values lack the part of the word that Readline keeps: up to its last `=` or `:`.
- Values of a cluster that does not answer are an error with exit code 1, and the scripts offer nothing.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from kafkawire.cli._support.completion.values import Values

HELP = "print the completion script of bash, zsh or fish"
EXAMPLES = (
    "source <(kafkawire completion bash)   # in ~/.bashrc",
    "source <(kafkawire completion zsh)    # in ~/.zshrc, after compinit",
    "kafkawire completion fish | source    # in ~/.config/fish/config.fish",
)
_SHELLS = ("bash", "zsh", "fish")
_KEPT = re.compile(r".*[=:]", re.DOTALL)


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name in _SHELLS:
        words = f"print the completion script of {name}"
        verbs.add_parser(name, help=words, description=words)
    words = "print the values that complete the last word of a command line; for the scripts"
    verb = verbs.add_parser("words", help=words, description=words)
    which = verb.add_mutually_exclusive_group()
    which.add_argument("--line", metavar="TEXT", help="the line up to the cursor, instead of words")
    which.add_argument("words", nargs="*", default=[], metavar="WORD", help="the words after `kafkawire`")


def run(args: argparse.Namespace) -> int:
    if args.verb != "words":
        from kafkawire.cli._support.completion.scripts import SCRIPTS

        print(SCRIPTS[args.verb], end="")
        return 0
    words = _split(args.line)[1:] if args.line is not None else args.words
    if not words:
        return 0
    kept = _KEPT.match(words[-1]) if args.line is not None else None
    values, files = _complete(words)
    for value, description in values:
        print(f"{value[kept.end() if kept else 0 :]}\t{description}")
    if files:
        print("@files")
    return 0


def _complete(words: list[str]) -> tuple[Values, bool]:
    from kafkawire.cli._support.completion.place import find_place
    from kafkawire.cli._support.completion.values import find_values
    from kafkawire.cli.registry import UsageError, load, parser_for, summaries

    name, *rest = words
    if not rest:
        listed = [(each.name, each.help) for each in summaries()]
        general = [("--help", "list the commands"), ("--version", "print the version")]
        return [each for each in (listed if not name.startswith("-") else general) if each[0].startswith(name)], False
    try:
        command = load(name)
    except UsageError:
        return [], False
    place = find_place(parser_for(name, command), rest, getattr(command, "DEFAULT_VERB", None))
    return find_values(place, name)


def _split(line: str) -> list[str]:
    """The words of a line that may end within quotes.

    >>> _split("kafkawire consume 'my to"), _split("kafkawire topics ")
    (['kafkawire', 'consume', 'my to'], ['kafkawire', 'topics', ''])
    """
    for closing in ("", "'", '"', "\\"):
        try:
            # A letter at the end keeps an empty word; it is removed again.
            words = shlex.split(f"{line}x{closing}" if closing != "\\" else f"{line[:-1]}x")
        except ValueError:
            continue
        return [*words[:-1], words[-1].removesuffix("x")]
    return []
