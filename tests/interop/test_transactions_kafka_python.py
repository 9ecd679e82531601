"""Transactions of kafka-python on both brokers: the tests of tests/broker/clients, with their broker replaced."""

from tests.broker.clients.test_transactions_kafka_python import *  # noqa: F403  # every test
from tests.interop.transaction_brokers import ON_BOTH_BROKERS, kafka_broker, kafka_topic

__all__ = ["kafka_broker", "kafka_topic"]
pytestmark = ON_BOTH_BROKERS
