"""FindCoordinator over the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.node_requests import ask

from kafkawire.broker._net.listeners import Endpoint
from kafkawire.messages import FindCoordinatorRequest, api
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker._node import Node

VERSIONS = list(api("FindCoordinator").versions)


def find(version: int, *, key: str = "g", kind: int = 0) -> FindCoordinatorRequest:
    if version < 4:
        return FindCoordinatorRequest(key=key, key_type=kind)
    return FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_finds_this_broker(node: Node, version: int) -> None:
    node.endpoints["PLAINTEXT"] = Endpoint("broker.example", 9092)
    answer = ask(node, find(version), version)
    found = answer if version < 4 else answer.coordinators[0]
    assert (found.error_code, found.node_id) == (ErrorCode.NONE, node.id)
    assert (found.host, found.port) == ("broker.example", 9092)


@pytest.mark.parametrize("version", [4, 5, 6])
def test_many_keys_are_asked_for_at_once(node: Node, version: int) -> None:
    request = FindCoordinatorRequest(coordinator_keys=["a", "b", ""])
    answer = ask(node, request, version)
    assert [(each.key, each.error_code) for each in answer.coordinators] == [("a", 0), ("b", 0), ("", 0)]


@pytest.mark.parametrize("version", VERSIONS[1:])
@pytest.mark.parametrize("kind", [2, 3, -1])
def test_a_type_that_is_not_served_is_an_invalid_request(node: Node, version: int, kind: int) -> None:
    answer = ask(node, find(version, kind=kind), version)
    found = answer if version < 4 else answer.coordinators[0]
    assert (found.error_code, found.node_id) == (ErrorCode.INVALID_REQUEST, -1)
    assert "key type" in found.error_message


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_asking_for_a_transactional_id_makes_the_log_of_transactions(node: Node, version: int) -> None:
    answer = ask(node, find(version, kind=1), version)
    found = answer if version < 4 else answer.coordinators[0]
    assert (found.error_code, found.node_id) == (ErrorCode.NONE, node.id)
    topic = node.topics.get("__transaction_state")
    assert (topic.partitions, topic.configs["cleanup.policy"]) == (50, "compact")
    assert topic.configs["compression.type"] == "uncompressed"
