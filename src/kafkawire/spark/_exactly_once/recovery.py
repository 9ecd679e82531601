"""Decisions that a driver left open when it died, and their completion without Spark.

A stream repairs itself when it is restarted. A batch write that is not run again stays half visible until its open
decision is completed here, or until its transactions time out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkawire.spark._exactly_once.cluster_sink import complete_on_cluster
from kafkawire.spark._exactly_once.decision_log import read_decisions
from kafkawire.spark._exactly_once.options import DECISIONS, TIMEOUT_MS, SinkOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.spark._exactly_once.decision import Decision


class OpenDecision(NamedTuple):
    """A batch that was decided and not committed completely; the name is the transactional id of its driver."""

    name: str
    batch: int
    transactions: int


def open_decisions(client: Mapping[str, str], topic: str | None = None) -> list[OpenDecision]:
    """Every open decision of a topic; a running driver may be about to complete some of them."""
    last: dict[str, Decision | None] = dict(read_decisions(client, topic or DECISIONS))
    return [
        OpenDecision(name, decision.batch, len(decision.parts))
        for name, decision in sorted(last.items())
        if decision is not None and not decision.is_complete
    ]


def recover_sink(client: Mapping[str, str], found: OpenDecision, topic: str | None = None) -> None:
    """Commit what remains of a decision; a driver that still runs is fenced."""
    prefix, _, sink = found.name.partition(".")
    options = SinkOptions(tuple(sorted(client.items())), sink, 0, prefix, topic or DECISIONS, TIMEOUT_MS)
    complete_on_cluster(options, sink)
