"""Claims of transactional ids: which connections initialise a producer with the same id, and in which order.

Rules:
- A claim is an InitProducerId that the broker accepts. It fences the producer that claimed the id before.
- A takeover is a claim after one of another address, or after one of another connection that was open at the same time.
  A client that reconnects, restarts on its host, or initialises itself again takes nothing over.
- One takeover is a failover, and so is a chain of new addresses. Several takeovers, back and forth, are a war: two
  producers use one id at the same time.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kafkawire.inspect._transactions.traffic import INIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    Row = dict[str, Any]


def fencing_wars(exchanges: Iterable[Row], least: int) -> dict[str, list[Row]]:
    """The claims of each transactional id that was taken over back and forth, at least this often."""
    claims: dict[str, list[Row]] = {}
    for row in exchanges:
        if row["api_key"] == INIT and row["transactional_id"] is not None and row["error_code"] == 0:
            claims.setdefault(row["transactional_id"], []).append(row)
    return {
        name: own
        for name, own in claims.items()
        if (count := takeovers(own)) >= least and len({_address(row) for row in own}) <= count
    }


def takeovers(claims: list[Row]) -> int:
    """How often another producer takes over an id."""
    return sum(_takes_over(before, after) for before, after in pairwise(claims))


def _takes_over(before: Row, after: Row) -> bool:
    if before["conn_id"] == after["conn_id"]:
        return False
    if _address(before) != _address(after):
        return True
    opened = after["connection"]["t_syn"] or after["connection"]["t_first"]
    return opened is not None and before["ts_req"] is not None and opened < before["ts_req"]


def _address(row: Row) -> str:
    return str(row["connection"]["client"]).rpartition(":")[0]
