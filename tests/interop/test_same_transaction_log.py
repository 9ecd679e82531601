"""The records that a coordinator writes to `__transaction_state` are those of Apache Kafka: number, order and form.

DumpLogSegments decodes the logs of both brokers, while they run. Its output must be equal, except for values that a
broker chooses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.interop.apache_kafka import PREVIOUS
from tests.interop.dialogue import Talk, compare
from tests.interop.questions_of_features import TRANSACTIONS, UNSAFE_DOWNGRADE, UPGRADE, update
from tests.interop.test_left_behind import payloads
from tests.interop.test_same_dialogues import both
from tests.interop.test_same_transactions import Producer
from tests.interop.waiting import until

from kafkawire.messages import ApiVersionsRequest
from kafkawire.records import read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.answers import Asked
    from tests.interop.apache_kafka import ApacheBroker, ApacheKafka
    from tests.interop.our_broker import OurBroker

__all__ = ["both"]
pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
CHOSEN = ("producerId", "previousProducerId", "transactionLastUpdateTimestampMs", "transactionStartTimestampMs")
"""Values that a broker chooses; they are compared by whether they are there."""
NEWEST_UPDATE = 2


@pytest.fixture(autouse=True)
def only_newest(each_kafka: ApacheBroker) -> None:
    if each_kafka.release is PREVIOUS:
        pytest.skip("the fields of version 1 came with 4.0")


def logs(data_dir: Path) -> list[Path]:
    found = [path for path in sorted(data_dir.glob("__transaction_state-*/*.log")) if path.stat().st_size]
    assert found
    return found


def decoded(kafka: ApacheKafka, data_dir: Path, name: str) -> list[Any]:
    """The records of a transactional id, as Apache Kafka's tool prints them, without values that a broker chooses."""
    dumped = kafka.dump(logs(data_dir), "--transaction-log-decoder")
    return [_without_choices(value) for key, value in payloads(dumped) if key["data"]["transactionalId"] == name]


def batches(data_dir: Path, name: str) -> Iterator[tuple[Any, ...]]:
    """The form of the batches of a transactional id."""
    for path in logs(data_dir):
        for batch in read_batches(path.read_bytes()):
            records = list(batch.records())
            if name.encode() in bytes(records[0].key or b""):
                versions = [bytes(record.value or b"")[:2].hex() for record in records]
                yield len(records), batch.codec, batch.producer_id, batch.is_transactional, versions


def _without_choices(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: each >= 0 if name in CHOSEN else _without_choices(each) for name, each in value.items()}
    return sorted(map(_without_choices, value), key=str) if isinstance(value, list) else value


def live(talk: Talk, name: str) -> None:
    """A commit, an abort, an end by another producer, and offsets of a group."""
    first = Producer(talk, name)
    first.init()
    first.add(0)
    first.add(1)
    first.produce(0)
    first.follow(first.end())
    first.add(1)
    first.produce(0, partition=1)
    first.follow(first.end(commit=False))
    first.add_offsets()
    first.commit_offset(5)
    first.follow(first.end())
    first.add(0)
    second = Producer(talk, name)
    second.init(timeout=5_000)  # it aborts the transaction of the first, and is refused meanwhile
    second.settle()
    second.init(timeout=5_000)
    second.end(commit=False)


def check(kafka: ApacheKafka, brokers: tuple[OurBroker, ApacheBroker], name: str, *, count: int, version: str) -> None:
    ours, theirs = (decoded(kafka, broker.data_dir, name) for broker in brokers)
    assert len(ours) >= count
    assert ours == theirs
    forms = [list(batches(broker.data_dir, name)) for broker in brokers]
    assert forms[0] == forms[1]
    assert {tuple(form[-1]) for form in forms[0]} == {(version,)}


def finalize(both: tuple[Asked, Asked], level: int, direction: int) -> None:
    """Change the level of both clusters, and wait until their brokers know it."""
    for broker in both:
        broker.ask(update((TRANSACTIONS, level, direction))(NEWEST_UPDATE), NEWEST_UPDATE)
        until(lambda broker=broker: finalized(broker) == level)  # type: ignore[misc]


def finalized(broker: Asked) -> int:
    request = ApiVersionsRequest(client_software_name="log", client_software_version="1")
    answer: Any = broker.ask(request, 3)
    levels: dict[str, int] = {each.name: each.max_version_level for each in answer.finalized_features}
    return levels.get(TRANSACTIONS, 0)


@pytest.mark.parametrize("age", [0.0, 0.5, 1.0])
def test_records_of_a_transactional_id(
    kafka: ApacheKafka, each_kafka: ApacheBroker, our_twin: OurBroker, both: tuple[Asked, Asked], age: float
) -> None:
    name = f"same-log-{age}"
    compare(both, age, lambda talk: live(talk, name))
    check(kafka, (our_twin, each_kafka), name, count=14, version="0001")


@pytest.mark.parametrize(("level", "version"), [(0, "0000"), (1, "0001")])
def test_records_with_an_older_level_of_the_cluster(
    kafka: ApacheKafka,
    each_kafka: ApacheBroker,
    our_twin: OurBroker,
    both: tuple[Asked, Asked],
    level: int,
    version: str,
) -> None:
    name = f"same-log-of-level-{level}"
    finalize(both, level, UNSAFE_DOWNGRADE)
    try:
        compare(both, 0.0, lambda talk: live(talk, name))
    finally:
        finalize(both, 2, UPGRADE)
    check(kafka, (our_twin, each_kafka), name, count=14, version=version)
