"""A diagnosis rule: its declaration, the findings that it yields, and how rules run.

Rules:
- A rule is a pure function of one subject and the thresholds; it yields findings. `over` names the type of the subject.
- `@rule` declares the id of the findings, their worst level, one line for the documentation, and the thresholds that
  the function compares with. A function that reports several ids has one decorator per id.
- Every rule in a module of `rules` is built in; no list names them. `kafkawire diagnose`, `find_incidents`, Spark's
  diagnosis and the pipeline run these rules, and the tables of docs/inspect.md are generated from them.
- A finding names its rule, its level, its certainty, the client, the exchanges that prove it, and what to do.
- Findings of one rule about one entity of one connection have one cause, and become one finding.
- A gap in the capture within the time of a finding makes the finding suspected. So does a connection without its
  beginning, for rules that need it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal

from kafkawire.inspect._diagnose.aggregates import BatchAggregates, LogFiles, LogTransactions, TopicAggregates
from kafkawire.inspect._diagnose.evidence import Evidence, log_files, log_transactions, when
from kafkawire.inspect._diagnose.levels import LEVELS, Level
from kafkawire.inspect._diagnose.thresholds import Thresholds
from kafkawire.inspect._tables.rows import Rows
from kafkawire.inspect._tables.schemas import FINDINGS
from kafkawire.messages.errors import error

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from kafkawire.inspect._diagnose.evidence import Row

SUBJECTS: Final[Mapping[type, str]] = {
    Evidence: "captures",
    LogFiles: "log directories and segments",
    LogTransactions: "transactions in logs",
    BatchAggregates: "batches of segments and topics, in a pipeline",
    TopicAggregates: "topics, in a pipeline",
}
_PACKAGE: Final = "kafkawire.inspect._diagnose.rules"
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


RuleFunction = Callable[[Any, Thresholds], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Declaration:
    """An id that a rule reports: its worst level, its line in the documentation, and its thresholds.

    With `needs_start`, a finding is only suspected if the capture lacks the beginning of a connection.
    """

    id: str
    level: Level
    text: str
    thresholds: tuple[str, ...] = ()
    needs_start: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. Calling it with a subject and thresholds yields its findings."""

    function: RuleFunction
    over: type
    declares: tuple[Declaration, ...]

    def __call__(self, subject: Any, thresholds: Thresholds) -> Iterable[Finding]:
        return self.function(subject, thresholds)


def rule(
    name: str,
    level: Level,
    text: str,
    *,
    over: type = Evidence,
    thresholds: Sequence[str] = (),
    needs_start: bool = False,
) -> Callable[[RuleFunction | Rule], Rule]:
    """Make a rule of a function that takes a subject and thresholds and yields findings.

    >>> @rule("anonymous-client", "warning", "a client sends requests without a client id")
    ... def anonymous_clients(evidence, thresholds):
    ...     return []
    >>> anonymous_clients.declares[0].id
    'anonymous-client'

    Pass it to `find_incidents` as one of `rules`.
    """
    if over not in SUBJECTS:
        raise TypeError(
            f"rule {name!r} is over {over!r}, expected one of {', '.join(each.__name__ for each in SUBJECTS)}"
        )
    known = {each.name for each in fields(Thresholds)}
    if unknown := [each for each in thresholds if each not in known]:
        raise ValueError(f"rule {name!r} names threshold {unknown[0]!r}, expected one of {', '.join(sorted(known))}")
    declared = Declaration(name, level, text, tuple(thresholds), needs_start)

    def decorate(function: RuleFunction | Rule) -> Rule:
        if not isinstance(function, Rule):
            return Rule(function, over, (declared,))
        if function.over is not over:
            raise TypeError(f"rule {name!r} is over {over.__name__}, its function over {function.over.__name__}")
        return Rule(function.function, over, (declared, *function.declares))

    return decorate


@cache
def built_in_rules() -> tuple[Rule, ...]:
    """Every rule in the modules of `rules`, by module, then in the order of definition."""
    names = sorted(each.name for each in pkgutil.iter_modules(import_module(_PACKAGE).__path__))
    modules = [import_module(f"{_PACKAGE}.{name}") for name in names]
    return tuple(found for module in modules for found in vars(module).values() if isinstance(found, Rule))


def apply_rules(subject: object, thresholds: Thresholds, rules: Iterable[Rule] | None = None) -> list[Finding]:
    """The findings of the rules over a subject. Without `rules`, the built-in ones run."""
    chosen = built_in_rules() if rules is None else rules
    return [finding for each in chosen if each.over is type(subject) for finding in each(subject, thresholds)]


def find_incidents(
    tables: Mapping[str, pa.Table], thresholds: Thresholds | None = None, *, rules: Iterable[Rule] = ()
) -> list[Finding]:
    """Every finding about captures and log directories, the worst first, then by time.

    `tables` are those of `read_captures`, of `read_directories`, or of both. `rules` run beside the built-in ones.

    >>> from kafkawire.inspect import read_captures
    >>> find_incidents(read_captures([]).tables)
    []
    """
    limits, chosen = thresholds or Thresholds(), [*built_in_rules(), *rules]
    found: list[Finding] = []
    if "exchanges" in tables:
        evidence = Evidence(tables)
        whole = {declared.id for each in chosen for declared in each.declares if declared.needs_start}
        found += [
            finding.capped(evidence, needs_start=finding.rule in whole)
            for finding in apply_rules(evidence, limits, chosen)
        ]
    if "segment_files" in tables:
        found += apply_rules(log_files(tables), limits, chosen)
        if "transactions" in tables:
            found += apply_rules(log_transactions(tables), limits, chosen)
    return sorted(merged(found), key=lambda finding: (-LEVELS.index(finding.level), finding.t0 or 0))


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


def findings_table(findings: Sequence[Finding]) -> pa.Table:
    """Findings as their Arrow table."""
    rows = Rows(FINDINGS)
    for finding in findings:
        rows.add(finding.row())
    return rows.table()
