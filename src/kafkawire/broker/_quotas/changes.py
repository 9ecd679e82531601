"""Changes of quotas: in the journal first, in force afterwards."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker._quotas.stored import record_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.broker._node import Node
    from kafkawire.broker._quotas.stored import Entity
    from kafkawire.log import BackgroundWork

    Change = tuple[Entity, str, float | None]


def alteration(node: Node, changes: Sequence[Change]) -> BackgroundWork[None]:
    """Set values, or remove them (None); values that are set already are not written again."""
    stored = node.quotas.stored
    effective = [
        (entity, key, value) for entity, key, value in changes if stored.values.get(entity, {}).get(key) != value
    ]
    if not effective:
        return
    yield partial(node.journal.write, [record_of(*each) for each in effective])
    for entity, key, value in effective:
        stored.set(entity, key, value)
    node.quotas.changed()
    log_event("quotas changed", count=len(effective), total=len(stored))
