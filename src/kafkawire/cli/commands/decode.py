"""`kafkawire decode`: explains every byte of a frame.

Rules:
- The input is hex in any common format, a file (hex or raw), or standard input. Without options it is taken as requests
  or record batches.
- A fault does not stop the output. Everything that could be read is printed, with the fault in its place, and the exit
  code is 1. If another length of one field makes the rest parse, the tree with that length follows.
- With --diff, the fields that differ from another input are printed instead, by their paths. The exit code is 1 if
  there are some, as that of diff.
- A guess is printed on stderr, so that the output is the same with and without the options.
"""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from kafkawire.cli._support import output
from kafkawire.cli._support.numbers import count
from kafkawire.cli._support.pages import show_frames
from kafkawire.cli.registry import UsageError
from kafkawire.inspect import (
    Asked,
    HexError,
    differences,
    explain_as,
    packets_to_pcap,
    raw_or_hex,
    read_hex,
    render_json,
    render_text,
    repair_as,
    versions_that_fit,
    with_holes,
)
from kafkawire.messages import UnknownMessageError, UnsupportedVersionError

if TYPE_CHECKING:
    import argparse

    from kafkawire.inspect import AskedKind, Difference, Explanation, HexInput

HELP = "explain every byte of a frame, a message or a record batch"
EXAMPLES = (
    "kafkawire decode 0000000a 0012 0000 00000007 ffff",
    "kafkawire decode capture.hex --response --api Fetch --version 12",
    "xxd request.bin | kafkawire decode -",
    "kafkawire decode 00000000000000000000.log --records",
    "kafkawire decode before.bin --diff after.bin",
    "kafkawire decode --message ConsumerProtocolSubscription 0001 00000001 0001 61 ffffffff 00000000",
)
_WHICH = "use --response --api NAME --version N"
_CAPTURES: Final = tuple(map(bytes.fromhex, ("0a0d0d0a", "d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d")))
_COMPRESSED: Final = tuple(map(bytes.fromhex, ("1f8b08", "28b52ffd", "fd377a585a00")))
"""How files of gzip, zstd and xz begin."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input", nargs="*", metavar="HEX|FILE|-", help="hex, a file with hex or raw bytes, or - for stdin"
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--request", action="store_true", help="the input is one or more requests")
    kind.add_argument(
        "--response", action="store_true", help="the input is one or more responses of --api and --version"
    )
    kind.add_argument("--message", metavar="NAME", help="the input is a message without frame and header")
    kind.add_argument("--records", action="store_true", help="the input is record batches, as in a log file")
    parser.add_argument("--api", metavar="NAME|KEY", help="the API of a response")
    parser.add_argument(
        "--version",
        type=count,
        metavar="N",
        help="the version of a response or a message; for a request, overrides the version in its header",
    )
    parser.add_argument(
        "--topic", metavar="NAME", help="the topic of --records; keys and values of Kafka's internal topics are decoded"
    )
    parser.add_argument("--diff", metavar="HEX|FILE", help="print only the fields that differ from these bytes")
    output.add_web_option(parser)
    output.add_html_option(parser)
    parser.add_argument("--full", action="store_true", help="do not shorten bytes, values and arrays")
    parser.add_argument(
        "--describe", "--tree", action="store_true", help="also print the description of each field, below it"
    )
    parser.add_argument("--no-color", action="store_true", help="do not use colours")
    parser.add_argument("--json", action="store_true", help="print JSON, one object per frame")


def run(args: argparse.Namespace) -> int:
    _check(args)
    given = _read(args.input)
    data = given.data
    if not data:
        raise UsageError("the input is empty")
    explained = _explain_packets(args, given)
    if explained is None:
        data = _payload(given)
        explained = _explain(args, data)
    if given.holes:
        explained = [_with_holes(each, given.holes, args) for each in explained]
    if args.diff is not None:
        return _print_differences(args, explained)
    if args.web:
        return show_frames(explained, "")
    if args.html is not None:
        return _write_html(args, explained)
    faults = 0
    for number, explanation in enumerate(explained, 1):
        repair = repair_as(explanation, _asked(args))
        if args.json:
            rendered = render_json(explanation)
            if repair is not None:
                rendered["repair"] = {"text": repair.text, "tree": render_json(repair.explanation)["tree"]}
            output.print_json([rendered])
            faults += len(rendered["faults"])
        else:
            _print_text(explanation, number if len(explained) > 1 else 0, args)
            faults += _print_faults(explanation, args)
            if repair is not None:
                print(f"\n{_paint(args, repair.text, 'yellow')}")
                _print_text(repair.explanation, 0, args)
    if args.response and not all(explanation.whole for explanation in explained):
        _suggest_versions(data, _api(args))
    return 1 if faults else 0


def _check(args: argparse.Namespace) -> None:
    if args.response and (args.api is None or args.version is None):
        raise UsageError(f"a response does not contain its API and version; {_WHICH}")
    if args.api is not None and not args.response:
        raise UsageError("--api needs --response, because a request contains its API")
    if args.version is not None and not (args.request or args.response or args.message):
        raise UsageError("--version needs --request, --response or --message")
    if args.topic is not None and not args.records:
        raise UsageError("--topic needs --records")


def _explain_packets(args: argparse.Namespace, given: HexInput) -> list[Explanation] | None:
    """The trees of the frames in the packets of a dump; None if it has none, or if the options name the bytes."""
    pcap = packets_to_pcap(given.packets) if given.packets else None
    if pcap is None or args.request or args.response or args.message or args.records:
        return None
    from kafkawire.inspect import DumpedPackets

    dumped = DumpedPackets(pcap)
    explained = dumped.explain()
    if explained:
        print(f"kafkawire: taken as {dumped.packets} packets with {len(explained)} frames", file=sys.stderr)
    return explained or None


def _payload(given: HexInput) -> bytes:
    """The bytes of the input, without the headers of packets."""
    pcap = packets_to_pcap(given.packets) if given.packets else None
    if pcap is None:
        return given.data
    from kafkawire.inspect import DumpedPackets

    return DumpedPackets(pcap).payload or given.data


def _read(words: list[str]) -> HexInput:
    if words in ([], ["-"]):
        if not words and sys.stdin.isatty():
            raise UsageError("no input: expected hex, a file, or - for standard input")
        return _from_dump(sys.stdin.buffer.read(), "standard input")
    if len(words) == 1 and _is_file(words[0]):
        return _from_dump(Path(words[0]).read_bytes(), words[0])
    try:
        return read_hex(" ".join(words))
    except HexError as error:
        if len(words) == 1 and ("/" in words[0] or "." in words[0]):
            raise UsageError(f"{words[0]} is not a file and not hex: {error}") from error
        raise UsageError(f"{error} (and there is no file with this name)") from error


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except OSError:  # longer than any file name, so it is hex
        return False


def _from_dump(data: bytes, name: str) -> HexInput:
    if data.startswith(_CAPTURES):
        raise UsageError(f"{name}: a capture, expected hex or the bytes of a frame; `kafkawire inspect` reads captures")
    if data.startswith(_COMPRESSED):
        raise UsageError(f"{name}: a compressed file, expected hex or the bytes of a frame")
    try:
        return raw_or_hex(data)
    except HexError as error:
        raise UsageError(f"{name}: {error}") from error


def _write_html(args: argparse.Namespace, explained: list[Explanation]) -> int:
    from kafkawire.web import html_of_frames

    frames = [(f"frame {number}", each) for number, each in enumerate(explained, 1)]
    title = explained[0].title if len(explained) == 1 else f"{len(explained)} frames"
    args.html.write_text(html_of_frames(frames, title, with_values=args.with_values), encoding="utf-8")
    print(f"kafkawire: wrote {args.html}", file=sys.stderr)
    return 1 if any(next(each.space.faults(), None) for each in explained) else 0


def _print_differences(args: argparse.Namespace, before: list[Explanation]) -> int:
    """Print how the frames of `--diff` differ from these, frame by frame."""
    data = _payload(_read([args.diff]))
    after = _explain(args, data)
    if len(before) != len(after):
        raise UsageError(f"--diff: {len(before)} frames here and {len(after)} there, expected as many")
    found = [
        (number, each)
        for number, (one, two) in enumerate(zip(before, after, strict=True), 1)
        for each in differences(one.space, two.space)
    ]
    if args.json:
        output.print_json(_difference_row(number, each) for number, each in found)
        return 1 if found else 0
    for number, each in found:
        row = _difference_row(number, each)
        frame = f"frame {number}: " if len(before) > 1 else ""
        print(_paint(args, f"{frame}{each.path or 'all'}", "bold"))
        if each.before is not None:
            print(_paint(args, f"  - {row['before_offset']}  {row['before']}", "red"))
        if each.after is not None:
            print(_paint(args, f"  + {row['after_offset']}  {row['after']}", "green"))
    if not found:
        print("no differences")
    return 1 if found else 0


def _difference_row(number: int, each: Difference) -> dict[str, object]:
    row: dict[str, object] = {"frame": number, "kind": each.kind, "path": each.path}
    for name, side in (("before", each.before), ("after", each.after)):
        if side is not None:
            row |= {f"{name}_offset": side.node.offset, name: side.text}
    return row


def _asked(args: argparse.Namespace) -> Asked:
    """The reading that the options ask for."""
    kinds = ("request", "response", "message", "records")
    kind = next((each for each in kinds if getattr(args, each)), "")
    return Asked(cast("AskedKind", kind), args.api or "", args.version, args.message or "", args.topic)


def _explain(args: argparse.Namespace, data: bytes) -> list[Explanation]:
    try:
        explained = explain_as(data, _asked(args))
    except (UnknownMessageError, UnsupportedVersionError) as error:
        raise UsageError(str(error)) from error
    if explained.note:
        help_ = f"; {_WHICH}, or --request, --message NAME, --records" if explained.unknown else ""
        print(f"kafkawire: {explained.note}{help_}", file=sys.stderr)
    return explained.trees


def _with_holes(explanation: Explanation, holes: tuple[tuple[int, int], ...], args: argparse.Namespace) -> Explanation:
    shown, note = with_holes(explanation, holes, version=args.version)
    if note:
        print(f"kafkawire: {note}", file=sys.stderr)
    return shown


def _api(args: argparse.Namespace) -> int | str:
    name: str = args.api
    return int(name) if name.isdecimal() else name


def _suggest_versions(data: bytes, which: int | str) -> None:
    fitting = versions_that_fit(data, which)
    if fitting:
        listed = ", ".join(map(str, fitting))
        print(f"kafkawire: decodes without a fault as version {listed}", file=sys.stderr)


def _print_text(explanation: Explanation, number: int, args: argparse.Namespace) -> None:
    root = explanation.space.root
    title = f"{explanation.title}, {root.length} bytes"
    if number:
        title = f"frame {number} at offset {root.offset}: {title}"
    if number > 1:
        print()
    print(_paint(args, title, "bold"))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    drawn = render_text(explanation, full=args.full, describe=args.describe, width=width, paint=partial(_paint, args))
    for line in drawn:
        print(line)


def _print_faults(explanation: Explanation, args: argparse.Namespace) -> int:
    count = 0
    for visit in explanation.space.faults():
        count += 1
        print(_paint(args, f"fault in {visit.path}: {visit.node.fault}", "red"))
    return count


def _paint(args: argparse.Namespace, text: str, style: output.Style) -> str:
    return text if args.no_color else output.coloured(text, style)
