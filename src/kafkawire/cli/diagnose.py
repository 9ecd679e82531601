"""`kafkawire diagnose`: the incidents that captures show, the worst first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kafkawire.cli import output
from kafkawire.cli.captures import add_inputs, print_summary, read_inputs
from kafkawire.cli.rule_thresholds import add_set_option, read_thresholds
from kafkawire.inspect.diagnose import LEVELS, Finding, diagnose, findings_table
from kafkawire.inspect.selection import exchange_numbers

if TYPE_CHECKING:
    import argparse

HELP = "what went wrong, in captures and logs: stuck consumers, closed connections, duplicates, damage"
EXAMPLES = (
    "kafkawire diagnose capture.pcap",
    "kafkawire diagnose captures/ --level error --json",
    "kafkawire diagnose capture.pcapng --set slow_ms=200 --set repeats=3",
)
_STYLES: dict[str, output.Style] = {"error": "red", "warning": "yellow", "info": "blue"}


def configure(parser: argparse.ArgumentParser) -> None:
    add_inputs(parser)
    parser.add_argument("--level", choices=LEVELS, default="warning", help="exit with 1 from this level on")
    add_set_option(parser)
    output.add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    limits = read_thresholds(args.set)
    reading = read_inputs(args)
    findings = diagnose(reading.tables, limits)
    if args.json:
        output.print_json(findings_table(findings).to_pylist())
    else:
        places = (_place(each) for finding in findings for each in finding.evidence)
        numbers = exchange_numbers(reading.tables["exchanges"], places)
        for finding in findings:
            _print(finding, numbers)
        if not findings:
            print("nothing found")
        print_summary(reading)
    serious = LEVELS.index(args.level)
    return 1 if any(LEVELS.index(finding.level) >= serious for finding in findings) else 0


def _print(finding: Finding, numbers: dict[tuple[int, int], int]) -> None:
    """Print a finding, with the numbers that `kafkawire inspect` gives to its exchanges."""
    head = f"{finding.level}  {finding.rule}"
    doubt = "" if finding.certainty == "proven" else "  (suspected)"
    print(output.coloured(head, _STYLES[finding.level]) + doubt)
    shown: dict[str, object] = {"what": finding.text, "advice": finding.advice}
    if finding.connection is not None:
        client = f", client {finding.client_id}" if finding.client_id else ""
        shown["where"] = f"connection {finding.conn_id}, {finding.connection}{client}"
    if finding.t0 is not None and finding.t0 >= 0:
        shown["when"] = f"{_time(finding.t0)} to {_time(finding.t1 or finding.t0)} UTC"
    if finding.evidence:
        frames = ", ".join(str(numbers[_place(each)]) for each in finding.evidence[:8])
        more = f" and {finding.count - 8} more" if finding.count > len(finding.evidence[:8]) == 8 else ""
        shown["evidence"] = f"exchanges {frames}{more} (kafkawire inspect --tree N)"
    output.print_fields(shown)


def _place(exchange: dict[str, int]) -> tuple[int, int]:
    return exchange["conn_id"], exchange["seq"]


def _time(microseconds: int) -> str:
    return f"{datetime.fromtimestamp(microseconds / 1e6, UTC):%Y-%m-%d %H:%M:%S.%f}"
