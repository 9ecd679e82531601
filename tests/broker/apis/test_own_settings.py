"""Settings of groups and of subscriptions to client metrics: checked, stored, described and listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.apis.test_settings import APPEND, DELETE, SET, change, describe
from tests.broker.node_requests import ask

from kafkawire.broker._config.settings import keys
from kafkawire.broker._metadata.journal.records import everything
from kafkawire.messages import AlterConfigsRequest, ListConfigResourcesRequest
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node

METRICS, GROUP = 16, 32


def listed(node: Node, version: int, *types: int) -> list[tuple[str, int]]:
    response = ask(node, ListConfigResourcesRequest(resource_types=list(types)), version)
    return [(each.resource_name, each.resource_type) for each in response.config_resources]


def test_a_group_that_does_not_exist_has_the_settings_of_the_broker(node: Node) -> None:
    described = describe(node, GROUP, "readers")
    assert described.error_code == ErrorCode.NONE
    found = {each.name: each.value for each in described.configs}
    assert found == {name: key.default for name, key in keys("group").items()}
    assert found["consumer.session.timeout.ms"] == "45000"


def test_defaults_of_a_group_are_synonyms_under_the_name_of_the_broker(node: Node) -> None:
    described = describe(
        node, GROUP, "readers", "share.session.timeout.ms", "share.isolation.level", include_synonyms=True
    )
    synonyms = {each.name: [(one.name, one.source) for one in each.synonyms] for each in described.configs}
    assert synonyms == {
        "share.session.timeout.ms": [("group.share.session.timeout.ms", 5)],
        "share.isolation.level": [("share.isolation.level", 5)],
    }


@pytest.mark.parametrize("kind", [METRICS, GROUP])
def test_the_empty_name_has_no_settings(node: Node, kind: int) -> None:
    assert describe(node, kind, "").error_code == ErrorCode.INVALID_REQUEST
    assert change(node, kind, "", ("no.such", SET, "1")) == ErrorCode.INVALID_REQUEST
    assert change(node, kind, "", ("no.such", DELETE, None)) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("consumer.session.timeout.ms", ("45000", "60000"), ("44999", "60001", "x", "")),
        ("consumer.heartbeat.interval.ms", ("5000", "15000"), ("4999", "15001")),
        ("consumer.assignment.interval.ms", ("0", "15000"), ("-1", "15001")),
        ("share.session.timeout.ms", ("45000", "60000"), ("44999", "60001")),
        ("share.heartbeat.interval.ms", ("5000", "15000"), ("4999", "15001")),
        ("share.record.lock.duration.ms", ("15000", "60000"), ("14999", "60001")),
        ("share.delivery.count.limit", ("2", "10"), ("1", "11")),
        ("share.partition.max.record.locks", ("100", "4000"), ("99", "4001")),
        ("share.assignment.interval.ms", ("0", "15000"), ("-1", "15001")),
        ("share.isolation.level", ("read_committed", " read_uncommitted "), ("READ_COMMITTED", "x")),
        ("share.renew.acknowledge.enable", ("true", "FALSE"), ("x", "1")),
        (
            "share.auto.offset.reset",
            ("earliest", " latest ", "by_duration:PT1.5S", "by_duration:P1DT2H3M4S", "by_duration:pt1h"),
            ("none", "LATEST", "", "by_duration:", "by_duration:PT", "by_duration:P1W", "by_duration:-PT1H"),
        ),
        ("streams.session.timeout.ms", ("45000", "60000"), ("44999", "60001")),
        ("streams.heartbeat.interval.ms", ("5000", "15000"), ("4999", "15001")),
        ("streams.num.standby.replicas", ("0", "2"), ("-1", "3")),
        ("streams.initial.rebalance.delay.ms", ("0", "2147483647"), ("-1", "2147483648", "1_000")),
        ("streams.assignment.interval.ms", ("0", "15000"), ("-1", "15001")),
        ("no.such", (), ("1",)),
    ],
)
def test_settings_of_groups_are_checked_against_the_limits_of_the_broker(
    node: Node, name: str, accepted: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    for value in accepted:
        assert change(node, GROUP, "readers", (name, SET, value)) == ErrorCode.NONE
        assert describe(node, GROUP, "readers", name).configs[0].value == value
    for value in refused:
        assert change(node, GROUP, "readers", (name, SET, value)) == ErrorCode.INVALID_CONFIG
    assert node.group_configs.own == ({"readers": {name: accepted[-1]}} if accepted else {})


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("metrics", "a.,b.", ErrorCode.NONE),
        ("metrics", "*", ErrorCode.NONE),
        ("metrics", "", ErrorCode.NONE),
        ("metrics", "a,,b", ErrorCode.INVALID_CONFIG),
        ("interval.ms", "100", ErrorCode.NONE),
        ("interval.ms", " 3600000 ", ErrorCode.NONE),
        ("interval.ms", "99", ErrorCode.INVALID_REQUEST),
        ("interval.ms", "3600001", ErrorCode.INVALID_REQUEST),
        ("interval.ms", "x", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=a.*, client_software_name = b ", ErrorCode.NONE),
        ("match", "client_id=a,client_id=b", ErrorCode.NONE),
        ("match", "", ErrorCode.NONE),
        ("match", "client_id=[", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=(?=a)b", ErrorCode.INVALID_CONFIG),
        ("match", "no_such=a", ErrorCode.INVALID_CONFIG),
        ("match", "client_id", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=a=b", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=(((a{100}){100}){100}){100}", ErrorCode.INVALID_CONFIG),
        ("no.such", "1", ErrorCode.INVALID_REQUEST),
    ],
)
def test_settings_of_client_metrics_are_checked(node: Node, name: str, value: str, error: ErrorCode) -> None:
    assert change(node, METRICS, "all", (name, SET, value), validate_only=True) == error
    assert node.client_metrics.own == {}
    assert change(node, METRICS, "all", (name, SET, value)) == error
    assert node.client_metrics.own == ({} if error else {"all": {name: value}})


@pytest.mark.parametrize(("kind", "name"), [(METRICS, "metrics"), (GROUP, "consumer.session.timeout.ms")])
def test_lists_of_these_resources_cannot_be_appended_to(node: Node, kind: int, name: str) -> None:
    assert change(node, kind, "x", (name, APPEND, "1")) == ErrorCode.INVALID_CONFIG


def test_a_subscription_is_described_with_defaults_and_sources(node: Node) -> None:
    assert [(each.name, each.value, each.config_source) for each in describe(node, METRICS, "all").configs] == [
        ("interval.ms", "300000", 5),
        ("match", "", 5),
        ("metrics", "", 5),
    ]
    change(node, METRICS, "all", ("interval.ms", SET, "200"))
    interval, match, _ = describe(node, METRICS, "all", include_synonyms=True).configs
    assert (interval.value, interval.config_source, interval.read_only) == ("200", 7, False)
    assert [(each.name, each.value, each.source) for each in interval.synonyms] == [("interval.ms", "200", 7)]
    assert match.synonyms == []


def test_subscriptions_and_groups_with_settings_are_listed(node: Node) -> None:
    assert listed(node, 0) == []
    change(node, METRICS, "all", ("metrics", SET, "*"))
    change(node, GROUP, "readers", ("consumer.session.timeout.ms", SET, "50000"))
    assert listed(node, 0) == [("all", METRICS)]
    assert listed(node, 1, METRICS) == [("all", METRICS)]
    assert {("all", METRICS), ("readers", GROUP)} <= set(listed(node, 1))
    change(node, METRICS, "all", ("metrics", DELETE, None))
    assert listed(node, 0) == []


def test_settings_outlive_a_restart_and_a_shortened_journal(node: Node, open_node: Callable[..., Node]) -> None:
    change(node, METRICS, "all", ("metrics", SET, "*"), ("match", SET, "client_id=a"))
    change(node, GROUP, "readers", ("consumer.session.timeout.ms", SET, "50000"))
    for _ in range(2):
        node.journal.replace(everything(node))
        node.close()
        node = open_node()
        assert node.client_metrics.own == {"all": {"metrics": "*", "match": "client_id=a"}}
        assert node.group_configs.own == {"readers": {"consumer.session.timeout.ms": "50000"}}


def test_the_older_request_replaces_all_settings(node: Node) -> None:
    change(node, METRICS, "all", ("metrics", SET, "*"))
    assert replace(node, METRICS, "all", ("interval.ms", "150")) == ErrorCode.NONE
    assert node.client_metrics.own == {"all": {"interval.ms": "150"}}
    assert replace(node, METRICS, "all", ("interval.ms", None)) == ErrorCode.INVALID_REQUEST
    assert replace(node, METRICS, "all", ("metrics", "a"), ("metrics", "b")) == ErrorCode.INVALID_REQUEST
    assert replace(node, METRICS, "all") == ErrorCode.NONE
    assert node.client_metrics.own == {}


def replace(node: Node, kind: int, name: str, *values: tuple[str, str | None]) -> int:
    configs = [AlterConfigsRequest.AlterableConfig(name=key, value=value) for key, value in values]
    resource = AlterConfigsRequest.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    answer: int = ask(node, AlterConfigsRequest(resources=[resource])).responses[0].error_code
    return answer
