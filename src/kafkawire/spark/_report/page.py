"""The report of a run: one self-contained HTML file.

Rules:
- The file has no external references: it contains style, script, charts, and the numbers as JSON.
- Findings come first, the worst at the top, each with evidence and advice. The input and the other chapters follow.
- Errors and warnings are marked on the charts over time. A finding has the command that explains its first exchange,
  and leads to its exchanges, which are in a table at the end.
- Text from data is escaped everywhere, so it is never executed.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from datetime import UTC
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from kafkawire import __version__
from kafkawire._look import charts
from kafkawire._look.amounts import moment, show
from kafkawire._look.document import document
from kafkawire._look.elements import element
from kafkawire._look.findings import card_of_finding
from kafkawire._look.series import Bars, OverTime, Ranges
from kafkawire.spark._report.chapters import Chapter, Grid, headings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kafkawire._look.amounts import Unit
    from kafkawire.spark._pipeline.summary import Summary
    from kafkawire.spark._report.chapters import Block

_NUMBERS: Final = ("count", "bytes", "us", "share")
_TITLES: Final = {"segments": "Kafka log files", "captures": "Kafka captures", "topic": "Kafka topics"}
_MARKED: Final = ("error", "warning")
_MANY: Final = 9  # columns, beyond which a table is set in small type
_TILES: Final[tuple[tuple[str, str, Unit], ...]] = (
    ("bytes", "read", "bytes"),
    ("files", "files", "count"),
    ("topics", "topics", "count"),
    ("partitions", "partitions", "count"),
    ("packets", "TCP packets", "count"),
    ("connections", "connections", "count"),
    ("exchanges", "exchanges", "count"),
    ("batches", "batches", "count"),
    ("records", "records", "count"),
    ("groups", "groups", "count"),
)


def page(
    source: Mapping[str, Any],
    summary: Summary,
    findings: Sequence[Mapping[str, Any]] | None,
    chapters: Sequence[Chapter],
    started: float,
) -> str:
    """The report of a run as HTML; `findings` is None if no rules ran."""
    resources = files("kafkawire.spark._report")
    numbers = summary.as_dict()
    title = _TITLES[source["kind"]]
    marks, known = _marks(findings), _exchanges(chapters)
    body = [
        f'<main class="sheet"><h1>{title}</h1><p class="where">{_where(source, summary)}</p>',
        _tiles(numbers),
        *_findings(source, summary, findings, known),
        *(part for chapter in chapters for part in _chapter(chapter, marks)),
        f"<footer>kafkawire {escape(__version__)}, {moment(int(started * 1000))[:-4]} UTC.",
        " The tables of these numbers are in the directory of this file. All times are UTC.</footer></main>",
    ]
    scripts = (
        f'<script type="application/json" id="data">{_data(numbers, findings, chapters)}</script>'
        f"<script>{(resources / 'report.js').read_text('utf-8')}</script>"
    )
    parts = [(name, _anchor(name)) for name in ("Findings", *(chapter.title for chapter in chapters))]
    return document(title, parts, "\n".join(body), (resources / "report.css").read_text("utf-8"), scripts)


def _data(numbers: Mapping[str, Any], findings: object, chapters: Sequence[Chapter]) -> str:
    """All numbers of the page as JSON."""
    blocks = {block.name: asdict(block) for chapter in chapters for block in chapter.blocks}
    text = json.dumps({"summary": numbers, "findings": findings, "blocks": blocks}, default=str, ensure_ascii=False)
    return text.replace("<", "\\u003c")


def _where(source: Mapping[str, Any], summary: Summary) -> str:
    span = ""
    if summary.first_timestamp is not None and summary.last_timestamp is not None:
        span = f"{moment(summary.first_timestamp)} to {moment(summary.last_timestamp)} UTC<br>"
    places = ", ".join(source["topics"] if "topics" in source else source["paths"])
    return span + escape(f"{places} at {source['servers']}" if "servers" in source else places)


def _tiles(numbers: Mapping[str, Any]) -> str:
    tiles = "".join(
        f'<div class="card"><dt>{text}</dt><dd>{show(numbers[name], unit)}</dd></div>'
        for name, text, unit in _TILES
        if numbers.get(name) is not None
    )
    return f'<dl class="tiles">{tiles}</dl>'


def _exchanges(chapters: Sequence[Chapter]) -> set[str]:
    """The exchanges that the page has, as CONN/SEQ."""
    grids = [block for chapter in chapters for block in chapter.blocks if isinstance(block, Grid)]
    return {row[0] for grid in grids if grid.columns[0][1] == "exchange" for row in grid.rows}


def _findings(
    source: Mapping[str, Any],
    summary: Summary,
    findings: Sequence[Mapping[str, Any]] | None,
    known: set[str],
) -> Iterator[str]:
    yield '<section id="findings"><h2>Findings</h2>'
    if findings is None or summary.findings is None:
        yield "<p>No rules ran, because this run did not write their tables.</p></section>"
        return
    if not findings:
        yield "<p>The rules found nothing.</p></section>"
        return
    counts = [
        f"{count} {level}{'s' if count != 1 and level != 'info' else ''}"
        for level, count in summary.findings.items()
        if count
    ]
    hidden = sum(summary.findings.values()) - len(findings)
    more = f" The first of each rule are shown here; the findings table has {hidden} more." if hidden else ""
    yield f"<p>{', '.join(counts)}.{more}</p>"
    if hidden:
        rules = sorted(summary.rules.items(), key=lambda item: -item[1])
        yield f'<div class="card block">{_table(Grid("rules", headings("rule | findings:count"), rules))}</div>'
    for number, finding in enumerate(findings):
        yield _finding(source, number, finding, known)
    yield "</section>"


def _marks(findings: Sequence[Mapping[str, Any]] | None) -> list[charts.Mark]:
    """The errors and warnings that have a time."""
    return [
        charts.Mark(
            round(finding["t0"].replace(tzinfo=finding["t0"].tzinfo or UTC).timestamp() * 1000),
            finding["level"],
            f"{finding['rule']}: {finding['text']}",
            f"finding-{number}",
        )
        for number, finding in enumerate(findings or ())
        if finding["t0"] is not None and finding["level"] in _MARKED
    ]


def _finding(source: Mapping[str, Any], number: int, finding: Mapping[str, Any], known: set[str]) -> str:
    command = _command(source, finding)
    more = [("every byte", element("code", command))] if command else []
    return card_of_finding(finding, {name: _place(name) for name in known}, f"finding-{number}", more)


def _command(source: Mapping[str, Any], finding: Mapping[str, Any]) -> str:
    """The command that explains the first exchange of a finding; empty if it has none."""
    evidence = finding["evidence"] or []
    if "paths" not in source or not evidence:
        return ""
    return f"kafkawire inspect {shlex.join(source['paths'])} --tree {evidence[0]['conn_id']}/{evidence[0]['seq']}"


def _chapter(chapter: Chapter, marks: Sequence[charts.Mark]) -> Iterator[str]:
    yield f'<section id="{_anchor(chapter.title)}"><h2>{escape(chapter.title)}</h2>'
    if chapter.text:
        yield f"<p>{escape(chapter.text)}</p>"
    for block in chapter.blocks:
        heading = f"<h3>{escape(block.title)}</h3>" if block.title else ""
        yield f'<div class="card block">{heading}{_drawn(block, marks)}</div>'
    yield "</section>"


def _drawn(block: Block, marks: Sequence[charts.Mark]) -> str:
    if isinstance(block, OverTime):
        return charts.over_time(block, marks)
    if isinstance(block, Bars):
        return charts.bars(block)
    if isinstance(block, Ranges):
        return charts.ranges(block)
    return _table(block)


def _table(grid: Grid) -> str:
    if not grid.rows:
        return f'<p class="soft">{escape(grid.empty)}</p>'
    kinds = [
        "right" if unit in _NUMBERS else "moment" if unit == "ms" else "code" if unit == "code" else "text"
        for _, unit in grid.columns
    ]
    head = "".join(
        f'<th class="{kind}" scope="col"><button type="button">{escape(name)}</button></th>'
        for (name, _), kind in zip(grid.columns, kinds, strict=True)
    )
    body = "".join(
        f"<tr{_row_id(grid, row)}>"
        + "".join(
            f'<td class="{kind}" data-value="{escape("" if value is None else str(value), quote=True)}">'
            f"{escape(show(value, unit))}</td>"
            for value, (_, unit), kind in zip(row, grid.columns, kinds, strict=True)
        )
        + "</tr>"
        for row in grid.rows
    )
    many = " many" if len(grid.columns) > _MANY else ""
    return f'<table class="plain{many}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _row_id(grid: Grid, row: Sequence[Any]) -> str:
    return f' id="{_place(row[0])}"' if grid.columns[0][1] == "exchange" else ""


def _place(exchange: str) -> str:
    return f"exchange-{exchange.replace('/', '-')}"


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")
