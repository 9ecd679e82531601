"""Settings given at start, and where the broker listens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkawire.broker._config import group_settings
from kafkawire.broker._config.settings import BrokerConfig, keys
from kafkawire.broker._config.sources import from_environment, from_file, from_pairs
from kafkawire.broker._net.listeners import Endpoint, advertised, listening
from kafkawire.broker.groups.consumer.assignors import ASSIGNORS
from kafkawire.log.config import LogConfig
from kafkawire.messages.errors import InvalidConfigError

if TYPE_CHECKING:
    from pathlib import Path


def test_variables_follow_the_rule_of_the_docker_image() -> None:
    variables = {"KAFKA_NUM_PARTITIONS": "3", "KAFKA_A__B___C": "x", "KAFKA_HEAP_OPTS": "-Xmx1g", "PATH": "/bin"}
    assert from_environment(variables) == {"num.partitions": "3", "a_b-c": "x"}


def test_files_hold_names_and_values(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("# comment\n! another\n\nnum.partitions = 3\nlisteners=PLAINTEXT://:9092,\\\n  SSL://:9093\n")
    assert from_file(path) == {"num.partitions": "3", "listeners": "PLAINTEXT://:9092,SSL://:9093"}
    path.write_text("fine=1\nnothing\n")
    with pytest.raises(InvalidConfigError, match="line 2: expected name=value"):
        from_file(path)


def test_arguments_are_pairs() -> None:
    assert from_pairs(["a=b=c"]) == {"a": "b=c"}
    with pytest.raises(InvalidConfigError, match="expected name=value"):
        from_pairs(["a"])


def test_unknown_names_come_with_the_nearest() -> None:
    assert BrokerConfig({"num.partition": "3", "zzz": "1"}).unknown() == {"num.partition": "num.partitions", "zzz": ""}


@pytest.mark.parametrize(
    ("name", "value"),
    [("num.partitions", "many"), ("num.partitions", "3000000000"), ("auto.create.topics.enable", "yes")],
)
def test_values_of_the_wrong_type_are_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidConfigError, match=f"{name}: expected"):
        BrokerConfig({name: value})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "1"}, 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2"}, 120_000),
        ({"log.retention.hours": "1", "log.retention.ms": "3"}, 3),
        ({"log.retention.minutes": "-1"}, -1),
    ],
)
def test_the_finest_unit_of_retention_counts(given: dict[str, str], expected: int) -> None:
    assert BrokerConfig(given).log_config({}).retention_ms == expected


def test_without_settings_logs_have_kafkas_defaults() -> None:
    assert BrokerConfig().log_config({}) == LogConfig()


def test_the_table_is_whole() -> None:
    for scope in ("topic", "broker"):
        for key in keys(scope).values():
            assert key.doc.endswith("."), key.name
            if key.default is not None:
                key.check(key.default)
    for key in keys("topic").values():
        assert set(key.server) <= set(keys("broker")), key.name


@pytest.mark.parametrize(
    ("given", "host", "port", "expected"),
    [
        ({}, None, None, {"PLAINTEXT": ("127.0.0.1", 0)}),
        ({}, "0.0.0.0", 9094, {"PLAINTEXT": ("0.0.0.0", 9094)}),
        ({"listeners": "PLAINTEXT://0.0.0.0:9999"}, None, None, {"PLAINTEXT": ("0.0.0.0", 9999)}),
        ({"listeners": "PLAINTEXT://[::1]:9999"}, None, 0, {"PLAINTEXT": ("::1", 0)}),
        (
            {
                "listeners": "PLAINTEXT://:19092, CONTROLLER://:9093, PLAINTEXT_HOST://localhost:9092",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT",
            },
            *(None, None),
            {"PLAINTEXT": ("", 19092), "PLAINTEXT_HOST": ("localhost", 9092)},
        ),
    ],
)
def test_addresses_to_listen_on_are_parsed(
    given: dict[str, str], host: str | None, port: int | None, expected: dict[str, tuple[str, int]]
) -> None:
    assert listening(BrokerConfig(given), host, port) == expected


def test_a_listener_without_a_protocol_is_refused() -> None:
    with pytest.raises(InvalidConfigError, match=r"ODD is not in listener\.security\.protocol\.map"):
        listening(BrokerConfig({"listeners": "ODD://:9092"}), None, None)
    with pytest.raises(InvalidConfigError, match=r"expected NAME:PROTOCOL, where PROTOCOL is .*found 'ODD:TLS'"):
        listening(BrokerConfig({"listeners": "ODD://:1", "listener.security.protocol.map": "ODD:TLS"}), None, None)
    with pytest.raises(InvalidConfigError, match="PLAINTEXT occurs more than once"):
        listening(BrokerConfig({"listeners": "PLAINTEXT://:9092,PLAINTEXT://:9093"}), None, None)
    mapped = {"listeners": "INSIDE://:9092", "listener.security.protocol.map": "INSIDE:PLAINTEXT"}
    assert listening(BrokerConfig(mapped), None, None) == {"INSIDE": ("", 9092)}


def test_the_older_name_of_the_node_id_counts() -> None:
    assert BrokerConfig({"broker.id": "7"}).integer("node.id") == 7


PLACES = {"PLAINTEXT": Endpoint("0.0.0.0", 1), "HOST": Endpoint("10.0.0.1", 2)}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", {"PLAINTEXT": ("127.0.0.1", 1), "HOST": ("10.0.0.1", 2)}),
        ("PLAINTEXT://kafka.example:9092", {"PLAINTEXT": ("kafka.example", 9092), "HOST": ("10.0.0.1", 2)}),
        ("HOST://[::1]:7,PLAINTEXT://broker:0", {"PLAINTEXT": ("broker", 1), "HOST": ("::1", 7)}),
    ],
)
def test_clients_get_an_address_that_works(given: str, expected: dict[str, tuple[str, int]]) -> None:
    protocols = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,HOST:PLAINTEXT"}
    assert advertised(BrokerConfig({**protocols, "advertised.listeners": given}), PLACES) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("kafka.example", "expected NAME://host:port"),
        ("PLAINTEXT://0.0.0.0:9092", "no client can connect to 0.0.0.0"),
        ("OTHER://kafka.example:9092", "OTHER is none of the listeners PLAINTEXT, HOST"),
    ],
)
def test_an_address_that_cannot_work_is_refused(given: str, words: str) -> None:
    protocols = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT"}
    with pytest.raises(InvalidConfigError, match=f"advertised.listeners: {words}"):
        advertised(BrokerConfig({**protocols, "advertised.listeners": given}), PLACES)


def test_every_assignor_may_be_named_and_so_may_the_classes_of_kafka() -> None:
    assert set(group_settings.ASSIGNORS) == set(ASSIGNORS)
    given = {"group.consumer.assignors": "org.apache.kafka.coordinator.group.assignor.RangeAssignor, uniform"}
    assert group_settings.assignors(BrokerConfig(given)) == ("range", "uniform")
