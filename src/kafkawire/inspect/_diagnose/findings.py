"""Findings: the incidents that rules report.

Rules:
- A finding names its rule, its level, its certainty, the client, the exchanges that prove it, and what to do.
- Findings of one rule about one entity of one connection have one cause, and become one finding.
- A gap in the capture within the time of a finding makes the finding suspected. So does a connection without its
  beginning, for rules that need it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Final, Literal

from kafkawire.inspect._diagnose.evidence import when
from kafkawire.inspect._tables.rows import Rows
from kafkawire.inspect._tables.schemas import FINDINGS
from kafkawire.messages.errors import error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

    from kafkawire.inspect._diagnose.evidence import Evidence, Row
    from kafkawire.inspect._diagnose.levels import Level

SHOWN: Final = 20
# Advice of rules over captures and of rules over logs.
LINGER: Final = "Raise linger.ms and batch.size."
COMPRESS: Final = "Set compression.type (lz4 or zstd)."


@dataclass(slots=True)
class Finding:
    """One incident."""

    rule: str
    level: Level
    text: str
    advice: str
    conn_id: int | None = None
    connection: str | None = None
    client_id: str | None = None
    entity: str | None = None
    t0: int | None = None
    t1: int | None = None
    count: int = 1
    certainty: Literal["proven", "suspected"] = "proven"
    evidence: list[dict[str, int]] = field(default_factory=list)

    def capped(self, evidence: Evidence, *, needs_start: bool = False) -> Finding:
        """The finding, with the certainty that the capture allows."""
        involved = {each["conn_id"] for each in self.evidence} | ({self.conn_id} if self.conn_id is not None else set())
        if any(evidence.is_broken(number, self.t0, self.t1) for number in involved):
            self.certainty = "suspected"
        if needs_start and any(map(evidence.is_late, involved)):
            self.certainty = "suspected"
        return self

    def row(self) -> Row:
        """The finding as a row of its table."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Findings in their order; those of one rule, level, certainty, connection and entity are one, with all evidence.

    >>> [each.text for each in merged([Finding("r", "info", "first", "", entity="t")] * 3)]
    ['first (and 2 more of the same kind)']
    """
    alike: dict[tuple[object, ...], list[Finding]] = {}
    for each in findings:
        key = (each.rule, each.level, each.certainty, each.conn_id, each.client_id, each.entity, each.advice)
        alike.setdefault(key, []).append(each)
    return [own[0] if len(own) == 1 else _joined(own) for own in alike.values()]


def _joined(own: list[Finding]) -> Finding:
    begins = [each.t0 for each in own if each.t0 is not None]
    ends = [each.t1 for each in own if each.t1 is not None]
    evidence = [place for each in own for place in each.evidence]
    return replace(
        own[0],
        text=f"{own[0].text} (and {len(own) - 1} more of the same kind)",
        t0=min(begins, default=None),
        t1=max(ends, default=None),
        count=sum(each.count for each in own),
        evidence=list({(place["conn_id"], place["seq"]): place for place in evidence}.values())[:SHOWN],
    )


def about(rule: str, level: Level, exchanges: Sequence[Row], text: str, advice: str, **more: object) -> Finding:
    """A finding that exchanges prove. The first of them gives the connection and the client.

    `more` sets other fields of the finding, such as `entity` and `count`.
    """
    first = exchanges[0]
    connection = first["connection"]
    ends = [row["ts_resp"] or when(row) for row in exchanges]
    finding = Finding(
        rule=rule,
        level=level,
        text=text,
        advice=advice,
        conn_id=first["conn_id"],
        connection=f"{connection['client']} > {connection['server']}",
        client_id=first["client_id"],
        t0=when(first),
        t1=max(ends),
        count=len(exchanges),
        evidence=[{"conn_id": row["conn_id"], "seq": row["seq"]} for row in exchanges[:SHOWN]],
    )
    for name, value in more.items():
        setattr(finding, name, value)
    return finding


def about_connection(rule: str, level: Level, connection: Row, text: str, advice: str, **more: object) -> Finding:
    """A finding about a connection as a whole."""
    finding = Finding(
        rule=rule,
        level=level,
        text=text,
        advice=advice,
        conn_id=connection["conn_id"],
        connection=f"{connection['client']} > {connection['server']}",
        t0=connection["t_first"],
        t1=connection["t_close"] or connection["t_last"],
    )
    for name, value in more.items():
        setattr(finding, name, value)
    return finding


def names_of(codes: Sequence[int]) -> str:
    """The names of error codes, each once."""
    return ", ".join(f"{error(code).name} ({code})" for code in sorted(set(codes)))


def findings_table(findings: Sequence[Finding]) -> pa.Table:
    """Findings as their Arrow table."""
    rows = Rows(FINDINGS)
    for finding in findings:
        rows.add(finding.row())
    return rows.table()
