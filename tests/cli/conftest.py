"""The commands that talk to a cluster share the broker of the clients' tests."""

from tests.client.conftest import broker

__all__ = ["broker"]
