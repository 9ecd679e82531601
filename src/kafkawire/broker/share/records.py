"""The records of `__share_group_state`, in the format of Kafka 4.3.

Rules:
- A key is an int16 type, then group, topic id and partition: type 0 for snapshots, 1 for updates. A value is an int16
  version, then its fields.
- The end of a share partition is a snapshot's key without a value.
- Keys of other types are ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.records import after_prefix, encode_key, encode_value
from kafkawire.broker.share.in_flight import StateBatch
from kafkawire.broker.share.stored import Change, ShareKey, Snapshot, StateUpdate
from kafkawire.messages import ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue

if TYPE_CHECKING:
    from kafkawire.broker.groups.records import Entry

_VERSION: Final = 0
_SNAPSHOT: Final = ShareSnapshotKey.__schema__.key
_UPDATE: Final = ShareUpdateKey.__schema__.key


def encode(change: Change) -> Entry:
    """The record of a change."""
    (group_id, topic_id, partition), value = change
    if isinstance(value, StateUpdate):
        key = encode_key(ShareUpdateKey(group_id=group_id, topic_id=topic_id, partition=partition))
        update = ShareUpdateValue(
            snapshot_epoch=value.epoch,
            leader_epoch=value.leader_epoch,
            start_offset=value.start,
            delivery_complete_count=value.completed,
            state_batches=[
                ShareUpdateValue.StateBatch(
                    first_offset=first, last_offset=last, delivery_state=state, delivery_count=count
                )
                for first, last, state, count in value.batches
            ],
        )
        return key, encode_value(update, _VERSION)
    key = encode_key(ShareSnapshotKey(group_id=group_id, topic_id=topic_id, partition=partition))
    if value is None:
        return key, None
    snapshot = ShareSnapshotValue(
        snapshot_epoch=value.epoch,
        state_epoch=value.state_epoch,
        leader_epoch=value.leader_epoch,
        start_offset=value.start,
        delivery_complete_count=value.completed,
        create_timestamp=value.created_at,
        write_timestamp=value.written_at,
        state_batches=[
            ShareSnapshotValue.StateBatch(
                first_offset=first, last_offset=last, delivery_state=state, delivery_count=count
            )
            for first, last, state, count in value.batches
        ],
    )
    return key, encode_value(snapshot, _VERSION)


def decode(key: bytes, value: bytes | None) -> Change | None:
    """The change of a record; None for records of other types."""
    kind, start = after_prefix(key)
    if kind not in (_SNAPSHOT, _UPDATE):
        return None
    about, _ = ShareSnapshotKey.decode_prefix(key, _VERSION, start)  # both keys have these fields
    name = ShareKey(about.group_id, about.topic_id, about.partition)
    if value is None:
        return Change(name, None)
    if kind == _UPDATE:
        update, _ = ShareUpdateValue.decode_prefix(value, *after_prefix(value))
        changed = StateUpdate(
            update.snapshot_epoch,
            update.leader_epoch,
            update.start_offset,
            update.delivery_complete_count,
            tuple(map(_batch, update.state_batches)),
        )
        return Change(name, changed)
    found, _ = ShareSnapshotValue.decode_prefix(value, *after_prefix(value))
    snapshot = Snapshot(
        found.snapshot_epoch,
        found.state_epoch,
        found.leader_epoch,
        found.start_offset,
        found.delivery_complete_count,
        found.create_timestamp,
        found.write_timestamp,
        tuple(map(_batch, found.state_batches)),
    )
    return Change(name, snapshot)


def _batch(each: ShareSnapshotValue.StateBatch | ShareUpdateValue.StateBatch) -> StateBatch:
    return StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
