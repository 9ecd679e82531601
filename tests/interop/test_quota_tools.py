"""`kafka-configs` of Apache Kafka sets, shows and removes quotas of our broker, and prints what it prints for Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkawire.client.blocking import Admin

if TYPE_CHECKING:
    from tests.interop.apache_kafka import ApacheBroker, ApacheKafka
    from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
TOOL = "kafka.admin.ConfigCommand"
ENTITIES = {
    "user": ("--entity-type", "users", "--entity-name", "ann"),
    "default user": ("--entity-type", "users", "--entity-default"),
    "client": ("--entity-type", "clients", "--entity-name", "app"),
    "default client": ("--entity-type", "clients", "--entity-default"),
    "user and client": ("--user", "ann", "--client", "app"),
    "default user and client": ("--user-defaults", "--client", "app"),
    "address": ("--ip", "127.0.0.1"),
    "default address": ("--ip-defaults",),
}
VALUES = {
    "user": "producer_byte_rate=1024,consumer_byte_rate=2048,request_percentage=12.5,controller_mutation_rate=3",
    "address": "connection_creation_rate=7",
}


@pytest.mark.parametrize("entity", ENTITIES)
def test_quotas_of_an_entity_are_set_shown_and_removed(
    our_broker: OurBroker, apache_kafka: ApacheBroker, kafka: ApacheKafka, entity: str
) -> None:
    values = VALUES["address" if "address" in entity else "user"]
    names = ",".join(each.partition("=")[0] for each in values.split(","))
    printed = []
    for broker in (our_broker, apache_kafka):

        def tool(*options: str, broker: ApacheBroker | OurBroker = broker) -> list[str]:
            text = kafka.run(TOOL, "--bootstrap-server", broker.bootstrap, *options, *ENTITIES[entity])
            return sorted(line for line in text.splitlines() if line and not line.startswith("SLF4J"))

        steps = [tool("--alter", "--add-config", values), tool("--describe")]
        with Admin(bootstrap_servers=broker.bootstrap) as admin:
            (found,) = admin.describe_client_quotas()
            wanted = {name: float(value) for name, _, value in (each.partition("=") for each in values.split(","))}
            assert found.values == wanted
        steps += [tool("--alter", "--delete-config", names), tool("--describe")]
        with Admin(bootstrap_servers=broker.bootstrap) as admin:
            assert admin.describe_client_quotas() == []
        printed.append([[", ".join(sorted(line.split(", "))) for line in step] for step in steps])
    assert printed[0] == printed[1]


@pytest.mark.parametrize("values", ["producer_byte_rate=-1", "producer_byte_rate=x", "connection_creation_rate=1"])
def test_a_wrong_quota_is_refused(
    our_broker: OurBroker, apache_kafka: ApacheBroker, kafka: ApacheKafka, values: str
) -> None:
    for broker in (our_broker, apache_kafka):
        options = ("--alter", "--add-config", values, "--entity-type", "users", "--entity-name", "bob")
        with pytest.raises(AssertionError, match=r"(?i)error|exception|invalid|unknown|cannot parse|only quota"):
            kafka.run(TOOL, "--bootstrap-server", broker.bootstrap, *options)
        with Admin(bootstrap_servers=broker.bootstrap) as admin:
            assert admin.describe_client_quotas() == []
