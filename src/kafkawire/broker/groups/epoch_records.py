"""The records of epochs and targets in `__consumer_offsets`, which consumer and share groups have alike.

Rules:
- Each kind of group has record types of its own, with the same fields.
- Partitions are written in ascending order, so that equal assignments are equal bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.broker.groups.epochs import FIRST_EPOCH, Ended, GroupEpoch, Target, TargetEpoch
from kafkawire.broker.groups.records import decode_value, encode_key, encode_value

if TYPE_CHECKING:
    from kafkawire.broker.groups.records import Entry

VERSION: Final = 0


class EpochRecords(NamedTuple):
    """The messages of one kind of group: keys and values of its epoch, of that of its targets, and of a target."""

    group_key: Any
    group_value: Any
    targets_key: Any
    targets_value: Any
    target_key: Any
    target_value: Any

    def encode(self, group_id: str, change: GroupEpoch | TargetEpoch | Target) -> Entry:
        """The record of a change."""
        match change:
            case GroupEpoch(epoch, metadata_hash):
                value = self.group_value(epoch=epoch, metadata_hash=metadata_hash)
                return encode_key(self.group_key(group_id=group_id)), encode_value(value, VERSION)
            case TargetEpoch(epoch, computed_at):
                value = self.targets_value(assignment_epoch=epoch, assignment_timestamp=computed_at)
                return encode_key(self.targets_key(group_id=group_id)), encode_value(value, VERSION)
            case Target(member_id, partitions):
                key = encode_key(self.target_key(group_id=group_id, member_id=member_id))
                if partitions is None:
                    return key, None
                listed = [
                    self.target_value.TopicPartition(topic_id=topic, partitions=sorted(numbers))
                    for topic, numbers in partitions.items()
                ]
                return key, encode_value(self.target_value(topic_partitions=listed), VERSION)

    def decode(self, about: Any, value: bytes | None) -> GroupEpoch | TargetEpoch | Target | Ended | None:
        """The change of a record with a decoded key; None if it is another record of the group."""
        if isinstance(about, self.target_key):
            if value is None:
                return Target(about.member_id, None)
            found = decode_value(self.target_value, value)
            partitions = {each.topic_id: frozenset(each.partitions) for each in found.topic_partitions}
            return Target(about.member_id, partitions)
        if isinstance(about, self.group_key):
            if value is None:
                return Ended()
            epochs = decode_value(self.group_value, value)
            return GroupEpoch(epochs.epoch, epochs.metadata_hash)
        if isinstance(about, self.targets_key):
            if value is None:
                return TargetEpoch(FIRST_EPOCH, 0)
            targets = decode_value(self.targets_value, value)
            return TargetEpoch(targets.assignment_epoch, targets.assignment_timestamp)
        return None
