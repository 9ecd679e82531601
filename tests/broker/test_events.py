"""The event log: a line for people, an object for machines."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from tests.broker.node_requests import ask, batch
from tests.broker.raw_connection import Peer
from tests.broker.test_connection import produce

from kafkawire.broker._ops.event_log import log_event
from kafkawire.messages import MetadataRequest
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from kafkawire.broker._node import Node


def events(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [record.__dict__["fields"] for record in caplog.records if "fields" in record.__dict__]


def test_words_with_spaces_are_quoted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_event("member dropped", group="a b", member="c", reason="")
    assert caplog.messages == ['member dropped group="a b" member=c reason=""']
    assert events(caplog) == [{"event": "member dropped", "group": "a b", "member": "c", "reason": ""}]


def test_no_name_makes_a_line_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_event("member joined", group="a\nbroker\u2028stopped", member="\x1b[2J", topic="bücher")
    assert caplog.messages == [r'member joined group="a\nbroker\u2028stopped" member="\u001b[2J" topic=bücher']


def test_changes_of_topics_are_logged(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    topic = node.create_topic("fresh", 2, {"retention.ms": "7"})
    node.add_partitions(topic, 3)
    node.configure_topic(topic, {"retention.ms": None})
    node.delete_topic(topic)
    told = events(caplog)
    assert [each["event"] for each in told] == [
        "topic created",
        "partitions added",
        "topic configured",
        "topic deleted",
    ]
    assert {each["topic"] for each in told} == {"fresh"}
    assert (told[0]["partitions"], told[0]["settings"]) == (2, "retention.ms=7")
    assert (told[1]["partitions"], told[2]["settings"]) == (3, "retention.ms=default")


def test_a_password_is_not_logged(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    node.configure_broker("", {"ssl.keystore.password": "s3cret", "no.such.name": "s3cret", "num.partitions": "3"})
    node.configure_broker("", {"ssl.keystore.password": None})
    assert [each["settings"] for each in events(caplog)] == [
        "ssl.keystore.password=hidden no.such.name=hidden num.partitions=3",
        "ssl.keystore.password=default",
    ]
    assert "s3cret" not in caplog.text


def test_a_torn_log_is_logged_at_the_start(
    node: Node, open_node: Callable[..., Node], caplog: pytest.LogCaptureFixture
) -> None:
    node.append("orders", 0, batch(b"a"))
    active = node.log("orders", 0).segments.active
    active.file.write(active.size, [b"torn"])
    open_node()
    (cut,) = [each for each in events(caplog) if each["event"] == "log cut"]
    assert (cut["partition"], cut["bytes"], cut["end"]) == ("orders-0", 4, 1)


def test_requests_are_logged_only_on_request(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for level, expected in ((logging.INFO, False), (logging.DEBUG, True)):
        caplog.set_level(level)
        caplog.clear()
        with RunningBroker(tmp_path) as broker, Peer(broker) as peer:
            peer.call(MetadataRequest(topics=[]), 5)
        told = {each["event"]: each for each in events(caplog)}
        assert {"broker started", "broker stopped"} <= set(told)
        assert ("request" in told, "connection opened" in told) == (expected, expected)
    assert (told["request"]["api"], told["request"]["version"], told["request"]["client_id"]) == ("Metadata", 5, "peer")


def test_a_refused_record_is_not_an_event(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    ask(node, produce("nothing", batch(b"a")), 9)
    assert not caplog.records


def test_a_client_writes_no_line_by_its_id(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    def fail(topic: str, index: int) -> None:
        raise ZeroDivisionError

    node.guard = fail
    ask(node, produce("orders", batch(b"a")), 9, client_id="a\nbroker stopped")
    assert caplog.messages == [r"Produce v9 from 'a\nbroker stopped' failed"]
