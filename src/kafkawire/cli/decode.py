"""`kafkawire decode`: what every byte of a frame is.

Rules:
- The input is hex in any dress, a file (hex or raw), or standard input; without flags, requests or record batches.
- A fault does not stop the printing: what could be read is printed, the fault stands at its place, the exit code is 1.
- What was guessed is said on stderr, so that the output is the same with and without the flags.
"""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kafkawire.cli import output
from kafkawire.cli.commands import UsageError
from kafkawire.inspect.explain import explain_message, explain_records
from kafkawire.inspect.guess import (
    UnknownBytesError,
    explain_anything,
    explain_requests,
    explain_responses,
    versions_that_fit,
)
from kafkawire.inspect.render.json import render_json
from kafkawire.inspect.render.text import render_text
from kafkawire.inspect.sources.hex import HexError, parse_hex, raw_or_hex
from kafkawire.messages import UnknownMessageError, UnsupportedVersionError, message_names

if TYPE_CHECKING:
    import argparse

    from kafkawire.inspect.explain import Explanation

HELP = "what every byte of a frame, a message or a record batch is"
EXAMPLES = (
    "kafkawire decode 0000000a 0012 0000 00000007 ffff",
    "kafkawire decode capture.hex --response --api Fetch --version 12",
    "xxd request.bin | kafkawire decode -",
    "kafkawire decode 00000000000000000000.log --records",
    "kafkawire decode --message ConsumerProtocolSubscription 0001 00000001 0001 61 ffffffff 00000000",
)
_WHICH = "say which: --response --api NAME --version N"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", nargs="*", metavar="HEX|FILE|-", help="hex, a file of hex or bytes, or - for stdin")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--request", action="store_true", help="the input is requests")
    kind.add_argument("--response", action="store_true", help="the input is responses, of --api and --version")
    kind.add_argument("--message", metavar="NAME", help="the input is a message without frame and header")
    kind.add_argument("--records", action="store_true", help="the input is record batches, as in a log file")
    parser.add_argument("--api", metavar="NAME|KEY", help="the API of a response")
    parser.add_argument(
        "--version",
        type=int,
        metavar="N",
        help="the version of a response or a message; of a request, to read it as another",
    )
    parser.add_argument("--topic", metavar="NAME", help="the topic of --records, to open Kafka's own")
    parser.add_argument("--full", action="store_true", help="cut neither bytes nor values nor arrays")
    parser.add_argument("--no-color", action="store_true", help="no colours on a terminal either")
    parser.add_argument("--json", action="store_true", help="print JSON, one object a frame")


def run(args: argparse.Namespace) -> int:
    _check(args)
    data = _read(args.input)
    if not data:
        raise UsageError("the input is empty")
    explained = _explain(args, data)
    faults = 0
    for number, explanation in enumerate(explained, 1):
        if args.json:
            rendered = render_json(explanation)
            output.print_json([rendered])
            faults += len(rendered["faults"])
        else:
            _print_text(explanation, number if len(explained) > 1 else 0, args)
            faults += _print_faults(explanation, args)
    if args.response and not all(explanation.whole for explanation in explained):
        _suggest_versions(data, _api(args))
    return 1 if faults else 0


def _check(args: argparse.Namespace) -> None:
    if args.response and (args.api is None or args.version is None):
        raise UsageError(f"a response does not say what it answers; {_WHICH}")
    if args.api is not None and not args.response:
        raise UsageError("--api goes with --response; a request says its API itself")
    if args.version is not None and not (args.request or args.response or args.message):
        raise UsageError("--version goes with --request, --response or --message")
    if args.topic is not None and not args.records:
        raise UsageError("--topic goes with --records")


def _read(words: list[str]) -> bytes:
    if words in ([], ["-"]):
        if not words and sys.stdin.isatty():
            raise UsageError("no input: give hex, a file, or - for standard input")
        return _from_dump(sys.stdin.buffer.read(), "standard input")
    if len(words) == 1 and _is_file(words[0]):
        return _from_dump(Path(words[0]).read_bytes(), words[0])
    try:
        return parse_hex(" ".join(words))
    except HexError as error:
        if len(words) == 1 and ("/" in words[0] or "." in words[0]):
            raise UsageError(f"there is no file {words[0]}, and it is no hex: {error}") from error
        raise UsageError(f"{error} (and no file of that name)") from error


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except OSError:  # longer than any file name: hex
        return False


def _from_dump(data: bytes, name: str) -> bytes:
    try:
        return raw_or_hex(data)
    except HexError as error:
        raise UsageError(f"{name}: {error}") from error


def _explain(args: argparse.Namespace, data: bytes) -> list[Explanation]:
    try:
        if args.response:
            return explain_responses(data, _api(args), args.version)
        if args.message:
            return [explain_message(data, _exact(args.message), args.version)]
    except (UnknownMessageError, UnsupportedVersionError) as error:
        raise UsageError(str(error)) from error
    if args.records:
        return [explain_records(data, topic=args.topic)]
    if args.request:
        return explain_requests(data, args.version)
    try:
        explained = explain_anything(data)
    except UnknownBytesError as error:
        raise UsageError(f"{error}; {_WHICH}, or --request, --message NAME, --records") from error
    what = "record batches" if explained[0].kind == "records" else "a request"
    if len(explained) > 1:
        what = f"{len(explained)} requests"
    print(f"kafkawire: taken as {what}", file=sys.stderr)
    return explained


def _api(args: argparse.Namespace) -> int | str:
    name: str = args.api
    return int(name) if name.isdecimal() else name


def _suggest_versions(data: bytes, which: int | str) -> None:
    fitting = versions_that_fit(data, which)
    if fitting:
        listed = ", ".join(map(str, fitting))
        print(f"kafkawire: without a fault as version {listed}", file=sys.stderr)


def _exact(name: str) -> str:
    return {each.lower(): each for each in message_names()}.get(name.lower(), name)


def _print_text(explanation: Explanation, number: int, args: argparse.Namespace) -> None:
    root = explanation.space.root
    title = f"{explanation.title}, {root.length} bytes"
    if number:
        title = f"frame {number} at offset {root.offset}: {title}"
    if number > 1:
        print()
    print(_paint(args, title, "bold"))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in render_text(explanation, full=args.full, width=width, paint=partial(_paint, args)):
        print(line)


def _print_faults(explanation: Explanation, args: argparse.Namespace) -> int:
    count = 0
    for visit in explanation.space.faults():
        count += 1
        print(_paint(args, f"fault in {visit.path}: {visit.node.fault}", "red"))
    return count


def _paint(args: argparse.Namespace, text: str, style: output.Style) -> str:
    return text if args.no_color else output.coloured(text, style)
