"""Record batches in the tree: every format, packed and plain, whole, cut and corrupt."""

from __future__ import annotations

import sys

import pytest
from tests.inspect.tree_values import assert_tiles

from kafkawire.inspect._explain.explain import explain_message, explain_records
from kafkawire.inspect._explain.tree import Leaf, Space, walk
from kafkawire.messages import FetchResponse, FetchSnapshotResponse
from kafkawire.records import BatchBuilder, compress

TIME = 1700000000123


def batch(magic: int = 2, compression: str = "none", count: int = 2, base_offset: int = 0) -> bytes:
    builder = BatchBuilder(magic=magic, compression=compression, base_offset=base_offset)
    for index in range(count):
        headers = [("trace", b"1"), ("empty", None)] if magic == 2 else []
        stamp = TIME + index if magic else -1
        builder.append(b"key" if index else None, b"value-%d" % index, timestamp=stamp, headers=headers)
    return builder.build()


def leaves(space: Space) -> dict[str, Leaf]:
    return {leaf.path: leaf for leaf in space.leaves()}


def everything(space: Space) -> dict[str, object]:
    return {visit.path: visit.node.value for visit in walk(space) if not visit.children}


def faults(space: Space) -> list[tuple[str, str]]:
    return [(visit.path, str(visit.node.fault)) for visit in space.faults()]


def test_every_field_of_a_batch_and_its_records() -> None:
    space = explain_records(batch()).space
    found = leaves(space)
    assert found["[0].batch_length"].value == len(space.data) - 12
    assert found["[0].base_timestamp"].note == "2023-11-14 22:13:20.123 UTC"
    assert found["[0].producer_id"].note == "none"
    assert found["[0].crc"].note.endswith("right")
    assert found["[0].records[1].offset_delta"].note == "offset 1"
    assert found["[0].records[0].key"].value is None
    assert bytes(found["[0].records[1].value"].value) == b"value-1"
    assert found["[0].records[1].headers[0].key"].value == "trace"
    assert found["[0].records[1].headers[1].value"].value is None
    assert_tiles(space)


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_packed_records_are_one_leaf_and_a_space_of_their_own(compression: str) -> None:
    data = batch(compression=compression, count=20)
    space = explain_records(data).space
    packed = leaves(space)["[0].records"]
    assert (packed.type, packed.offset, packed.length) == (f"{compression} data", 61, len(data) - 61)
    values = everything(space)
    assert bytes(values["[0].records[19].value"]) == b"value-19"  # type: ignore[call-overload]  # a view
    assert_tiles(space)
    assert faults(space) == []


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", ["none", "gzip", "lz4"])
def test_messages_of_the_old_formats(magic: int, compression: str) -> None:
    space = explain_records(batch(magic, compression, count=3, base_offset=7)).space
    values = everything(space)
    inside = "[0].value[2]" if compression != "none" else "[2]"
    assert bytes(values[f"{inside}.value"]) == b"value-2"  # type: ignore[call-overload]  # a view
    notes = {visit.path: visit.node.note for visit in walk(space)}
    assert "offset 9" in notes[inside]
    assert (f"{inside}.timestamp" in values) == (magic == 1)
    assert_tiles(space)
    assert faults(space) == []


def test_formats_may_follow_each_other_and_the_last_batch_may_be_cut() -> None:
    space = explain_records(batch(0) + batch(1) + batch(2) + batch(2)[:50]).space
    kinds = [node.type for node in space.root.children()]
    assert kinds == ["message v0"] * 2 + ["message v1"] * 2 + ["record batch", "partial batch"]
    assert len(faults(space)) == 1
    assert_tiles(space)


def test_a_wrong_crc_is_a_fault_of_its_leaf_and_the_records_are_still_shown() -> None:
    data = bytearray(batch())
    data[-1] ^= 1
    space = explain_records(data).space
    assert faults(space)[0][0] == "[0].crc"
    assert "[0].records[0].value" in leaves(space)


@pytest.mark.parametrize(
    ("place", "value", "path", "problem"),
    [
        (16, 9, "[0]", "expected magic 0, 1 or 2, found magic 9 at offset 16"),
        (11, 5, "[0]", "expected a batch length of at least 49, found 5 at offset 8"),
        (60, 9, "[0].records[2]", "expected 9 records, found 2"),
        (60, 1, "[0].records[1]", "expected the end after 1 records"),
        (61, 0x7F, "[0].records[0]", "expected a record length of 6 to"),
        (61, 0x02, "[0].records[0]", "expected a record length of 6 to"),
    ],
)
def test_a_fault_of_a_batch_is_reported_at_its_place(place: int, value: int, path: str, problem: str) -> None:
    data = bytearray(batch())
    data[place] = value
    space = explain_records(data).space
    assert any(found == path and text.startswith(problem) for found, text in faults(space)), faults(space)
    assert_tiles(space)


def test_one_broken_record_does_not_hide_the_others() -> None:
    data = bytearray(batch(count=3))
    place = data.index(b"value-1") - 1
    data[place] = 0x7E
    space = explain_records(data).space
    assert [path for path, _ in faults(space)] == ["[0].crc", "[0].records[1].value"]
    assert "[0].records[2].value" in leaves(space)
    assert_tiles(space)


def test_a_fault_in_compressed_data_is_reported() -> None:
    data = bytearray(batch(compression="gzip", count=20))
    data[61] ^= 0xFF
    space = explain_records(data).space
    assert [path for path, _ in faults(space)] == ["[0].crc", "[0].records"]
    assert_tiles(space)


def test_a_bomb_is_refused_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkawire.inspect._explain.decompressed.MAX_UNPACKED", 100_000)
    bomb = bytes(compress("zstd", bytes(1_000_000)))
    head = batch(compression="zstd", count=1)[:61]
    data = head[:8] + (len(bomb) + 49).to_bytes(4, "big") + head[12:] + bomb
    space = explain_records(data).space
    path, text = faults(space)[-1]
    assert path == "[0].records"
    assert "more than 100000 bytes" in text
    assert_tiles(space)


def test_more_records_than_can_be_shown_are_one_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkawire.inspect._explain.records.MAX_RECORDS", 5)
    space = explain_records(batch(count=9)).space
    assert "not shown" in leaves(space)["[0].records[5]"].note
    assert_tiles(space)


def test_a_message_packed_inside_a_wrapper_is_not_unpacked_again() -> None:
    inner = batch(1, "gzip")
    builder = BatchBuilder(magic=1, compression="gzip")
    builder.append(None, b"x")
    wrapper = builder.build()
    packed = bytes(compress("gzip", inner, magic=1))
    start = wrapper[:16] + wrapper[16:18] + wrapper[18:30]
    data = start + len(packed).to_bytes(4, "big") + packed
    data = data[:8] + (len(data) - 12).to_bytes(4, "big") + data[12:]
    space = explain_records(data).space
    assert any("without a codec inside a wrapper" in text for _, text in faults(space))
    assert_tiles(space)


def test_control_records_show_their_marker() -> None:
    builder = BatchBuilder(is_transactional=True, is_control=True, producer_id=5, producer_epoch=0)
    builder.append(b"\x00\x00\x00\x01", b"\x00\x00\x00\x00\x00\x07")
    found = leaves(explain_records(builder.build()).space)
    assert found["[0].records[0].key.type"].note == "COMMIT"
    assert found["[0].records[0].value.coordinator_epoch"].value == 7


def test_batches_stand_inside_the_records_field_of_a_response() -> None:
    partition = FetchResponse.PartitionData(records=batch() + batch()[:20])
    response = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=[partition])])
    for version in (0, 4, 12):
        space = explain_message(response.encode(version), "FetchResponse", version).space
        field = "responses[0].partitions[0].records"
        found = leaves(space)
        assert found[f"{field}.size"].value == len(batch()) + 20
        assert bytes(found[f"{field}[0].records[1].key"].value) == b"key"
        assert found[f"{field}[1]"].type == "partial batch"
        assert_tiles(space)


@pytest.mark.parametrize("cut", [0, 5])
def test_a_part_of_a_snapshot_is_opened_only_if_it_begins_with_a_batch(cut: int) -> None:
    partition = FetchSnapshotResponse.PartitionSnapshot(unaligned_records=batch()[cut:])
    topic = FetchSnapshotResponse.TopicSnapshot(name="__cluster_metadata", partitions=[partition])
    data = FetchSnapshotResponse(topics=[topic]).encode(0)
    space = explain_message(data, "FetchSnapshotResponse", 0).space
    assert ("topics[0].partitions[0].unaligned_records[0].crc" in leaves(space)) == (cut == 0)
    assert faults(space) == []


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_codec_without_its_library_is_reported_with_the_remedy(magic: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = batch(magic, "snappy")
    monkeypatch.setitem(sys.modules, "cramjam", None)
    ((path, text),) = faults(explain_records(data).space)
    assert path == ("[0].records" if magic == 2 else "[0].value")
    assert text.startswith("expected a library that unpacks snappy, found none, pip install 'kafkawire[codecs]', at")
