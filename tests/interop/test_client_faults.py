"""Faults on the way to Apache Kafka, and its restarts: the tests of tests/client, with their broker replaced."""

from tests.client.test_faults import *  # noqa: F403  # every test and every fixture
from tests.interop.client_broker import ON_APACHE_KAFKA, broker, restartable

__all__ = ["broker", "restartable"]
pytestmark = ON_APACHE_KAFKA
