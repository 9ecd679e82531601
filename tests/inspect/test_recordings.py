"""A recording of the proxy has the bytes that real clients sent, that the broker received, and that clients got."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.inspect.recordings import VALUES, record, with_aiokafka, with_confluent, with_kafka_python

from kafkawire.inspect import Thresholds, find_incidents
from kafkawire.inspect._tables.exchange_bodies import read_messages
from kafkawire.inspect._tables.read import read_captures

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inspect.recordings import Client

    from kafkawire.inspect._tables.read import Reading

Request = tuple[str, int, str | None, bytes]
UNHURRIED = Thresholds(slow_ms=60_000)
CLIENTS = [with_aiokafka, with_confluent, with_kafka_python]


def requests_in(reading: Reading) -> Counter[Request]:
    """Every request of a capture: API, version, client id, and its body encoded again."""
    found: Counter[Request] = Counter()
    rows = iter(reading.tables["exchanges"].to_pylist())
    for talk in reading.conversations:
        for index in range(len(talk)):
            row, request = next(rows), read_messages(talk, index).request
            assert request is not None
            found[row["api"], row["version"], row["client_id"], request.encode(row["version"])] += 1
    return found


@pytest.mark.parametrize("client", CLIENTS)
def test_a_recording_holds_what_passed(tmp_path: Path, client: Client) -> None:
    path = tmp_path / "x.pcapng"
    recorded = record(path, client)
    assert recorded.values == VALUES
    reading = read_captures([path], values=True)
    records = reading.tables["records"].to_pylist()
    assert [row["value"] for row in records if row["source"] == "request"] == VALUES
    assert {row["offset"]: row["value"] for row in records if row["source"] == "response"} == dict(enumerate(VALUES))
    assert all(reading.tables["batches"]["crc_ok"].to_pylist())
    states = set(reading.tables["exchanges"]["state"].to_pylist())
    assert states <= {"matched", "unanswered"}
    assert [each.rule for each in find_incidents(reading.tables, UNHURRIED) if each.level != "info"] == []
    received: Counter[Request] = Counter(
        (each.api, each.version, each.client_id, each.message.encode(each.version)) for each in recorded.requests
    )
    sent = requests_in(reading)
    assert received - sent == Counter()
    unanswered = reading.tables["exchanges"]["state"].to_pylist().count("unanswered")
    assert (sent - received).total() <= unanswered
