"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs, ListConfigResources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import ask

from kafkawire.broker._config.settings import keys
from kafkawire.messages import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


def describe(node: Node, kind: int, name: str, *wanted: str, version: int = 4, **fields: Any) -> Any:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(wanted) or None
    )
    return ask(node, DescribeConfigsRequest(resources=[resource], **fields), version).results[0]


def change(node: Node, kind: int, name: str, *changes: tuple[str, int, str | None], **fields: Any) -> int:
    configs = [
        IncrementalAlterConfigsRequest.AlterableConfig(name=key, config_operation=operation, value=value)
        for key, operation, value in changes
    ]
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=configs
    )
    response = ask(node, IncrementalAlterConfigsRequest(resources=[resource], **fields))
    return response.responses[0].error_code  # type: ignore[no-any-return]  # from bytes


def test_all_settings_of_a_topic_are_returned_with_type_text_and_source(node: Node) -> None:
    described = describe(node, TOPIC, "orders", include_documentation=True)
    found = {each.name: each for each in described.configs}
    assert set(found) == set(keys("topic"))
    assert (found["retention.ms"].value, found["retention.ms"].config_source) == ("604800000", 5)
    assert all(each.documentation and 1 <= each.config_type <= 9 for each in described.configs)


def test_all_settings_of_the_broker_are_returned(node: Node) -> None:
    assert {each.name for each in describe(node, BROKER, "1").configs} == set(keys("broker"))
    assert describe(node, BROKER, "").configs == []
    assert describe(node, BROKER, "2").error_code == ErrorCode.INVALID_REQUEST


def test_synonyms_have_every_value_the_one_in_force_first(open_node: Callable[..., Node]) -> None:
    node = open_node(log_retention_minutes="10")
    node.create_topic("orders", 1, {"retention.ms": "5"})
    (found,) = describe(node, TOPIC, "orders", "retention.ms", include_synonyms=True).configs
    assert [(each.name, each.value, each.source) for each in found.synonyms] == [
        ("retention.ms", "5", 1),
        ("log.retention.minutes", "10", 4),
    ]
    change(node, TOPIC, "orders", ("retention.ms", DELETE, None))
    assert describe(node, TOPIC, "orders", "retention.ms").configs[0].value == "600000"
    assert node.log("orders", 0).config.retention_ms == 600_000


@pytest.mark.parametrize(
    ("kind", "name", "synonyms"),
    [
        (TOPIC, "retention.ms", []),
        (TOPIC, "retention.bytes", [("log.retention.bytes", 5)]),
        (TOPIC, "leader.replication.throttled.replicas", []),
        (TOPIC, "local.retention.ms", [("log.local.retention.ms", 5)]),
        (BROKER, "log.retention.ms", []),
        (BROKER, "log.retention.hours", [("log.retention.hours", 5)]),
    ],
)
def test_a_default_is_a_synonym_only_under_the_first_name(
    node: Node, kind: int, name: str, synonyms: list[tuple[str, int]]
) -> None:
    (found,) = describe(node, kind, "orders" if kind == TOPIC else "1", name, include_synonyms=True).configs
    assert [(each.name, each.source) for each in found.synonyms] == synonyms


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_the_message_of_a_resource_without_an_error_is_empty(node: Node, version: int) -> None:
    assert describe(node, TOPIC, "orders", version=version).error_message == ""


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("local.retention.ms", "5", ErrorCode.NONE),
        ("local.retention.bytes", "-2", ErrorCode.NONE),
        ("local.retention.ms", "-3", ErrorCode.INVALID_CONFIG),
        ("local.retention.ms", "soon", ErrorCode.INVALID_CONFIG),
        ("remote.log.copy.disable", "true", ErrorCode.NONE),
        ("remote.log.delete.on.disable", "true", ErrorCode.NONE),
        ("remote.storage.enable", "false", ErrorCode.NONE),
        ("remote.storage.enable", "true", ErrorCode.INVALID_CONFIG),
    ],
)
def test_settings_of_remote_storage_are_accepted_unless_they_enable_it(
    node: Node, name: str, value: str, error: ErrorCode
) -> None:
    assert change(node, TOPIC, "orders", (name, SET, value)) == error
    expected = value if error == ErrorCode.NONE else keys("topic")[name].default
    assert describe(node, TOPIC, "orders", name).configs[0].value == expected


def test_the_oldest_version_returns_only_whether_it_is_the_default(node: Node) -> None:
    change(node, TOPIC, "orders", ("retention.ms", SET, "5"))
    found = describe(node, TOPIC, "orders", "retention.ms", "segment.bytes", version=0).configs
    assert {each.name: each.is_default for each in found} == {"retention.ms": False, "segment.bytes": True}


@pytest.mark.parametrize("kind", [0, 8, 99])
def test_other_resources_have_no_settings(node: Node, kind: int) -> None:
    assert describe(node, kind, "x").error_code == ErrorCode.INVALID_REQUEST
    for operation in (SET, APPEND):
        assert change(node, kind, "x", ("a", operation, "b")) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "name",
    [
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    ],
)
def test_the_throttles_that_a_reassignment_clears_can_be_cleared(node: Node, name: str) -> None:
    assert change(node, BROKER, "1", (name, DELETE, None)) == ErrorCode.NONE


def test_changes_of_a_topic_take_effect_and_last(node: Node, open_node: Callable[..., Node]) -> None:
    assert change(node, TOPIC, "orders", ("retention.ms", SET, "5"), ("segment.bytes", SET, "2000")) == 0
    assert node.log("orders", 1).config.segment_bytes == 2000
    node.close()
    assert open_node().log("orders", 0).config.retention_ms == 5


@pytest.mark.parametrize(
    ("operations", "value"),
    [
        ([(APPEND, "compact")], "delete,compact"),
        ([(SET, "compact"), (APPEND, "delete"), (APPEND, "delete")], "compact,delete"),
        ([(SET, "compact,delete"), (SUBTRACT, "delete")], "compact"),
        ([(SET, "compact"), (DELETE, None)], "delete"),
    ],
)
def test_lists_grow_and_shrink(node: Node, operations: list[tuple[int, str | None]], value: str) -> None:
    for operation, text in operations:
        assert change(node, TOPIC, "orders", ("cleanup.policy", operation, text)) == 0
    assert describe(node, TOPIC, "orders", "cleanup.policy").configs[0].value == value


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ([("retention.ms", SET, "soon")], ErrorCode.INVALID_CONFIG),
        ([("no.such", SET, "1")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST),
        ([("retention.ms", APPEND, "1")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", 9, "1")], ErrorCode.INVALID_REQUEST),
        ([("cleanup.policy", SUBTRACT, "delete")], ErrorCode.INVALID_CONFIG),
        ([("segment.bytes", SET, "5000"), ("retention.ms", SET, "soon")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", SET, "1"), ("retention.ms", SET, "2")], ErrorCode.INVALID_REQUEST),
    ],
)
def test_bad_changes_change_nothing(node: Node, changes: list[tuple[str, int, str | None]], error: ErrorCode) -> None:
    assert change(node, TOPIC, "orders", *changes) == error
    assert node.topics.get("orders").configs == {}


def test_changes_can_be_tried_first(node: Node) -> None:
    assert change(node, TOPIC, "orders", ("retention.ms", SET, "5"), validate_only=True) == 0
    assert node.topics.get("orders").configs == {}


def test_the_older_request_replaces_everything(node: Node) -> None:
    change(node, TOPIC, "orders", ("retention.ms", SET, "5"))
    config = AlterConfigsRequest.AlterableConfig(name="segment.bytes", value="5000")
    resource = AlterConfigsRequest.AlterConfigsResource(resource_type=TOPIC, resource_name="orders", configs=[config])
    assert ask(node, AlterConfigsRequest(resources=[resource])).responses[0].error_code == 0
    assert node.topics.get("orders").configs == {"segment.bytes": "5000"}


def test_settings_of_the_broker_reach_topics_without_their_own(node: Node, open_node: Callable[..., Node]) -> None:
    assert change(node, BROKER, "", ("log.segment.bytes", SET, "9000")) == 0
    assert change(node, BROKER, "1", ("log.segment.bytes", SET, "8000")) == 0
    assert node.log("orders", 0).config.segment_bytes == 8000
    node.close()
    node = open_node()
    assert node.log("orders", 0).config.segment_bytes == 8000
    change(node, BROKER, "1", ("log.segment.bytes", DELETE, None))
    assert node.log("orders", 0).config.segment_bytes == 9000


def test_settings_that_are_fixed_at_the_start_stay(node: Node) -> None:
    assert change(node, BROKER, "1", ("num.partitions", SET, "5")) == ErrorCode.INVALID_REQUEST
    assert change(node, BROKER, "1", ("num.partitions", DELETE, None)) == ErrorCode.NONE


@pytest.mark.parametrize(
    ("name", "value", "for_one", "for_all"),
    [
        ("no.such", "5", ErrorCode.NONE, ErrorCode.NONE),
        ("sasl.kerberos.min.time.before.relogin", "5", ErrorCode.NONE, ErrorCode.INVALID_REQUEST),
        ("sasl.enabled.mechanisms", "PLAIN", ErrorCode.NONE, ErrorCode.INVALID_REQUEST),
        ("ssl.keystore.type", "PKCS12", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        ("ssl.truststore.password", "x", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        ("background.threads", "20", ErrorCode.NONE, ErrorCode.NONE),
        ("background.threads", "5", ErrorCode.NONE, ErrorCode.NONE),
        ("background.threads", "4", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        ("background.threads", "21", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        ("background.threads", "x", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        ("num.network.threads", "1", ErrorCode.NONE, ErrorCode.NONE),
        ("num.replica.fetchers", "0", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        ("max.connections", "0", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        ("compression.type", "foo", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        ("log.cleanup.policy", "foo", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        ("log.retention.ms", "soon", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        ("log.roll.ms", "0", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        ("node.id", "7", ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
    ],
)
def test_settings_of_the_broker_are_accepted_as_by_kafka(
    node: Node, name: str, value: str, for_one: ErrorCode, for_all: ErrorCode
) -> None:
    assert change(node, BROKER, "1", (name, SET, value), validate_only=True) == for_one
    assert change(node, BROKER, "", (name, SET, value), validate_only=True) == for_all
    assert change(node, BROKER, "1", (name, SET, value)) == for_one
    assert node.config.changed.get("1", {}) == ({} if for_one else {name: value})


def test_a_refused_setting_of_the_broker_leaves_topics_usable(node: Node, open_node: Callable[..., Node]) -> None:
    assert change(node, BROKER, "", ("compression.type", SET, "foo")) == ErrorCode.INVALID_REQUEST
    node.create_topic("invoices", 1)
    node.close()
    assert open_node().log("invoices", 0).config.compression_type == "producer"


def test_unknown_settings_of_the_broker_are_kept_and_hidden(node: Node, open_node: Callable[..., Node]) -> None:
    change(node, BROKER, "1", ("no.such", SET, "secret"))
    change(node, BROKER, "", ("no.such.either", SET, "secret"))
    node.close()
    node = open_node()
    (found,) = describe(node, BROKER, "1", "no.such", "not.even.set", include_synonyms=True).configs
    assert (found.name, found.value, found.config_source, found.config_type) == ("no.such", None, 2, 0)
    assert (found.is_sensitive, found.read_only) == (True, True)
    assert [(each.name, each.value, each.source) for each in found.synonyms] == [("no.such", None, 2)]
    assert [each.name for each in describe(node, BROKER, "").configs] == ["no.such.either"]
    assert {"no.such", "no.such.either"} <= {each.name for each in describe(node, BROKER, "1").configs}
    assert change(node, BROKER, "1", ("no.such", DELETE, None)) == ErrorCode.NONE
    assert describe(node, BROKER, "1", "no.such").configs == []


def test_unknown_settings_of_the_broker_are_limited(node: Node) -> None:
    for start in (0, 500):
        names = [(f"no.such.{number}", SET, "1") for number in range(start, start + 500)]
        assert change(node, BROKER, "1", *names) == ErrorCode.NONE
    assert change(node, BROKER, "1", ("one.more", SET, "1")) == ErrorCode.INVALID_REQUEST


def test_resources_are_listed_by_type(node: Node) -> None:
    def listed(*types: int) -> list[tuple[str, int]]:
        response = ask(node, ListConfigResourcesRequest(resource_types=list(types)), 1)
        return [(each.resource_name, each.resource_type) for each in response.config_resources]

    assert listed() == [("orders", TOPIC), ("1", BROKER)]
    assert listed(BROKER) == [("1", BROKER)]
    assert ask(node, ListConfigResourcesRequest(resource_types=[99]), 1).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_setting_all_to_nothing_twice_changes_nothing(node: Node) -> None:
    resource = AlterConfigsRequest.AlterConfigsResource(resource_type=TOPIC, resource_name="orders", configs=[])
    for _ in range(2):
        assert ask(node, AlterConfigsRequest(resources=[resource])).responses[0].error_code == ErrorCode.NONE
