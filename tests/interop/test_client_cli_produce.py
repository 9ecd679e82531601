"""`kafkawire produce` on Apache Kafka: the tests of tests/cli, with their broker replaced."""

from tests.cli.test_produce import *  # noqa: F403  # every test and every fixture
from tests.interop.client_broker import ON_APACHE_KAFKA, broker

__all__ = ["broker"]
pytestmark = ON_APACHE_KAFKA
