"""Our broker answers as Apache Kafka does: the same requests to both, in every version that both serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.interop import (
    questions,
    questions_found_at_random,
    questions_of_administrators,
    questions_of_clients,
    questions_of_features,
    questions_of_settings,
    questions_of_transactions,
    questions_with_repetitions,
)
from tests.interop.answers import SET_BY_BROKERS, Asked, common_versions, comparable, differences
from tests.interop.apache_kafka import PREVIOUS
from tests.interop.questions import ORDERS, PREPARED, RECORDS
from tests.interop.waiting import until

from kafkawire import messages as m
from kafkawire._codec import EncodeError, UnsupportedVersionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.apache_kafka import ApacheBroker
    from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
QUESTIONS = (
    questions.QUESTIONS
    | questions_of_clients.QUESTIONS
    | questions_of_administrators.QUESTIONS
    | questions_of_features.QUESTIONS
    | questions_of_settings.QUESTIONS
    | questions_with_repetitions.QUESTIONS
    | questions_of_transactions.QUESTIONS
    | questions_found_at_random.QUESTIONS
)
KNOWN = {
    "an operation that is none": "Apache Kafka has an unknown server error for it",
}
NEVER_DEFAULT = "Apache Kafka never sets isDefault of v0"
ONE_BY_ONE = "before 4.0, every topic of a response had one partition"
ONCE = "before 4.0, a partition that is named twice was answered once"
KNOWN_BEFORE = {
    "settings of a topic": NEVER_DEFAULT,
    "settings of the broker": NEVER_DEFAULT,
    "offsets of a partition twice": ONE_BY_ONE,
    "offsets of an unknown partition twice": ONE_BY_ONE,
    "commit twice": ONCE,
    "forget an offset twice": ONCE,
    "delete an offset of a topic that is not there": "before 4.0, a group was gone with its last offset",
    "what is permitted on a group": "before 4.0, groups had no settings",
}
"""Questions that the previous release answers differently from the newest, and from us."""


@pytest.fixture(scope="module")
def both(each_kafka: ApacheBroker, our_twin: OurBroker) -> Iterator[tuple[Asked, Asked]]:
    """A connection to ours and one to theirs, with the same topics and records."""
    with Asked(our_twin) as ours, Asked(each_kafka) as theirs:
        for broker in (ours, theirs):
            prepare(broker)
        yield ours, theirs


def prepare(broker: Asked) -> None:
    topics = [
        m.CreateTopicsRequest.CreatableTopic(
            name=name,
            num_partitions=2,
            replication_factor=1,
            configs=[m.CreateTopicsRequest.CreatableTopicConfig(name=key, value=value) for key, value in given.items()],
        )
        for name, given in PREPARED.items()
    ]
    broker.ask(m.CreateTopicsRequest(topics=topics, timeout_ms=10_000), 5)
    until(lambda: is_ready(broker.ask(QUESTIONS["find a group's coordinator"](0), 0)))
    until(lambda: is_ready(cast("Any", broker.ask(QUESTIONS["describe a group"](0), 0)).groups[0]))
    until(lambda: is_ready(broker.ask(QUESTIONS["a producer id"](0), 0)))
    until(lambda: is_ready(broker.ask(QUESTIONS["a transaction's coordinator"](0), 1)))
    until(lambda: is_ready(broker.ask(questions_of_transactions.initiate(questions_of_transactions.KNOWN_ID), 1)))
    broker.ask(questions_of_transactions.add_offsets(questions_of_transactions.KNOWN_ID), 0)  # makes __consumer_offsets
    for records in RECORDS:
        data = m.ProduceRequest.PartitionProduceData(index=0, records=records)
        topic = m.ProduceRequest.TopicProduceData(name=ORDERS, partition_data=[data])
        request = m.ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])
        until(lambda request=request: is_appended(broker.ask(request, 9)))  # type: ignore[misc]


def is_ready(answer: Any) -> bool:
    """Whether the coordinator has read its log; the first question makes the topic that it is in."""
    return answer.error_code not in (14, 15, 16)


def is_appended(answer: Any) -> bool:
    """Whether records were taken; a topic that was just made may not be known yet."""
    return bool(answer.responses[0].partition_responses[0].error_code == 0)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_is_the_same(
    both: tuple[Asked, Asked], each_kafka: ApacheBroker, question: str, request: pytest.FixtureRequest
) -> None:
    known = KNOWN | (KNOWN_BEFORE if each_kafka.release is PREVIOUS else {})
    if question in known:
        request.applymarker(pytest.mark.xfail(reason=known[question]))
    if question in questions_of_features.UPDATES and each_kafka.release is PREVIOUS:
        pytest.skip("before 4.0, transaction.version could not be finalized")
    newest_only = questions_of_settings.QUESTIONS.keys() | questions_found_at_random.QUESTIONS.keys()
    if question in newest_only and each_kafka.release is PREVIOUS:
        pytest.skip("compared with the newest release")
    ask = QUESTIONS[question]
    name = type(ask(0)).__schema__.name.removesuffix("Request")
    asked, different = 0, []
    for version in common_versions(name, *both):
        try:
            ours, theirs = (comparable(broker.ask(ask(version), version), version) for broker in both)
        except (EncodeError, UnsupportedVersionError):
            continue
        asked += 1
        different += [f"v{version} {each}" for each in differences(ours, theirs)]
    assert not different, "\n".join(different)
    if not asked and each_kafka.release is PREVIOUS:
        pytest.skip("no version that can ask this in common")
    assert asked


def test_messages_of_success_are_the_same(both: tuple[Asked, Asked], each_kafka: ApacheBroker) -> None:
    if each_kafka.release is PREVIOUS:
        pytest.skip("compared with the newest release")
    for version in range(1, 5):
        described = questions_of_administrators.describe(2, ORDERS, "retention.ms")
        ours, theirs = (cast("Any", each.ask(described, version)).results[0].error_message for each in both)
        assert ours == theirs
    made = questions_of_administrators.made_with()
    ours, theirs = (cast("Any", each.ask(made, 7)).topics[0].error_message for each in both)
    assert ours == theirs
    quotas = questions_found_at_random.QUESTIONS["quotas that there are not"](1)
    ours, theirs = (cast("Any", each.ask(quotas, 1)).error_message for each in both)
    assert ours == theirs == ""


OTHER_SETTINGS = {
    "listener.security.protocol.map": "listeners are fixed at the start",
    "listeners": "listeners are fixed at the start",
    "log.dir": "the default directory has another name",
    "log.flush.scheduler.interval.ms": "Apache Kafka leaves flush.ms to chance",
    "metric.reporters": "no classes are loaded",
    "queued.max.request.bytes": "the memory of requests is always limited",
    "socket.receive.buffer.bytes": "the system chooses",
    "socket.send.buffer.bytes": "the system chooses",
}
"""Settings of a broker with another default or another flag than in Apache Kafka, each with its reason."""


def test_settings_of_the_broker_have_the_same_types_flags_and_defaults(
    both: tuple[Asked, Asked], each_kafka: ApacheBroker
) -> None:
    if each_kafka.release is PREVIOUS:
        pytest.skip("compared with the newest release")
    wanted = m.DescribeConfigsRequest.DescribeConfigsResource(resource_type=4, resource_name="1")
    ours, theirs = (
        {
            each.name: (each.config_type, each.read_only, each.is_sensitive, each.config_source == 5 and each.value)
            for each in cast("Any", broker.ask(m.DescribeConfigsRequest(resources=[wanted]), 4)).results[0].configs
        }
        for broker in both
    )
    given = {name for each in (ours, theirs) for name, (*_, default) in each.items() if default is False}
    different = {
        name: (ours[name], theirs[name])
        for name in ours.keys() & theirs.keys()
        if ours[name][:3] != theirs[name][:3] or (name not in given and ours[name] != theirs[name])
    }
    assert different.keys() == OTHER_SETTINGS.keys(), different


def test_synonyms_of_topic_settings_are_the_same(both: tuple[Asked, Asked], each_kafka: ApacheBroker) -> None:
    if each_kafka.release is PREVIOUS:
        pytest.skip("compared with the newest release")
    wanted = m.DescribeConfigsRequest.DescribeConfigsResource(resource_type=2, resource_name=ORDERS)
    request = m.DescribeConfigsRequest(resources=[wanted], include_synonyms=True)
    ours, theirs = (
        {
            config.name: [(each.name, each.source) for each in config.synonyms]
            for config in cast("Any", broker.ask(request, 4)).results[0].configs
        }
        for broker in both
    )
    shared = ours.keys() & theirs.keys() - SET_BY_BROKERS
    assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}
