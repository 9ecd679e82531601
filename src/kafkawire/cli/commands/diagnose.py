"""`kafkawire diagnose`: the incidents in captures and log directories, the worst first."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kafkawire.cli._support import output
from kafkawire.cli._support.captures import (
    add_inputs,
    add_set_option,
    page_source,
    print_summary,
    read_inputs,
    read_thresholds,
    without_collections,
)
from kafkawire.cli._support.pages import show_source
from kafkawire.inspect import LEVELS

if TYPE_CHECKING:
    import argparse

    from kafkawire.inspect import Finding, Reading

HELP = "find incidents in captures and logs: stuck consumers, closed connections, duplicates, damage"
EXAMPLES = (
    "kafkawire diagnose capture.pcap",
    "kafkawire diagnose captures/ --level error --json",
    "kafkawire diagnose capture.pcapng --set slow_ms=200 --set repeats=3",
)
_PROOFS, _MOST_PROOFS = 3, 60
_STYLES: dict[str, output.Style] = {"error": "red", "warning": "yellow", "info": "blue"}


def configure(parser: argparse.ArgumentParser) -> None:
    add_inputs(parser)
    parser.add_argument(
        "--level",
        choices=LEVELS,
        help="print only findings of this level or worse, and exit with status 1 if there is one"
        " (default: print all, and exit with status 1 from warning on)",
    )
    add_set_option(parser)
    output.add_web_option(parser)
    output.add_html_option(parser)
    output.add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from kafkawire.inspect import find_incidents, findings_table

    if args.web:
        return show_source(lambda: page_source(args), "/findings")
    limits = read_thresholds(args.set)
    with without_collections():
        reading = read_inputs(args, transactions=False)  # rules follow the transactions of captures themselves
        found = find_incidents(reading.tables, limits)
    lowest = LEVELS.index(args.level or LEVELS[0])
    findings = [each for each in found if LEVELS.index(each.level) >= lowest]
    if args.html is not None:
        _write_html(args, reading, findings)
    elif args.json:
        output.print_json(findings_table(findings).to_pylist())
    else:
        for finding in findings:
            _print(finding)
        if not findings:
            print("no findings" if lowest == 0 else f"no findings of level {args.level} or worse")
        print_summary(reading)
    serious = LEVELS.index(args.level or "warning")
    return 1 if any(LEVELS.index(finding.level) >= serious for finding in findings) else 0


def _write_html(args: argparse.Namespace, reading: Reading, findings: list[Finding]) -> None:
    """Write the findings and the first frames that prove each."""
    from kafkawire.inspect import explain_exchange
    from kafkawire.web import html_of_findings

    places = dict.fromkeys((each["conn_id"], each["seq"]) for one in findings for each in one.evidence[:_PROOFS])
    frames = [
        (f"{conn}/{seq} {each.kind}", each)
        for conn, seq in list(places)[:_MOST_PROOFS]
        for each in explain_exchange(reading, conn, seq)
    ]
    title = f"{len(findings)} findings in {', '.join(path.name for path in args.inputs)}"
    args.html.write_text(html_of_findings(findings, frames, title, with_values=args.with_values), encoding="utf-8")
    print(f"kafkawire: wrote {args.html}", file=sys.stderr)


def _print(finding: Finding) -> None:
    """Print a finding; its exchanges are named as everywhere, by connection and sequence."""
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
        frames = ", ".join(f"{each['conn_id']}/{each['seq']}" for each in finding.evidence[:8])
        more = f" and {finding.count - 8} more" if finding.count > len(finding.evidence[:8]) == 8 else ""
        shown["evidence"] = f"exchanges {frames}{more} (kafkawire inspect --tree {frames.partition(',')[0]})"
    output.print_fields(shown)


def _time(microseconds: int) -> str:
    return f"{datetime.fromtimestamp(microseconds / 1e6, UTC):%Y-%m-%d %H:%M:%S.%f}"
