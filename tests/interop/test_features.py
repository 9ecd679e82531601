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
# The features of Apache Kafka that our broker does not have, with the reason. Every other one is the same.
NOT_OURS = {
    "eligible.leader.replicas.version": "one node has no replicas to choose from",
    "kraft.version": "there is no quorum",
}


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
    assert not {each.name for each in ours.supported_features} & NOT_OURS.keys()
    assert not {each.name for each in ours.finalized_features} & NOT_OURS.keys()
    assert _supported(ours) == _supported(theirs)
    assert _finalized(ours) == _finalized(theirs)
    assert min(ours.finalized_features_epoch, theirs.finalized_features_epoch) >= 0
    if version == 4:
        names = {each.name for each in theirs.supported_features}
        assert names >= NOT_OURS.keys(), "remove what Apache Kafka does not list from the table"


def _supported(answer: ApiVersionsResponse) -> dict[str, tuple[int, int]]:
    """The range of each feature that both have; our journal has the records of one metadata.version."""
    found = {each.name: (each.min_version, each.max_version) for each in answer.supported_features}
    lowest, highest = found[METADATA]
    assert lowest <= highest
    return {name: span for name, span in found.items() if name not in NOT_OURS} | {METADATA: (highest, highest)}


def _finalized(answer: ApiVersionsResponse) -> dict[str, tuple[int, int]]:
    found = {each.name: (each.min_version_level, each.max_version_level) for each in answer.finalized_features}
    assert METADATA in found
    return {name: span for name, span in found.items() if name not in NOT_OURS}


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
