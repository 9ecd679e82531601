"""The features of the clients, and the versions that a broker must serve for them.

Rules:
- Every API that a feature needs is one that the clients call, and every API that they call belongs to a feature.
- A feature works if the client and the broker have a common version of each of its APIs, from the stated version on.
- A level is that of a finalized feature of the cluster (KIP-584).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.messages import api

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.wire import Negotiated


class ClientFeature(NamedTuple):
    """A feature, the first version that it needs of each API, and the level that it needs of features of a cluster."""

    name: str
    needs: Mapping[str, int]
    levels: Mapping[str, int] = MappingProxyType({})


class MissingFeature(NamedTuple):
    """A feature that will not work with a broker, and the reasons."""

    name: str
    reasons: tuple[str, ...]


FEATURES: Final = (
    ClientFeature("connections and metadata", {"ApiVersions": 0, "Metadata": 0}),
    ClientFeature("a new start if a broker has moved to another cluster", {"ApiVersions": 5}),
    ClientFeature("a new start if a broker demands it", {"Metadata": 13}),
    ClientFeature("SASL", {"SaslHandshake": 1, "SaslAuthenticate": 0}),
    ClientFeature("SASL sessions that authenticate again (KIP-368)", {"SaslAuthenticate": 1}),
    ClientFeature("producing", {"Produce": 3}),
    ClientFeature("idempotent producing (the default)", {"Produce": 3, "InitProducerId": 0}),
    ClientFeature("producing with zstd", {"Produce": 7}),
    ClientFeature(
        "transactions",
        {
            "InitProducerId": 0,
            "AddPartitionsToTxn": 0,
            "AddOffsetsToTxn": 0,
            "TxnOffsetCommit": 0,
            "EndTxn": 0,
            "FindCoordinator": 1,
        },
    ),
    ClientFeature(
        "transactions with an epoch of their own (KIP-890)", {"Produce": 12, "EndTxn": 5}, {"transaction.version": 2}
    ),
    ClientFeature("consuming", {"Fetch": 0, "ListOffsets": 1}),
    ClientFeature("consuming records with headers", {"Fetch": 4}),
    ClientFeature("isolation_level=read_committed", {"Fetch": 4, "ListOffsets": 2}),
    ClientFeature("fetch sessions", {"Fetch": 7}),
    ClientFeature("consuming records in zstd", {"Fetch": 10}),
    ClientFeature("detection of truncated logs", {"Fetch": 12}),
    ClientFeature(
        "consumer groups",
        {
            "FindCoordinator": 0,
            "JoinGroup": 0,
            "SyncGroup": 0,
            "Heartbeat": 0,
            "LeaveGroup": 0,
            "OffsetCommit": 2,
            "OffsetFetch": 1,
        },
    ),
    ClientFeature(
        "consumer groups by group_protocol=consumer (KIP-848)",
        {"ConsumerGroupHeartbeat": 0, "OffsetCommit": 9, "OffsetFetch": 9},
    ),
    ClientFeature(
        "static members (group_instance_id)", {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "OffsetCommit": 7}
    ),
    ClientFeature("commits with leader epochs", {"OffsetCommit": 6, "OffsetFetch": 5}),
    ClientFeature("committed offsets that wait for open transactions", {"OffsetFetch": 7}),
    ClientFeature(
        "share groups (ShareConsumer, KIP-932)",
        {"FindCoordinator": 0, "ShareGroupHeartbeat": 1, "ShareFetch": 1, "ShareAcknowledge": 1},
        {"share.version": 1},
    ),
    ClientFeature("renewal of share groups' locks, limits of records", {"ShareFetch": 2, "ShareAcknowledge": 2}),
    ClientFeature("offsets by MAX_TIMESTAMP", {"ListOffsets": 7}),
    ClientFeature("Admin.create_topics", {"CreateTopics": 0}),
    ClientFeature("Admin.create_partitions", {"CreatePartitions": 0}),
    ClientFeature("Admin.delete_topics", {"DeleteTopics": 0}),
    ClientFeature("Admin.delete_records", {"DeleteRecords": 0}),
    ClientFeature("Admin.describe_configs", {"DescribeConfigs": 0}),
    ClientFeature("Admin.list_config_resources", {"ListConfigResources": 0}),
    ClientFeature("Admin.alter_configs", {"IncrementalAlterConfigs": 0}),
    ClientFeature("Admin.describe_cluster", {"DescribeCluster": 0}),
    ClientFeature("Admin.describe_log_dirs", {"DescribeLogDirs": 0}),
    ClientFeature("Admin.list_groups", {"ListGroups": 0}),
    ClientFeature("Admin.list_groups by state", {"ListGroups": 4}),
    ClientFeature("Admin.list_groups by type", {"ListGroups": 5}),
    ClientFeature("Admin.describe_groups", {"DescribeGroups": 0, "FindCoordinator": 0}),
    ClientFeature("Admin.describe_groups of KIP-848", {"ConsumerGroupDescribe": 0}),
    ClientFeature("Admin.describe_groups of share groups", {"ShareGroupDescribe": 0, "DescribeShareGroupOffsets": 0}),
    ClientFeature("Admin.describe_groups of share groups: lag", {"DescribeShareGroupOffsets": 1}),
    ClientFeature("Admin.describe_groups of streams groups", {"StreamsGroupDescribe": 0}),
    ClientFeature("Admin.alter_share_group_offsets", {"AlterShareGroupOffsets": 0}),
    ClientFeature("Admin.delete_share_group_offsets", {"DeleteShareGroupOffsets": 0}),
    ClientFeature("Admin.delete_groups", {"DeleteGroups": 0}),
    ClientFeature("Admin.delete_group_offsets", {"OffsetDelete": 0}),
    ClientFeature("Admin: ACLs", {"DescribeAcls": 1, "CreateAcls": 1, "DeleteAcls": 1}),
    ClientFeature("Admin: SCRAM users", {"DescribeUserScramCredentials": 0, "AlterUserScramCredentials": 0}),
    ClientFeature(
        "Admin: delegation tokens",
        {
            "CreateDelegationToken": 1,
            "RenewDelegationToken": 1,
            "ExpireDelegationToken": 1,
            "DescribeDelegationToken": 1,
        },
    ),
    ClientFeature("Admin: quotas", {"DescribeClientQuotas": 0, "AlterClientQuotas": 0}),
    ClientFeature("Admin.list_transactions", {"ListTransactions": 0}),
    ClientFeature("Admin.list_transactions by duration", {"ListTransactions": 1}),
    ClientFeature("Admin.list_transactions by pattern", {"ListTransactions": 2}),
    ClientFeature("Admin.describe_transactions", {"DescribeTransactions": 0}),
    ClientFeature("Admin.describe_producers", {"DescribeProducers": 0}),
    ClientFeature("Admin.abort_transaction", {"WriteTxnMarkers": 0, "DescribeProducers": 0}),
)


def missing_features(peer: Negotiated) -> list[MissingFeature]:
    """The features of the clients that will not work with a broker.

    >>> from kafkawire.messages.releases import versions_in
    >>> from kafkawire.wire import Negotiated
    >>> missing_features(Negotiated(dict(versions_in("3.9"))))[0]
    MissingFeature(name='a new start if a broker has moved to another cluster', reasons=('ApiVersions v5 (has 0-4)',))
    """
    found = []
    for feature in FEATURES:
        reasons = [reason for reason in (_lack(peer, name, low) for name, low in feature.needs.items()) if reason]
        for name, level in feature.levels.items():
            if peer.features.level(name) < level:
                reasons.append(f"{name} {level} (has {peer.features.level(name)})")
        if reasons:
            found.append(MissingFeature(feature.name, tuple(reasons)))
    return found


def _lack(peer: Negotiated, name: str, low: int) -> str | None:
    known = api(name)
    theirs = peer.ranges.get(known.key)
    if theirs is None:
        return f"{name} (not served)"
    common = theirs & known.versions
    return None if common and common.last >= low else f"{name} v{low} (has {theirs})"
