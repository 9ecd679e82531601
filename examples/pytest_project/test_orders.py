"""Test an application against a real broker: `pytest examples/pytest_project`.

Installing kafkawire is all it takes: the fixtures `kafka_broker` and `kafka_topic` come with it. Each test has a broker
of its own, in memory, which starts in milliseconds.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from orders import place_order

if TYPE_CHECKING:
    from kafkawire.testing import RunningBroker


def test_an_order_is_stored_under_its_customer(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    place_order(kafka_broker.bootstrap_servers, kafka_topic, "ada", 3)
    (record,) = kafka_broker.records(kafka_topic)
    assert record.key == b"ada"
    assert json.loads(record.value or b"") == {"customer": "ada", "amount": 3}


def test_an_order_survives_a_change_of_leader(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    kafka_broker.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
    assert place_order(kafka_broker.bootstrap_servers, kafka_topic, "ada", 3) == 0
    assert [request.api for request in kafka_broker.requests].count("Produce") == 3
