"""AlterClientQuotas: entities that cannot exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import ask

from kafkawire.messages import AlterClientQuotasRequest
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker._node import Node


@pytest.mark.parametrize(
    "names",
    [("alice", None), (None, "alice"), (None, None), ("a", "a"), (None, "a", None, "b", "c")],
    ids=str,
)
def test_a_type_that_occurs_twice_is_invalid(node: Node, names: tuple[str | None, ...]) -> None:
    kind = AlterClientQuotasRequest
    entity = [kind.EntityData(entity_type="user", entity_name=name) for name in names]
    change = kind.OpData(key="producer_byte_rate", value=1000.0)
    (found,) = ask(node, kind(entries=[kind.EntryData(entity=entity, ops=[change])])).entries
    assert found.error_code == ErrorCode.INVALID_REQUEST
    assert len(node.quotas.stored) == 0
