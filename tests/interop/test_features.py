"""Features: our broker beside Apache Kafka's, and its own tool on ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.raw_connection import Peer

from kafkawire.messages import ApiVersionsRequest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.broker.raw_connection import Listening
    from tests.interop.apache_kafka import ApacheBroker, ApacheKafka

    from kafkawire.messages import ApiVersionsResponse

from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
METADATA = "metadata.version"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OurBroker]:
    made = OurBroker(tmp_path)
    made.start()
    yield made
    made.stop()


def listed(broker: Listening, version: int) -> ApiVersionsResponse:
    with Peer(broker) as peer:
        answer: Any = peer.call(ApiVersionsRequest(client_software_name="test", client_software_version="1"), version)
        return answer  # type: ignore[no-any-return]


@pytest.mark.parametrize("version", [3, 4])
def test_our_features_are_listed_as_apache_kafka_lists_them(
    broker: OurBroker, apache_kafka: ApacheBroker, version: int
) -> None:
    ours, theirs = listed(broker, version), listed(apache_kafka, version)
    known = {each.name: each.max_version for each in theirs.supported_features}
    levels = {each.name: (each.min_version_level, each.max_version_level) for each in theirs.finalized_features}
    assert {each.name: each.max_version for each in ours.supported_features}.items() <= known.items()
    finalized = {each.name: (each.min_version_level, each.max_version_level) for each in ours.finalized_features}
    assert finalized.items() <= levels.items()
    assert METADATA in finalized
    assert min(ours.finalized_features_epoch, theirs.finalized_features_epoch) >= 0


def test_ranges_begin_where_those_of_apache_kafka_begin(broker: OurBroker, apache_kafka: ApacheBroker) -> None:
    ours, theirs = (
        {each.name: each.min_version for each in listed(each_broker, 4).supported_features}
        for each_broker in (broker, apache_kafka)
    )
    del ours[METADATA]  # our journal has the records of one version, and cannot be downgraded
    assert ours.items() <= theirs.items()


def test_the_tool_describes_and_changes_our_features(kafka: ApacheKafka, broker: OurBroker) -> None:
    def tool(*arguments: str) -> str:
        at = ("--bootstrap-server", broker.bootstrap)
        return kafka.run("org.apache.kafka.tools.FeatureCommand", *at, *arguments)

    def level() -> int:
        finalized = {each.name: each.max_version_level for each in listed(broker, 4).finalized_features}
        return finalized.get("transaction.version", 0)

    described = [line.split() for line in tool("describe").splitlines() if line.startswith("Feature:")]
    names = {line[1]: line for line in described}
    assert names["transaction.version"][:8] == [
        *("Feature:", "transaction.version", "SupportedMinVersion:", "0", "SupportedMaxVersion:", "2"),
        *("FinalizedVersionLevel:", "2"),
    ]
    tool("downgrade", "--feature", "transaction.version=1", "--dry-run")
    assert level() == 2
    tool("downgrade", "--feature", "transaction.version=1")
    assert level() == 1
    broker.restart()
    assert level() == 1
    tool("disable", "--feature", "transaction.version")
    assert level() == 0
    tool("upgrade", "--feature", "transaction.version=2")
    assert level() == 2
