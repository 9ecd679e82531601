"""The command line: runs one command, and turns errors into one line and an exit code.

Rules:
- Exit codes: 0 success, 1 failure or faults found, 2 wrong usage, 130 interrupted, 141 the reader of the output left.
- An error is one line on stderr, after the usage of the verb if the usage is wrong. The error for a missing extra has
  the command that installs it. A traceback is a bug.
- Only the modules of the chosen command are imported.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from typing import TYPE_CHECKING

from kafkawire import __version__
from kafkawire._extras import missing_extra
from kafkawire.cli.registry import (
    HelpParser,
    SettingError,
    UsageError,
    load,
    parse,
    parser_for,
    render_examples,
    summaries,
    usage_of,
    with_verb,
)
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import Sequence

_KCAT = {"-P": "produce", "-C": "consume", "-G": "consume -G", "-L": "topics describe", "-Q": "topics offsets"}
DONE, FAILED, USAGE, INTERRUPTED, READER_LEFT = 0, 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return the exit code."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _dispatch(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_output()
        return READER_LEFT
    except UsageError as error:
        return _complain(str(error), USAGE, error.usage)
    except KafkaWireError as error:
        return _complain(str(error), FAILED)
    except ModuleNotFoundError as error:
        missing = missing_extra(error, "this command")
        if missing is None:
            raise
        return _complain(str(missing), FAILED)
    except OSError as error:
        reason = error.strerror or str(error)
        return _complain(f"{error.filename}: {reason}" if error.filename is not None else reason, FAILED)
    return code


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    if not arguments or arguments[0].startswith("-"):
        for mode in _KCAT.keys() & set(arguments):
            raise UsageError(f"kcat's {mode} is `kafkawire {_KCAT[mode]}`")
        return _front_page(arguments)
    command = load(arguments[0])
    parser = parser_for(arguments[0], command)
    parsed = parse(parser, with_verb(command, parser, arguments[1:]))
    try:
        return command.run(parsed)
    except SettingError:
        raise
    except UsageError as error:
        error.usage = usage_of(parser, parsed)
        raise


def _front_page(arguments: list[str]) -> int:
    listed = summaries() if "--version" not in arguments else []
    widest = max((len(summary.name) for summary in listed), default=0)
    lines = "".join(f"  {summary.name:{widest}}  {summary.help}\n" for summary in listed)
    examples = render_examples(tuple(example for summary in listed for example in summary.examples[:1]))
    parser = HelpParser(
        prog="kafkawire",
        usage="kafkawire COMMAND [ARGUMENTS]",
        description="A Kafka broker, a client, an inspector and a Spark pipeline.",
        epilog=f"commands:\n{lines}\n{examples}\n`kafkawire COMMAND --help` describes a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="store_true", help="print the version, and whether the native modules are used"
    )
    if parser.parse_args(arguments).version:
        from kafkawire import _native as implementation

        print(f"kafkawire {__version__} ({implementation.describe()}), Python {sys.version.split()[0]}")
        return DONE
    parser.print_help(sys.stderr)
    return USAGE


def _complain(message: str, code: int, usage: str = "") -> int:
    try:
        sys.stdout.flush()
    except OSError:  # the reader of the output left, or its disk is full: the message below is not about that
        _abandon_output()
    print(f"{usage}kafkawire: {' '.join(message.split())}", file=sys.stderr)
    return code


def _open_closed_streams() -> None:
    # With a closed standard stream, the next file or socket would get its number, and the output of the command.
    for number, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115 - it stays open


def _abandon_output() -> None:
    # The interpreter flushes stdout at exit; with a closed pipe that would print a traceback.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    finally:
        os.close(nowhere)
