"""Each quota holds its client to the rate over a minute of real time, with Kafka's window of ten seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.real_quotas import check_bytes, check_connections, check_mutations, check_requests

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.minute, pytest.mark.timeout(300)]
MINUTE = 60.0
WINDOW = 10
TOLERANCE = 0.05


def test_a_noisy_producer_and_consumer_beside_a_neighbour(record_property: Callable[[str, object], None]) -> None:
    found = check_bytes(MINUTE, WINDOW, 1_000_000.0, TOLERANCE, fetched=(0.9, 1.1))
    record_property("found", found)


@pytest.mark.parametrize(("check", "rate", "tolerance"), [
    (check_requests, 5.0, 0.15),  # a minute may have a burst of half a second more or less
    (check_mutations, 10.0, TOLERANCE),
    (check_connections, 10.0, TOLERANCE),
])  # fmt: skip
def test_a_rate_is_held(
    check: Callable[[float, int, float, float], float],
    rate: float,
    tolerance: float,
    record_property: Callable[[str, object], None],
) -> None:
    record_property("found", check(MINUTE, WINDOW, rate, tolerance))
