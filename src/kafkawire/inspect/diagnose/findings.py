"""What a rule reports.

Rules:
- A finding names its rule, how bad it is, how sure it is, whom it concerns, the exchanges that show it, and what to do.
- Whatever a rule says, a gap in the capture within the finding's window makes it suspected. So does a connection whose
  beginning the capture lacks, for the rules that conclude from what was not sent before.
- Levels, from the least: info (worth knowing), warning (costs something), error (something fails).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final, Literal

from kafkawire.inspect.diagnose.evidence import when
from kafkawire.messages.errors import error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.inspect.diagnose.evidence import Evidence, Row

Level = Literal["info", "warning", "error"]
LEVELS: Final[tuple[Level, ...]] = ("info", "warning", "error")
_SHOWN: Final = 20
_FROM_THE_START: Final = ("closed-not-kafka", "stuck-not-fetching")


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

    def capped(self, evidence: Evidence) -> Finding:
        """The finding, as sure as the capture allows."""
        involved = {each["conn_id"] for each in self.evidence} | ({self.conn_id} if self.conn_id is not None else set())
        if any(evidence.is_broken(number, self.t0, self.t1) for number in involved):
            self.certainty = "suspected"
        if self.rule in _FROM_THE_START and any(map(evidence.is_late, involved)):
            self.certainty = "suspected"
        return self

    def row(self) -> Row:
        """The finding as a row of its table."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def about(rule: str, level: Level, exchanges: Sequence[Row], text: str, advice: str, **more: object) -> Finding:
    """A finding that exchanges show: the first of them says the connection and the client."""
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
        evidence=[{"conn_id": row["conn_id"], "seq": row["seq"]} for row in exchanges[:_SHOWN]],
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
    """Error codes in words, each once."""
    return ", ".join(f"{error(code).name} ({code})" for code in sorted(set(codes)))
