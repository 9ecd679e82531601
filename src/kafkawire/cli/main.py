"""The command line's front door: chooses a command, and turns what goes wrong into one line and an exit code.

Rules:
- Exit codes: 0 done, 1 failed or found faults, 2 called wrongly, 130 interrupted, 141 the reader of the output left.
- A refusal is one line on stderr; a traceback means a fault of ours.
- Nothing is imported that the chosen command does not need.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from typing import TYPE_CHECKING

from kafkawire import __version__
from kafkawire.cli.commands import UsageError, load, parser_for, render_examples, summaries
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import Sequence

_KCAT = {"-P": "produce", "-C": "consume", "-G": "consume -G", "-L": "topics describe", "-Q": "topics offsets"}
DONE, FAILED, USAGE, INTERRUPTED, READER_LEFT = 0, 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; the result is the exit code."""
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
        return _complain(str(error), USAGE)
    except KafkaWireError as error:
        return _complain(str(error), FAILED)
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
    return command.run(parser_for(arguments[0], command).parse_args(arguments[1:]))


def _front_page(arguments: list[str]) -> int:
    listed = summaries() if "--version" not in arguments else []
    widest = max((len(summary.name) for summary in listed), default=0)
    lines = "".join(f"  {summary.name:{widest}}  {summary.help}\n" for summary in listed)
    examples = render_examples(tuple(example for summary in listed for example in summary.examples[:1]))
    parser = argparse.ArgumentParser(
        prog="kafkawire",
        usage="kafkawire COMMAND [ARGUMENTS]",
        description="Kafka's wire protocol: read it, explain it, and turn it into tables.",
        epilog=f"commands:\n{lines}\n{examples}\n`kafkawire COMMAND --help` says more of one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="the version, and whether the native modules are in use")
    if parser.parse_args(arguments).version:
        from kafkawire import implementation

        print(f"kafkawire {__version__} ({implementation.describe()}), Python {sys.version.split()[0]}")
        return DONE
    parser.print_help(sys.stderr)
    return USAGE


def _complain(message: str, code: int) -> int:
    sys.stdout.flush()
    print(f"kafkawire: {' '.join(message.split())}", file=sys.stderr)
    return code


def _abandon_output() -> None:
    # The interpreter flushes stdout once more on its way out; into a closed pipe that would print a traceback.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    finally:
        os.close(nowhere)
