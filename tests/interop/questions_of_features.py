"""Requests about features, permissions, transactions and producers, beside those of `questions`.

A broker supports only the features whose APIs it serves, and lists of features are compared in `test_features`. Here
are the updates that every broker answers in the same way, whatever else it supports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.interop.questions import COMPACTED, GROUP, NOWHERE, ORDERS, metadata

from kafkawire import messages as m

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.messages import Message

TRANSACTIONS = "transaction.version"
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
UPDATES: dict[str, Callable[[int], Message]] = {}
QUESTIONS: dict[str, Callable[[int], Message]] = {}


def update(*updates: tuple[str, int, int], only: bool = False) -> Callable[[int], Message]:
    """Levels to finalize: name, level and upgrade type; v0 has only upgrades, and no way to try."""

    def make(version: int) -> Message:
        keys = [
            m.UpdateFeaturesRequest.FeatureUpdateKey(
                feature=name, max_version_level=level, upgrade_type=kind if version else UPGRADE
            )
            for name, level, kind in updates
        ]
        return m.UpdateFeaturesRequest(feature_updates=keys, timeout_ms=10_000, validate_only=only and version > 0)

    return make


UPDATES |= {
    "finalize nothing": update(),
    "finalize the level there is": update((TRANSACTIONS, 2, UPGRADE)),
    "finalize a level twice": update((TRANSACTIONS, 7, UPGRADE), (TRANSACTIONS, 2, UPGRADE)),
    "finalize a level that is none": update((TRANSACTIONS, 3, UPGRADE)),
    "finalize a negative level": update((TRANSACTIONS, -1, UPGRADE)),
    "finalize a feature that is none": update(("no.such", 1, UPGRADE)),
    "finalize a feature that is none at 0": update(("no.such", 0, UPGRADE)),
    "finalize an empty name": update(("", 1, UPGRADE)),
    "finalize one that is good and one that is not": update((TRANSACTIONS, 2, UPGRADE), ("no.such", 1, UPGRADE)),
    "downgrade by an upgrade": update((TRANSACTIONS, 1, UPGRADE)),
    "downgrade, only to see": update((TRANSACTIONS, 2, UPGRADE), only=True),
    "an upgrade of a kind that is none": update((TRANSACTIONS, 2, 9)),
    "an upgrade of unknown kind": update((TRANSACTIONS, 2, 0)),
    "finalize metadata beyond all versions": update(("metadata.version", 999, UPGRADE)),
}


def downgrade(version: int) -> Message:
    """Down and up again: the next question finds the level as it was."""
    return update((TRANSACTIONS, 1, SAFE_DOWNGRADE))(max(version, 1))


UPDATES |= {
    "downgrade": downgrade,
    "downgrade to a newer level": lambda version: update((TRANSACTIONS, 2, SAFE_DOWNGRADE))(max(version, 1)),
    "downgrade unsafely": lambda version: update((TRANSACTIONS, 0, UNSAFE_DOWNGRADE))(max(version, 1)),
    "upgrade again": update((TRANSACTIONS, 2, UPGRADE)),
}

QUESTIONS |= UPDATES


def permitted(version: int) -> Message:
    request = metadata(ORDERS, COMPACTED, NOWHERE)
    if version >= 8:
        request.include_topic_authorized_operations = True
    if 8 <= version <= 10:
        request.include_cluster_authorized_operations = True
    return request


QUESTIONS |= {
    "what is permitted on topics": permitted,
    "what is permitted on the cluster": lambda version: m.DescribeClusterRequest(
        include_cluster_authorized_operations=True
    ),
    "what is permitted on a group": lambda version: m.DescribeGroupsRequest(
        groups=[GROUP, "same-nobody"], include_authorized_operations=version >= 3
    ),
}


def transactions(**filters: Any) -> Callable[[int], Message]:
    return lambda version: m.ListTransactionsRequest(**filters)


QUESTIONS |= {
    "open transactions": transactions(state_filters=["Ongoing"]),
    "transactions in every state": transactions(
        state_filters=["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"]
    ),
    "transactions of a producer": transactions(producer_id_filters=[7, 7, -1]),
    "transactions of a duration": transactions(duration_filter=1),
    "transactions of a name": transactions(transactional_id_pattern="same-.*"),
    "transactions of a bad pattern": transactions(transactional_id_pattern="("),
    "transactions of an empty pattern": transactions(transactional_id_pattern=""),
}


def producers(*places: tuple[str, int]) -> Callable[[int], Message]:
    topics = [m.DescribeProducersRequest.TopicRequest(name=name, partition_indexes=[index]) for name, index in places]
    return lambda version: m.DescribeProducersRequest(topics=topics)


QUESTIONS |= {
    "producers of a partition": producers((ORDERS, 0)),
    "producers of a partition that is not there": producers((ORDERS, 9)),
    "producers of a bad name": producers(("not/good", 0)),
    "producers of several": producers((ORDERS, 0), (NOWHERE, 0), (COMPACTED, 1)),
}
