"""Records of `__consumer_offsets`, byte for byte, and what a restart makes of them."""

from __future__ import annotations

import logging
from uuid import UUID

import pytest
from tests.broker.groups.manual_coordinator import GROUP, SESSION, START, ManualCoordinator, subscription

from kafkawire.broker.groups.classic.group import CommittedOffset
from kafkawire.broker.groups.classic.states import State
from kafkawire.broker.groups.offsets_log import partition_of
from kafkawire.broker.groups.records import (
    GroupKey,
    OffsetKey,
    decode_group,
    decode_key,
    decode_offset,
    encode_group_end,
    encode_offset,
)
from kafkawire.broker.groups.replay import Replay
from kafkawire.messages import GroupMetadataValue, OffsetCommitValue
from kafkawire.messages.errors import ErrorCode
from kafkawire.records import BatchBuilder, read_batches

ORDERS = ("orders", 3)


def test_an_offset_is_written_as_kafka_writes_it() -> None:
    key, value = encode_offset("g", ORDERS, CommittedOffset(42, 7, "note", 1_700_000_000_000, topic_id=UUID(int=5)))
    assert key.hex() == "000100016700066f726465727300000003"
    assert value is not None
    fields = "000000000000002a00000007056e6f74650000018bcfe56800"
    assert value.hex() == "0004" + fields + "010010" + "05".zfill(32)
    assert decode_offset(value).topic_id == UUID(int=5)


def test_an_offset_with_an_expiry_is_written_as_version_one() -> None:
    _, value = encode_offset("g", ORDERS, CommittedOffset(42, -1, "", 1, expires=2))
    assert value is not None
    assert value.hex() == "0001000000000000002a000000000000000000010000000000000002"
    assert decode_offset(value).expires == 2


def test_a_group_is_written_as_kafka_writes_it(scene: ManualCoordinator) -> None:
    (member,) = scene.stable_group()
    key, value = scene.log.entries[-1]
    assert key == b"\x00\x02\x00\x0eorders-readers"
    assert value is not None
    assert value[:2] == b"\x00\x03"
    assert GroupMetadataValue.decode(value[2:], 3) == GroupMetadataValue(
        protocol_type="consumer",
        generation=1,
        protocol="range",
        leader=member,
        current_state_timestamp=START,
        members=[
            GroupMetadataValue.MemberMetadata(
                member_id=member,
                client_id="client",
                client_host="/127.0.0.1",
                rebalance_timeout=60_000,
                session_timeout=SESSION,
                subscription=subscription("orders"),
                assignment=member.encode(),
            )
        ],
    )


@pytest.mark.parametrize("version", range(5))
def test_offsets_of_every_version_are_read(version: int) -> None:
    written = OffsetCommitValue(offset=9, metadata="m", commit_timestamp=5, topic_id=UUID(int=7))
    value = version.to_bytes(2, "big") + written.encode(version)
    assert decode_offset(value) == CommittedOffset(9, -1, "m", 5, topic_id=UUID(int=7 if version >= 4 else 0))


@pytest.mark.parametrize("version", range(5))
def test_groups_of_every_version_are_read(version: int) -> None:
    member = GroupMetadataValue.MemberMetadata(member_id="m", session_timeout=7, subscription=b"s", assignment=b"a")
    written = GroupMetadataValue(protocol_type="consumer", generation=3, protocol="range", leader="m", members=[member])
    group = decode_group("g", version.to_bytes(2, "big") + written.encode(version))
    assert (group.state, group.generation, group.leader, group.since) == (State.STABLE, 3, "m", None)
    loaded = group.members["m"]
    assert (loaded.session_timeout, loaded.rebalance_timeout) == (7, 7)
    assert (loaded.metadata("range"), loaded.assignment) == (b"s", b"a")


@pytest.mark.parametrize(
    ("key", "about"),
    [
        (bytes.fromhex("000000016700017400000001"), OffsetKey("g", "t", 1)),
        (bytes.fromhex("000100016700017400000001"), OffsetKey("g", "t", 1)),
        (bytes.fromhex("0002000167"), GroupKey("g")),
        (bytes.fromhex("0003000167"), None),
        (bytes.fromhex("000f000167"), None),
        (bytes.fromhex("0001"), None),
        (b"\x00", None),
        (b"", None),
        (None, None),
    ],
)
def test_keys_state_the_subject_of_a_record(key: bytes | None, about: OffsetKey | GroupKey | None) -> None:
    assert decode_key(key) == about


@pytest.mark.parametrize(
    ("group", "partition"), [("", 0), ("a", 47), ("my-group", 12), ("test-group", 12), ("Gruppe-ä", 26), ("🐟", 18)]
)
def test_groups_go_to_the_partition_that_java_would_choose(group: str, partition: int) -> None:
    assert partition_of(group, 50) == partition


def test_the_one_hash_that_has_no_positive_counterpart_goes_to_partition_zero() -> None:
    assert partition_of("polygenelubricants", 50) == 0


class TestReplay:
    def test_the_last_record_of_a_key_counts(self) -> None:
        replay = Replay()
        replay.entries([encode_offset("g", ORDERS, CommittedOffset(n, -1, "", n)) for n in (1, 2, 3)])
        (group,) = replay.groups()
        assert group.is_simple
        assert group.offsets == {ORDERS: CommittedOffset(3, -1, "", 3)}

    def test_a_record_without_value_ends_what_its_key_names(self) -> None:
        replay = Replay()
        replay.entries([encode_offset("g", ORDERS, CommittedOffset(1, -1, "", 1)), encode_offset("g", ORDERS, None)])
        replay.entries([encode_group_end("never was")])
        assert replay.groups() == []

    def test_a_record_that_cannot_be_understood_is_passed_over(self, caplog: pytest.LogCaptureFixture) -> None:
        key, _ = encode_offset("g", ORDERS, None)
        replay = Replay()
        with caplog.at_level(logging.WARNING):
            replay.entries([(key, b"\x00\x03short"), (key, b"\x00\x63"), (key, b""), (b"junk", b"junk")])
        assert replay.groups() == []
        assert len(caplog.records) == 3

    @pytest.mark.parametrize(("marker", "offset"), [(1, 2), (0, 1), (None, 1)])
    def test_offsets_of_a_transaction_count_when_it_is_committed(self, marker: int | None, offset: int) -> None:
        data = self.batch(1) + self.batch(2, producer_id=9, is_transactional=True)
        if marker is not None:
            builder = BatchBuilder(producer_id=9, producer_epoch=0, is_transactional=True, is_control=True)
            builder.append(b"\x00\x00" + marker.to_bytes(2, "big"), b"\x00\x00\x00\x00\x00\x00", timestamp=1)
            data += builder.build()
        replay = Replay()
        for each in read_batches(data):
            replay.batch(each)
        (group,) = replay.groups()
        assert group.offsets[ORDERS].offset == offset

    def batch(self, offset: int, *, producer_id: int = -1, is_transactional: bool = False) -> bytes:
        epoch = -1 if producer_id < 0 else 0
        builder = BatchBuilder(
            producer_id=producer_id, producer_epoch=epoch, base_sequence=epoch, is_transactional=is_transactional
        )
        builder.append(*encode_offset("g", ORDERS, CommittedOffset(offset, -1, "", 1)), timestamp=1)
        return bytes(builder.build())


class TestRestart:
    def test_members_carry_on_where_they_were(self, scene: ManualCoordinator) -> None:
        leader, follower = scene.stable_group(2)
        scene.commit(("orders", 0), 5, leader, 2)
        again = scene.restarted()
        assert again.heartbeat(leader, 2) == ErrorCode.NONE
        assert again.sync(follower, 2).synced.assignment == follower.encode()
        assert again.commit(("orders", 0), 6, follower, 2) == ErrorCode.NONE
        assert again.join(follower).joined.leader == leader

    def test_members_that_are_gone_are_out_after_a_session(self, scene: ManualCoordinator) -> None:
        scene.stable_group(2)
        again = scene.restarted()
        again.pass_time(SESSION)
        assert (again.group.state, again.group.generation) == (State.EMPTY, 3)

    def test_static_members_are_known_again(self, scene: ManualCoordinator) -> None:
        (member,) = scene.stable_group(instance="one")
        again = scene.restarted()
        assert again.heartbeat(member, 1, "one") == ErrorCode.NONE
        assert again.group.instances == {"one": member}
        assert again.join(instance="one").joined.generation == 1

    def test_a_member_of_a_generation_that_was_never_assigned_joins_again(self, scene: ManualCoordinator) -> None:
        (member,) = scene.stable_group()
        scene.join(member)
        assert scene.group.generation == 2
        again = scene.restarted()
        assert again.heartbeat(member, 2) == ErrorCode.ILLEGAL_GENERATION
        assert again.join(member).joined.generation == 2

    def test_an_empty_group_keeps_its_generation_and_its_kind(self, scene: ManualCoordinator) -> None:
        (member,) = scene.stable_group()
        scene.leave(member)
        again = scene.restarted()
        assert (again.group.state, again.group.generation) == (State.EMPTY, 2)
        assert (again.group.protocol_type, again.group.is_simple) == ("consumer", False)
        assert again.coordinator.find(GROUP) is again.group
