"""Quotas in real time for a few seconds; `make minutes` has the same for a minute each."""

from __future__ import annotations

from tests.broker.real_quotas import check_bytes, check_connections, check_mutations, check_requests

SECONDS = 3.0
WINDOW = 1
TOLERANCE = 0.3
"""One request more or less counts much in a few seconds, more so on a busy machine."""


def test_a_noisy_producer_and_consumer_are_held_to_their_rate() -> None:
    check_bytes(SECONDS, WINDOW, 2_000_000.0, TOLERANCE, fetched=(0.2, 1.8))


def test_the_time_of_requests_is_held_to_its_percentage() -> None:
    """An interrupted request counts as long, and pays at most a second; a wrong quota fails each time."""
    for _ in range(2):
        try:
            check_requests(SECONDS, WINDOW, 5.0, TOLERANCE)
        except AssertionError:
            continue
        return
    check_requests(SECONDS, WINDOW, 5.0, TOLERANCE)


def test_created_partitions_are_held_to_their_rate() -> None:
    check_mutations(SECONDS, WINDOW, 10.0, TOLERANCE)


def test_connections_of_an_address_are_held_to_their_rate() -> None:
    check_connections(SECONDS, WINDOW, 10.0, TOLERANCE)
