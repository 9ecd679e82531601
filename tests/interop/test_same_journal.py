"""The records that our broker writes to `__cluster_metadata` are those of Apache Kafka: order, versions and fields.

DumpLogSegments decodes the logs of both brokers, while they run. Batches are not compared, because Apache Kafka also
writes records of its quorum.
"""

from __future__ import annotations

import json
import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest
from tests.interop.answers import Asked
from tests.interop.apache_kafka import PREVIOUS
from tests.interop.dialogue import create_topic
from tests.interop.questions import config, create, delete, grow
from tests.interop.questions_of_administrators import APPEND, BROKER, DELETE, SET, TOPIC, alter
from tests.interop.questions_of_features import SAFE_DOWNGRADE, TRANSACTIONS, UPGRADE, update
from tests.interop.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheBroker, ApacheKafka
    from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
NAME, LAST = "same-journal", "same-journal-last"
CHOSEN = ("topicId", "directories", "incarnationId", "brokerEpoch", "port", "host", "logDirs", "nextProducerId")
"""Values that a broker chooses; they are compared by whether they are there."""


def change(broker: Asked) -> None:
    """The life of a topic, settings of a topic and of brokers, and a level of a feature."""
    create_topic(broker, "same-journal-first", 1)
    broker.ask(create(NAME, 2, **config(retention_ms="7000000", cleanup_policy="compact")), 7)
    until(lambda: _grows(broker))
    broker.ask(alter(TOPIC, NAME, ("retention.ms", SET, "8000000"), ("cleanup.policy", APPEND, "delete")), 1)
    broker.ask(alter(TOPIC, NAME, ("retention.ms", DELETE, None)), 1)
    broker.ask(alter(BROKER, "", ("log.retention.ms", SET, "9000000")), 1)
    broker.ask(alter(BROKER, "", ("log.retention.ms", DELETE, None)), 1)
    broker.ask(update((TRANSACTIONS, 1, SAFE_DOWNGRADE))(2), 2)
    broker.ask(update((TRANSACTIONS, 2, UPGRADE))(2), 2)
    broker.ask(delete(NAME, version=6), 6)
    create_topic(broker, LAST, 1)


def _grows(broker: Asked) -> bool:
    answer: Any = broker.ask(grow(NAME, 3), 3)
    return bool(answer.results[0].error_code == 0)


def decoded(kafka: ApacheKafka, data_dir: Path) -> list[Any]:
    """All records of a journal, as Apache Kafka's tool prints them."""
    logs = sorted((data_dir / "__cluster_metadata-0").glob("*.log"))
    text = kafka.dump(logs, "--cluster-metadata-decoder", "--skip-record-metadata")
    return [json.loads(each) for each in re.findall(r"payload: (\{.*\})$", text, re.MULTILINE)]


def written(records: list[Any]) -> Iterator[tuple[str, int, Any]]:
    """The records of `change`: type, version, fields. Equal types in a row are sorted."""
    names = [each["data"].get("name") for each in records]
    changes = [
        (record["type"], record["version"], _without_choices(record["data"]))
        for record in records[names.index(NAME) : names.index(LAST) + 1]
        if record["type"] != "NO_OP_RECORD"
    ]
    for _, alike in groupby(changes, key=lambda change: change[0]):  # settings come in the order of a hash map
        yield from sorted(alike, key=str)


def _without_choices(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: each not in (None, "", -1, []) if name in CHOSEN else _without_choices(each)
            for name, each in value.items()
        }
    return [_without_choices(each) for each in value] if isinstance(value, list) else value


def test_records_of_changes(kafka: ApacheKafka, each_kafka: ApacheBroker, our_twin: OurBroker) -> None:
    if each_kafka.release is PREVIOUS:
        pytest.skip("the journal has the records of the newest release")
    for running in (our_twin, each_kafka):
        with Asked(running) as broker:
            change(broker)
    ours, theirs = (decoded(kafka, running.data_dir) for running in (our_twin, each_kafka))
    changes = list(written(ours))
    assert changes == list(written(theirs))
    assert {kind for kind, _, _ in changes} == {
        *("TOPIC_RECORD", "PARTITION_RECORD", "CONFIG_RECORD", "FEATURE_LEVEL_RECORD", "REMOVE_TOPIC_RECORD")
    }
    versions, expected = ({each["type"]: each["version"] for each in records} for records in (ours, theirs))
    assert "REGISTER_BROKER_RECORD" in versions
    assert versions == {kind: expected[kind] for kind in versions}
