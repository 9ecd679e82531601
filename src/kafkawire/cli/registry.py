"""The commands, and the contract that each implements.

Rules:
- A command is a module of `commands` that assigns HELP, a plain string of one line. Its file name is its name.
- It has `configure(parser)` to declare arguments and `run(args) -> int` to do the work, and may have EXAMPLES.
- A command with verbs may have DEFAULT_VERB, which runs if the first argument is neither a verb nor an option.
- A command is imported only if it is chosen. The list reads HELP and EXAMPLES from the source.
- Wrong usage of a command is a UsageError. Other failures are not.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Protocol, TextIO, cast

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_FOLDER = Path(__file__).with_name("commands")
_NEGATIVE: Final = re.compile(r"-(?:\d+[a-z]?|\d*\.\d+)$")
"""A negative number, or a time in the past."""


class UsageError(KafkaWireError):
    """Wrong usage of a command; the exit code is 2, and the usage is printed with the error."""

    usage = ""


class SettingError(UsageError):
    """A setting with a wrong value; the usage, which does not list settings, is not printed."""


class HelpParser(argparse.ArgumentParser):
    """A parser whose help has headings and options in colour where a person reads it.

    A value such as -2h is a time, not an option. Without a verb, the error lists the verbs.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._negative_number_matcher = _NEGATIVE

    def error(self, message: str) -> NoReturn:
        verbs = list(_verbs(self))
        if verbs and message.startswith("the following arguments are required"):
            message = f"expected {', '.join(verbs[:-1])} or {verbs[-1]}"
        super().error(message)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        from kafkawire.cli._support.output import console, uses_rich

        stream = cast("TextIO", file or sys.stderr)
        if not isinstance(stream, io.TextIOBase) or not uses_rich(stream):
            super()._print_message(message, file)
            return
        from rich.text import Text

        text = Text(message)
        text.highlight_regex(r"(?m)^[a-z][\w ]*:", "bold")
        text.highlight_regex(r"(?<![\w-])--?[a-zA-Z][\w-]*", "cyan")
        console(stream).print(text, end="", soft_wrap=True)


class Command(Protocol):
    """The module of a command."""

    HELP: str

    def configure(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, args: argparse.Namespace) -> int: ...


class Summary(NamedTuple):
    """A command in the list of commands."""

    name: str
    help: str
    examples: tuple[str, ...]


def summaries(folder: Path = _FOLDER) -> list[Summary]:
    """Every command, sorted by name."""
    found = (_summary(path) for path in sorted(folder.glob("*.py")))
    return [summary for summary in found if summary is not None]


def load(name: str) -> Command:
    """Import a command. An unknown name raises an error that suggests the closest one."""
    module = name.replace("-", "_")
    if module.isidentifier() and find_spec(f"kafkawire.cli.commands.{module}"):
        command = import_module(f"kafkawire.cli.commands.{module}")
        if hasattr(command, "HELP"):
            return cast("Command", command)
    raise UsageError(f"unknown command {name!r}{_suggestion(name)}")


def parser_for(name: str, command: Command) -> argparse.ArgumentParser:
    """The parser for the arguments of a command."""
    examples = getattr(command, "EXAMPLES", ())
    parser = HelpParser(
        prog=f"kafkawire {name}",
        description=command.HELP,
        epilog=render_examples(examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.configure(parser)
    return parser


def with_verb(command: Command, parser: argparse.ArgumentParser, arguments: list[str]) -> list[str]:
    """The arguments, with the default verb of the command if they name none."""
    default = getattr(command, "DEFAULT_VERB", None)
    if default is None or not arguments or arguments[0].startswith("-"):
        return arguments
    return arguments if arguments[0] in _verbs(parser) else [default, *arguments]


def parse(parser: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    """The values of the arguments; an unknown one is an error with the usage of the verb."""
    parsed, unknown = parser.parse_known_args(arguments)
    if unknown:
        verb = _verbs(parser).get(getattr(parsed, "verb", ""), parser)
        verb.error(f"unrecognized arguments: {' '.join(unknown)}")
    return parsed


def _verbs(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return next(found, {})


def usage_of(parser: argparse.ArgumentParser, args: argparse.Namespace) -> str:
    """The usage of a command, or of the verb of it that was called."""
    return _verbs(parser).get(getattr(args, "verb", ""), parser).format_usage()


def render_examples(examples: tuple[str, ...]) -> str:
    """The examples, as the last part of a help text."""
    return "examples:\n" + "".join(f"  {line}\n" for line in examples) if examples else ""


def _summary(path: Path) -> Summary | None:
    import ast  # imported only for help and errors

    values: dict[str, object] = {}
    for node in ast.parse(path.read_bytes()).body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="HELP" | "EXAMPLES" as name)], value=value)
                | ast.AnnAssign(target=ast.Name(id="HELP" | "EXAMPLES" as name), value=ast.expr() as value)
            ):
                values[name] = ast.literal_eval(value)
    if not isinstance(values.get("HELP"), str):
        return None
    examples = cast("tuple[str, ...]", values.get("EXAMPLES", ()))
    return Summary(path.stem.replace("_", "-"), cast("str", values["HELP"]), examples)


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name.lower(), [summary.name for summary in summaries()], n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else "; `kafkawire --help` lists all commands"
