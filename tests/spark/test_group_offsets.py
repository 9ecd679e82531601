"""The committed offsets of groups, read without joining."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.filled_broker import FilledBroker

from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client.blocking import Admin, Consumer
from kafkawire.spark._pipeline.group_offsets import read_group_offsets

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def broker() -> Iterator[FilledBroker]:
    with FilledBroker() as broker:
        for topic in ("t", "other"):
            broker.create_topic(topic, 2)
            broker.fill(topic, 10)
        yield broker


def test_groups_count_that_committed_or_read_the_partitions(broker: FilledBroker) -> None:
    servers = broker.bootstrap_servers
    with Admin(bootstrap_servers=servers) as admin:
        admin.alter_group_offsets("gone", {FIRST: 4, TopicPartition("other", 0): 2})
        admin.alter_group_offsets("elsewhere", {TopicPartition("other", 0): 2})
    with Consumer(
        "t", group_id="here", bootstrap_servers=servers, client_id="me", enable_auto_commit=False
    ) as consumer:
        while consumer.assignment() != {FIRST, SECOND}:
            consumer.getmany(timeout_ms=50)
        found = read_group_offsets(
            {"bootstrap.servers": servers, "fetch.max.wait.ms": "50"}, {FIRST: (0, 10), SECOND: (0, 0)}
        )
    assert found.problem is None
    assert found.groups == 2
    assert [(row.group, row.state, row.partition, row.committed, row.lag, row.client) for row in found.rows] == [
        ("gone", "Empty", 0, 4, 6, None),
        ("here", "Stable", 0, None, None, "me"),
        ("here", "Stable", 1, None, None, "me"),
    ]


def test_a_cluster_that_does_not_answer_is_reported_without_a_failure() -> None:
    found = read_group_offsets({"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "50"}, {FIRST: (0, 1)})
    assert (found.rows, found.groups) == ((), 0)
    assert "127.0.0.1:1" in str(found.problem)
