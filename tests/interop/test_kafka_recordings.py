"""Traffic between real clients and Apache Kafka is read to the last byte, without a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.inspect.recordings import VALUES, record_from, with_aiokafka, with_confluent, with_kafka_python

from kafkawire.inspect import find_incidents, read_captures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.inspect.recordings import Client
    from tests.interop.apache_kafka import ApacheKafka

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]


@pytest.fixture
def address(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with kafka.broker(tmp_path_factory.mktemp("theirs")) as address:
        yield address


@pytest.mark.parametrize("client", [with_aiokafka, with_confluent, with_kafka_python])
def test_every_exchange_is_decoded(address: str, tmp_path_factory: pytest.TempPathFactory, client: Client) -> None:
    path = tmp_path_factory.mktemp("recordings") / "x.pcapng"
    assert record_from(path, client, address) == VALUES
    reading = read_captures([path], values=True)
    exchanges = reading.tables["exchanges"].to_pylist()
    assert [row["fault"] for row in exchanges if row["fault"]] == []
    assert {row["state"] for row in exchanges} <= {"matched", "unanswered"}
    assert reading.tables["gaps"].num_rows == 0
    records = reading.tables["records"].to_pylist()
    assert {row["offset"]: row["value"] for row in records if row["source"] == "response"} == dict(enumerate(VALUES))
    errors = {each.rule for each in find_incidents(reading.tables) if each.level == "error"}
    assert errors <= {"unknown-topic"}  # a topic that was just created is not known to a busy broker for a moment
