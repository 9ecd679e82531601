"""Control batches: markers of transactions and of KRaft."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kafkawire import messages
from kafkawire.records import (
    BatchBuilder,
    ControlType,
    CorruptRecordError,
    Marker,
    read_batches,
    transaction_marker,
)

if TYPE_CHECKING:
    from kafkawire.records import Buffer

pytestmark = pytest.mark.twin


def control(*records: tuple[bytes | None, bytes | None]) -> bytes:
    builder = BatchBuilder(is_control=True, base_offset=8)
    for key, value in records:
        builder.append(key, value)
    return builder.build()


def markers(data: Buffer) -> list[Marker]:
    return [marker for batch in read_batches(data) for marker in batch.markers()]


@pytest.mark.parametrize(("kind", "name"), [(ControlType.ABORT, "abort"), (ControlType.COMMIT, "commit")])
def test_transaction_marker_is_78_bytes_with_its_coordinator_epoch(kind: ControlType, name: str) -> None:
    builder = BatchBuilder(is_control=True, is_transactional=True, producer_id=3, producer_epoch=1, base_offset=8)
    builder.append(*transaction_marker(kind, 17))
    data = builder.build()
    assert len(data) == 78
    assert markers(data) == [Marker(8, kind, coordinator_epoch=17)]
    assert markers(data)[0].name == name


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (2, messages.LeaderChangeMessage(version=1, leader_id=4)),
        (3, messages.SnapshotHeaderRecord(last_contained_log_timestamp=99)),
        (4, messages.SnapshotFooterRecord()),
        (5, messages.KRaftVersionRecord(k_raft_version=1)),
        (6, messages.VotersRecord(voters=[messages.VotersRecord.Voter(voter_id=2)])),
    ],
)
def test_kraft_markers_hold_their_message(kind: int, body: Any) -> None:
    data = control((bytes((0, 0, 0, kind)), body.encode(body.version)))
    assert markers(data) == [Marker(8, kind, body=body)]


def test_longer_keys_higher_versions_and_unknown_types_are_read() -> None:
    data = control((b"\x00\x07\x00\x01more", b"\x00\x03\x00\x00\x00\x09more"), (b"\x00\x00\x00\x63", None))
    commit, unknown = markers(data)
    assert (commit.type, commit.coordinator_epoch) == (ControlType.COMMIT, 9)
    assert (unknown.name, unknown.offset, unknown.body) == ("unknown 99", 9, None)


def test_body_of_a_later_version_is_left_unread() -> None:
    assert markers(control((b"\x00\x00\x00\x02", b"\x00\x63rest"))) == [Marker(8, 2)]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        (None, b"", "control key of 0 bytes"),
        (b"\x00\x00\x00", b"", "control key of 3 bytes"),
        (b"\xff\xff\x00\x00", b"", "control key version -1"),
        (b"\x00\x00\x00\x00", b"\x00\x00", "marker of 2 bytes"),
        (b"\x00\x00\x00\x01", b"\xff\xff\x00\x00\x00\x00", "marker version -1"),
        (b"\x00\x00\x00\x02", b"\x00", "LeaderChangeMessage of 1 bytes"),
        (b"\x00\x00\x00\x02", b"\xff\xff", "LeaderChangeMessage version -1"),
        (b"\x00\x00\x00\x02", b"\x00\x00\x00", "LeaderChangeMessage"),
    ],
)
def test_markers_that_cannot_be_are_corrupt(key: bytes | None, value: bytes, words: str) -> None:
    with pytest.raises(CorruptRecordError, match=words):
        markers(control((key, value)))


def test_other_batches_have_no_markers() -> None:
    builder = BatchBuilder()
    builder.append(*transaction_marker(ControlType.COMMIT, 17))
    builder.append(None, b"value")
    assert markers(builder.build()) == []
