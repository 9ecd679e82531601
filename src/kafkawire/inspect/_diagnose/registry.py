"""The registry of diagnosis rules, and how they run.

Rules:
- A rule is a pure function of one subject and the thresholds; it yields findings. `over` names the type of the subject.
- `@rule` declares the id of the findings, their worst level, one line for the documentation, and the thresholds that
  the function compares with. A function that reports several ids has one decorator per id.
- A rule in a module of `rules` is built in: being there is enough. `kafkawire diagnose`, `find_incidents`, Spark's
  diagnosis and the pipeline run from this registry, and the tables of docs/inspect.md are generated from it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect._diagnose.aggregates import BatchAggregates, LogFiles, LogTransactions, TopicAggregates
from kafkawire.inspect._diagnose.evidence import Evidence, log_files, log_transactions
from kafkawire.inspect._diagnose.findings import Finding, merged
from kafkawire.inspect._diagnose.levels import LEVELS, Level
from kafkawire.inspect._diagnose.thresholds import Thresholds

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

RuleFunction = Callable[[Any, Thresholds], Iterable[Finding]]
SUBJECTS: Final[Mapping[type, str]] = {
    Evidence: "captures",
    LogFiles: "log directories and segments",
    LogTransactions: "transactions in logs",
    BatchAggregates: "batches of segments and topics, in a pipeline",
    TopicAggregates: "topics, in a pipeline",
}
_PACKAGE: Final = "kafkawire.inspect._diagnose.rules"


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
