"""Administration of share groups on Apache Kafka: the tests of tests/client, with their broker replaced."""

from tests.client.test_share_admin import *  # noqa: F403  # every test and every fixture
from tests.interop.client_broker import ON_APACHE_KAFKA
from tests.interop.client_broker import quick_broker as broker

__all__ = ["broker"]
pytestmark = ON_APACHE_KAFKA
