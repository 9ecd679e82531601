"""What a command is, and which there are.

Rules:
- A command is a module of this package that assigns HELP, one line, as a plain string; its file name is its name.
- It has `configure(parser)` to declare arguments and `run(args) -> int` to do the work, and may have EXAMPLES.
- A command is imported only when it is chosen: listing reads HELP and EXAMPLES out of the file.
- A mistake in how a command was called is a UsageError; anything else that goes wrong is not.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from kafkawire.exceptions import KafkaWireError

_FOLDER = Path(__file__).parent


class UsageError(KafkaWireError):
    """The command line does not make sense; the exit code is 2."""


class Command(Protocol):
    """The module of a command."""

    HELP: str

    def configure(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, args: argparse.Namespace) -> int: ...


class Summary(NamedTuple):
    """A command as the list shows it."""

    name: str
    help: str
    examples: tuple[str, ...]


def summaries(folder: Path = _FOLDER) -> list[Summary]:
    """Every command that is there, by name."""
    found = (_summary(path) for path in sorted(folder.glob("*.py")))
    return [summary for summary in found if summary is not None]


def load(name: str) -> Command:
    """The command of that name, imported; a name that no command has is refused with the nearest."""
    module = name.replace("-", "_")
    if module.isidentifier() and find_spec(f"kafkawire.cli.{module}"):
        command = import_module(f"kafkawire.cli.{module}")
        if hasattr(command, "HELP"):
            return cast("Command", command)
    raise UsageError(f"there is no command {name!r}{_suggestion(name)}")


def parser_for(name: str, command: Command) -> argparse.ArgumentParser:
    """The parser of a command's own arguments."""
    examples = getattr(command, "EXAMPLES", ())
    parser = argparse.ArgumentParser(
        prog=f"kafkawire {name}",
        description=command.HELP,
        epilog=render_examples(examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.configure(parser)
    return parser


def render_examples(examples: tuple[str, ...]) -> str:
    """The examples as the end of a help text."""
    return "examples:\n" + "".join(f"  {line}\n" for line in examples) if examples else ""


def _summary(path: Path) -> Summary | None:
    import ast  # only help and mistakes pay for it

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
    return f"; did you mean {close[0]!r}?" if close else "; `kafkawire --help` lists them"
