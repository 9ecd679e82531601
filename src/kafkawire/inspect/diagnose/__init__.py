"""Diagnosis: from the tables of a run to findings.

Rules are pure functions of evidence and thresholds; `diagnose` runs them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.inspect.diagnose.connections import closed_connections
from kafkawire.inspect.diagnose.consumers import offset_resets, stuck
from kafkawire.inspect.diagnose.duplicates import retries_and_duplicates
from kafkawire.inspect.diagnose.evidence import Evidence
from kafkawire.inspect.diagnose.findings import LEVELS, Finding, Level
from kafkawire.inspect.diagnose.groups import rebalance_storms
from kafkawire.inspect.diagnose.logs import damaged_logs, wrong_indexes
from kafkawire.inspect.diagnose.members import not_fetching
from kafkawire.inspect.diagnose.producers import durability, fenced, oversized_records, sequence_gaps
from kafkawire.inspect.diagnose.service import (
    corruption,
    inefficiency,
    leader_churn,
    old_clients,
    session_churn,
    slow_apis,
    throttling,
)
from kafkawire.inspect.diagnose.thresholds import Thresholds
from kafkawire.inspect.diagnose.topics import unknown_topics
from kafkawire.inspect.rows import Rows
from kafkawire.inspect.tables import FINDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    Rule = Callable[[Evidence, Thresholds], Iterator[Finding]]

__all__ = ["LEVELS", "RULES", "Evidence", "Finding", "Level", "Thresholds", "diagnose", "findings_table"]

RULES: Final[tuple[Rule, ...]] = (
    stuck,
    not_fetching,
    offset_resets,
    unknown_topics,
    closed_connections,
    retries_and_duplicates,
    sequence_gaps,
    fenced,
    oversized_records,
    durability,
    rebalance_storms,
    throttling,
    slow_apis,
    old_clients,
    leader_churn,
    corruption,
    session_churn,
    inefficiency,
    damaged_logs,
    wrong_indexes,
)


def diagnose(tables: Mapping[str, pa.Table], thresholds: Thresholds | None = None) -> list[Finding]:
    """Every finding about a run, the worst first, then by time.

    >>> from kafkawire.inspect.capture import read_captures
    >>> diagnose(read_captures([]).tables)
    []
    """
    evidence, limits = Evidence(tables), thresholds or Thresholds()
    found = [finding.capped(evidence) for rule in RULES for finding in rule(evidence, limits)]
    return sorted(found, key=lambda finding: (-LEVELS.index(finding.level), finding.t0 or 0))


def findings_table(findings: Sequence[Finding]) -> pa.Table:
    """Findings as their table."""
    rows = Rows(FINDINGS)
    for finding in findings:
        rows.add(finding.row())
    return rows.table()
