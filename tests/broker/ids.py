"""Producer ids of a node without a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkawire.broker._node import Node


def take_id(node: Node) -> int:
    """The next producer id; its block is written to the journal first."""
    node.changes.run_now(node.changes.producer_id_block())
    return node.producer_ids.take()
