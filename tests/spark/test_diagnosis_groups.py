"""Dividing a run into groups that rules look at."""

from __future__ import annotations

import pytest

from kafkawire.spark._captures.diagnosis import ConnectionLoad, GroupShare, plan_groups


def test_a_run_that_fits_is_one_group_whatever_its_clients() -> None:
    loads = [ConnectionLoad("10.0.0.2", 1, 40, 0, 9), ConnectionLoad("10.0.0.1", 0, 60, 0, 19)]
    assert plan_groups(loads, 100) == [GroupShare(0, 0, 19, 0), GroupShare(1, 0, 9, 0)]


def test_a_client_is_not_divided_while_it_fits() -> None:
    loads = [ConnectionLoad(f"10.0.0.{number % 2}", number, 30, 0, 9) for number in range(6)]
    groups = {share.conn_id: share.group for share in plan_groups(loads, 100)}
    assert groups == {0: 0, 2: 0, 4: 0, 1: 1, 3: 1, 5: 1}


def test_a_large_client_is_divided_by_connection_and_a_large_connection_by_exchanges() -> None:
    loads = [ConnectionLoad("10.0.0.1", 0, 50, 0, 9), ConnectionLoad("10.0.0.1", 1, 250, 0, 99)]
    assert plan_groups(loads, 100) == [
        GroupShare(0, 0, 9, 0),
        GroupShare(1, 0, 32, 1),
        GroupShare(1, 33, 65, 2),
        GroupShare(1, 66, 99, 3),
    ]


@pytest.mark.parametrize("rows", [[], [0], [1, 1, 1], [5000], [90, 90, 5, 5, 700]])
def test_every_exchange_is_in_one_group_and_no_group_is_too_large(rows: list[int]) -> None:
    loads = [ConnectionLoad(f"10.0.0.{number % 3}", number, count, 0, count) for number, count in enumerate(rows)]
    shares = plan_groups(loads, 100)
    seen = sorted((share.conn_id, exchange) for share in shares for exchange in range(share.first, share.last + 1))
    assert seen == [(number, exchange) for number, count in enumerate(rows) for exchange in range(count + 1)]
    sizes: dict[int, int] = {}
    for share in shares:
        sizes[share.group] = sizes.get(share.group, 0) + share.last - share.first + 1
    assert all(size <= 110 for size in sizes.values())
