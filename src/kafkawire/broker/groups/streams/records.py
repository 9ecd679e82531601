"""The records of streams groups in `__consumer_offsets`, in the format of Kafka 4.3.

Rules:
- A key is an int16 type, then the group and the member. A value is version 0.
- The end of a group is a tombstone for every key. That of the topology comes last, when the group is gone already.
- Tasks are written in ascending order, so that equal assignments are equal bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkawire.broker.groups.epochs import FIRST_EPOCH
from kafkawire.broker.groups.records import decode_value, encode_key, encode_value, known_key
from kafkawire.broker.groups.streams.changes import (
    Change,
    Current,
    Described,
    Ended,
    GroupEpoch,
    Reconciled,
    Stated,
    Target,
    TargetEpoch,
)
from kafkawire.broker.groups.streams.member import Endpoint, StreamsMember, StreamsMemberState
from kafkawire.broker.groups.streams.tasks import OwnedTasks, TaskSet
from kafkawire.broker.groups.streams.topology_messages import topology_of, topology_value
from kafkawire.messages import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkawire.broker.groups.records import Entry
    from kafkawire.broker.groups.streams.tasks import EpochTasks, Tasks
    from kafkawire.messages import Message

_VERSION: Final = 0
_KEYS: Final = {
    key.__schema__.key: key
    for key in (
        StreamsGroupMetadataKey,
        StreamsGroupMemberMetadataKey,
        StreamsGroupTargetAssignmentMetadataKey,
        StreamsGroupTargetAssignmentMemberKey,
        StreamsGroupCurrentMemberAssignmentKey,
        StreamsGroupTopologyKey,
    )
}
_Owned = StreamsGroupCurrentMemberAssignmentValue.TaskIds
_Targeted = StreamsGroupTargetAssignmentMemberValue.TaskIds
_KNOWN_STATES: Final = frozenset(StreamsMemberState)


def encode(group_id: str, changes: Iterable[Change]) -> Iterator[Entry]:
    """The records of changes."""
    for change in changes:
        match change:
            case Described(member_id, member):
                key: Message = StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id)
                yield _entry(key, None if member is None else _description(member))
            case Current(member_id, reconciled):
                key = StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
                yield _entry(key, None if reconciled is None else _current(reconciled))
            case Target(member_id, tasks):
                key = StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
                yield _entry(key, None if tasks is None else _target(tasks))
            case GroupEpoch(epoch, metadata_hash, validated_epoch, configs):
                kind = StreamsGroupMetadataValue
                value = kind(
                    epoch=epoch,
                    metadata_hash=metadata_hash,
                    validated_topology_epoch=validated_epoch,
                    last_assignment_configs=[
                        kind.LastAssignmentConfig(key=name, value=text) for name, text in sorted(configs.items())
                    ],
                )
                yield _entry(StreamsGroupMetadataKey(group_id=group_id), value)
            case TargetEpoch(epoch, computed_at):
                yield _entry(
                    StreamsGroupTargetAssignmentMetadataKey(group_id=group_id),
                    StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=computed_at),
                )
            case Stated(topology):
                key = StreamsGroupTopologyKey(group_id=group_id)
                yield _entry(key, None if topology is None else topology_value(topology))
            case Ended():
                yield _entry(StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), None)
                yield _entry(StreamsGroupMetadataKey(group_id=group_id), None)


def decode(key: bytes, value: bytes | None) -> tuple[str, Change] | None:
    """The group and the change of a record; None for records that are not those of streams groups."""
    about = known_key(_KEYS, key)
    if about is None:
        return None
    change: Change
    match about:
        case StreamsGroupMemberMetadataKey():
            change = Described(about.member_id, None if value is None else _member(about.member_id, value))
        case StreamsGroupCurrentMemberAssignmentKey():
            change = Current(about.member_id, None if value is None else _reconciled(value))
        case StreamsGroupTargetAssignmentMemberKey():
            change = Target(about.member_id, None)
            if value is not None:
                found = decode_value(StreamsGroupTargetAssignmentMemberValue, value)
                lists = (found.active_tasks, found.standby_tasks, found.warmup_tasks)
                change = Target(about.member_id, TaskSet(*map(_tasks, lists)))
        case StreamsGroupMetadataKey():
            change = Ended()
            if value is not None:
                epochs = decode_value(StreamsGroupMetadataValue, value)
                configs = {each.key: each.value for each in epochs.last_assignment_configs or ()}
                change = GroupEpoch(epochs.epoch, epochs.metadata_hash, epochs.validated_topology_epoch, configs)
        case StreamsGroupTargetAssignmentMetadataKey():
            change = TargetEpoch(FIRST_EPOCH, 0)
            if value is not None:
                targets = decode_value(StreamsGroupTargetAssignmentMetadataValue, value)
                change = TargetEpoch(targets.assignment_epoch, targets.assignment_timestamp)
        case _:
            change = Stated(None)
            if value is not None:
                stated = decode_value(StreamsGroupTopologyValue, value)
                change = Stated(topology_of(stated))
    return about.group_id, change


def _entry(key: Message, value: Message | None) -> Entry:
    return encode_key(key), None if value is None else encode_value(value, _VERSION)


def _description(member: StreamsMember) -> StreamsGroupMemberMetadataValue:
    kind = StreamsGroupMemberMetadataValue
    return kind(
        instance_id=member.instance_id,
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None
        if member.endpoint is None
        else kind.Endpoint(host=member.endpoint.host, port=member.endpoint.port),
        client_tags=[kind.KeyValue(key=name, value=text) for name, text in sorted(member.tags.items())],
    )


def _member(member_id: str, value: bytes) -> StreamsMember:
    found = decode_value(StreamsGroupMemberMetadataValue, value)
    endpoint = found.user_endpoint
    return StreamsMember(
        member_id,
        found.instance_id,
        found.rack_id,
        found.client_id,
        found.client_host,
        found.rebalance_timeout_ms,
        found.topology_epoch,
        found.process_id,
        None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        {each.key: each.value for each in found.client_tags},
    )


def _current(now: Reconciled) -> StreamsGroupCurrentMemberAssignmentValue:
    assigned, revoking = now.assigned, now.revoking
    return StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=now.epoch,
        previous_member_epoch=now.previous_epoch,
        state=now.state,
        active_tasks=_listed_with_epochs(assigned.active),
        standby_tasks=_listed(_Owned, assigned.standby),
        warmup_tasks=_listed(_Owned, assigned.warmup),
        active_tasks_pending_revocation=_listed_with_epochs(revoking.active),
        standby_tasks_pending_revocation=_listed(_Owned, revoking.standby),
        warmup_tasks_pending_revocation=_listed(_Owned, revoking.warmup),
    )


def _reconciled(value: bytes) -> Reconciled:
    found = decode_value(StreamsGroupCurrentMemberAssignmentValue, value)
    epoch = found.member_epoch
    return Reconciled(
        epoch,
        found.previous_member_epoch,
        StreamsMemberState(found.state) if found.state in _KNOWN_STATES else StreamsMemberState.UNKNOWN,
        OwnedTasks(_owned(found.active_tasks, epoch), _tasks(found.standby_tasks), _tasks(found.warmup_tasks)),
        OwnedTasks(
            _owned(found.active_tasks_pending_revocation, epoch),
            _tasks(found.standby_tasks_pending_revocation),
            _tasks(found.warmup_tasks_pending_revocation),
        ),
    )


def _target(tasks: TaskSet) -> StreamsGroupTargetAssignmentMemberValue:
    return StreamsGroupTargetAssignmentMemberValue(
        active_tasks=_listed(_Targeted, tasks.active),
        standby_tasks=_listed(_Targeted, tasks.standby),
        warmup_tasks=_listed(_Targeted, tasks.warmup),
    )


def _listed(kind: type[Any], tasks: Tasks) -> list[Any]:
    return [kind(subtopology_id=name, partitions=sorted(partitions)) for name, partitions in sorted(tasks.items())]


def _listed_with_epochs(tasks: EpochTasks) -> list[_Owned]:
    listed = []
    for name, epochs in sorted(tasks.items()):
        numbers = sorted(epochs)
        listed.append(
            _Owned(subtopology_id=name, partitions=numbers, assignment_epochs=[epochs[number] for number in numbers])
        )
    return listed


def _tasks(listed: Iterable[_Owned | _Targeted]) -> dict[str, frozenset[int]]:
    return {each.subtopology_id: frozenset(each.partitions) for each in listed}


def _owned(listed: Iterable[_Owned], epoch: int) -> dict[str, dict[int, int]]:
    """Tasks with their epochs; in records without epochs that of the member counts."""
    owned = {}
    for each in listed:
        epochs = each.assignment_epochs
        if epochs is None or len(epochs) != len(each.partitions):
            epochs = [epoch] * len(each.partitions)
        owned[each.subtopology_id] = dict(zip(each.partitions, epochs, strict=True))
    return owned
