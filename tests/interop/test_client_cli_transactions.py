"""`kafkawire transactions` on Apache Kafka: the tests of tests/cli, with their broker replaced."""

import pytest
from tests.cli.test_transactions import *  # noqa: F403  # every test and every fixture
from tests.interop.apache_kafka import PREVIOUS, ApacheBroker
from tests.interop.client_broker import ON_APACHE_KAFKA, broker

__all__ = ["broker"]
pytestmark = ON_APACHE_KAFKA


@pytest.fixture(autouse=True)
def with_patterns(request: pytest.FixtureRequest, strict_kafka: ApacheBroker) -> None:
    """Skip the test of patterns on a broker without them."""
    if "pattern" in request.node.name and strict_kafka.release is PREVIOUS:
        pytest.skip("patterns came with ListTransactions v2, in 4.1")
