"""`kafkawire errors`: the meaning of error codes, and whether a retry helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.cli._support import output
from kafkawire.cli.registry import UsageError
from kafkawire.messages.errors import ErrorCode, ErrorLookupError, UnknownServerError, error, error_for

if TYPE_CHECKING:
    import argparse

HELP = "explain Kafka's error codes, and whether a retry helps"
EXAMPLES = (
    "kafkawire errors 3",
    "kafkawire errors NOT_LEADER_OR_FOLLOWER",
    "kafkawire errors rebalance",
    "kafkawire errors --json",
)
_KEYS = ("code", "name", "retriable", "refresh_metadata", "exception", "meaning")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "wanted", nargs="*", metavar="CODE|NAME|TEXT", help="code or name of an error, or words to search for"
    )
    output.add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    wanted = " ".join(args.wanted)
    if not wanted:
        return _print_table(list(ErrorCode), as_json=args.json)
    several = [_found(word) for word in args.wanted]
    if len(several) > 1 and all(each is not None for each in several):
        for number, each in enumerate(several):
            assert each is not None
            if number and not args.json:
                print()
            _print_one(each, as_json=args.json)
        return 0
    try:
        return _print_one(error(wanted), as_json=args.json)
    except ErrorLookupError as refusal:
        mentioned = [code for code in ErrorCode if _mentions(code, wanted.casefold().split())]
        if not mentioned:
            raise UsageError(str(refusal)) from refusal
    if len(mentioned) == 1:
        return _print_one(mentioned[0], as_json=args.json)
    return _print_table(mentioned, as_json=args.json)


def _found(word: str) -> ErrorCode | None:
    try:
        return error(word)
    except ErrorLookupError:
        return None


def _mentions(code: ErrorCode, words: list[str]) -> bool:
    text = f"{code.name} {code.exception} {code.meaning}".casefold()
    return all(word in text for word in words)


def _print_table(codes: list[ErrorCode], *, as_json: bool) -> int:
    if as_json:
        output.print_json(_as_object(code) for code in codes)
        return 0
    rows = ((code.code, code.name, _retry(code), code.meaning) for code in codes)
    output.print_rows(("code", "name", "retry", "meaning"), rows)
    return 0


def _print_one(code: ErrorCode, *, as_json: bool) -> int:
    if as_json:
        output.print_json([_as_object(code)])
        return 0
    fields = {"meaning": code.meaning, "retry": _advice(code)}
    if code != ErrorCode.NONE:
        raised = error_for(code)
        kinds = [cls.__name__ for cls in type(raised).__mro__]
        fields["python"] = " < ".join(kinds[: kinds.index("ApiError")])
        if not isinstance(raised, UnknownServerError) or code == ErrorCode.UNKNOWN_SERVER_ERROR:
            fields["java"] = code.exception
    print(output.coloured(f"{code.name} ({code.code})", "bold"))
    output.print_fields(fields)
    return 0


def _as_object(code: ErrorCode) -> dict[str, object]:
    return {key: getattr(code, key) for key in _KEYS}


def _retry(code: ErrorCode) -> str:
    if not code.retriable:
        return "no"
    return "refresh" if code.refresh_metadata else "yes"


def _advice(code: ErrorCode) -> str:
    if code == ErrorCode.NONE:
        return "not needed"
    if not code.retriable:
        return "no, the same request will fail again"
    return (
        "yes, after a refresh of the metadata" if code.refresh_metadata else "yes, the same request may succeed later"
    )
