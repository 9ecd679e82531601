"""Secured brokers of the pytest plugin: one line, and any client connects with `client_config`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer as LibrdkafkaConsumer
from confluent_kafka import Producer as LibrdkafkaProducer

from kafkawire.client import AuthenticationFailedError
from kafkawire.client.blocking import Admin
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Callable

SECURED = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")


@pytest.mark.parametrize("security", SECURED)
def test_our_client_connects(kafka_broker_factory: Callable[..., RunningBroker], security: str) -> None:
    broker = kafka_broker_factory(security=security, users={"ann": 'a "word"', "bob": "b"})
    with Admin(broker.client_config) as admin:
        assert admin.list_topics() == []
    broker.restart()
    with Admin(broker.client_config) as admin:
        assert admin.list_topics() == []


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_every_mechanism_has_the_users(kafka_broker_factory: Callable[..., RunningBroker], mechanism: str) -> None:
    broker = kafka_broker_factory(security="SASL_SSL", users={"ann": 'a "word"', "bob": "b"})
    for name, password in (("ann", 'a "word"'), ("bob", "b")):
        login = {"sasl.mechanism": mechanism, "sasl.username": name, "sasl.password": password}
        with Admin(broker.client_config | login) as admin:
            assert admin.list_topics() == []
    wrong = broker.client_config | {"sasl.mechanism": mechanism, "sasl.password": "wrong"}
    with pytest.raises(AuthenticationFailedError), Admin(wrong):
        pass


@pytest.mark.parametrize("security", SECURED)
def test_librdkafka_connects(security: str) -> None:
    with RunningBroker(security=security) as broker:
        broker.create_topic("t")
        producer: Any = LibrdkafkaProducer(broker.client_config)
        producer.produce("t", b"value")
        assert producer.flush(30) == 0
        options = {"group.id": "g", "auto.offset.reset": "earliest"}
        consumer: Any = LibrdkafkaConsumer(broker.client_config | options)
        consumer.subscribe(["t"])
        found = consumer.poll(30)
        assert found is not None
        assert (found.error(), found.value()) == (None, b"value")
        consumer.close()


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of SSL, SASL_PLAINTEXT, SASL_SSL, found 'TLS'"):
        RunningBroker(security="TLS")
