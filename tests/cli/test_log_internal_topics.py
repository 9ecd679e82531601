"""kafkawire log dump --records, over the records that Kafka itself writes."""

from __future__ import annotations

import base64
import json
import struct
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.cli.main import main
from kafkawire.messages import (
    ConsumerProtocolSubscription,
    GroupMetadataKey,
    GroupMetadataValue,
    Message,
    OffsetCommitKey,
    OffsetCommitValue,
    ShareSnapshotKey,
    ShareSnapshotValue,
    TopicRecord,
    TransactionLogKey,
    TransactionLogValue,
)
from kafkawire.records import BatchBuilder
from kafkawire.records.control import ControlType, marker_batch

if TYPE_CHECKING:
    from pathlib import Path


def typed(kind: int, message: Message, version: int | None = None) -> bytes:
    return struct.pack(">h", kind) + message.encode(kind if version is None else version)


def log(root: Path, folder: str, *records: tuple[bytes | None, bytes | None], tail: bytes = b"") -> Path:
    builder = BatchBuilder()
    for key, value in records:
        builder.append(key, value, timestamp=1_700_000_000_000)
    path = root / folder / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(bytes(builder.build()) + tail)
    return path


def dumped(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main(["log", "dump", *arguments, "--records", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [row for row in rows if row["kind"] == "record"]


def transaction(status: int, version: int = 1, **more: Any) -> tuple[bytes, bytes]:
    topic = TransactionLogValue.PartitionsSchema(topic="orders", partition_ids=[0, 2])
    value = TransactionLogValue(
        producer_id=7,
        producer_epoch=3,
        transaction_timeout_ms=60_000,
        transaction_status=status,
        transaction_partitions=[topic],
        **more,
    )
    return typed(0, TransactionLogKey(transactional_id="payments")), typed(version, value)


def test_transactions_have_states_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = log(tmp_path, "__transaction_state-7", transaction(1), transaction(4, version=0), transaction(99))
    ongoing, complete, unknown = dumped(capsys, str(path))
    assert ongoing["key"] == {"type": "TransactionLogKey", "version": 0, "data": {"transactionalId": "payments"}}
    assert ongoing["value"]["version"] == 1
    data = ongoing["value"]["data"]
    assert (data["producerId"], data["producerEpoch"], data["transactionStatus"]) == (7, 3, "Ongoing")
    assert data["transactionPartitions"] == [{"topic": "orders", "partitionIds": [0, 2]}]
    assert (complete["value"]["version"], complete["value"]["data"]["transactionStatus"]) == (0, "CompleteCommit")
    assert unknown["value"]["data"]["transactionStatus"] == 99


def test_an_expired_transactional_id_is_a_key_without_a_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = dumped(capsys, str(log(tmp_path, "__transaction_state-7", (transaction(1)[0], None))))
    assert row["key"]["data"] == {"transactionalId": "payments"}
    assert row["value"] is None


def test_the_topic_of_a_file_elsewhere_is_an_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(log(tmp_path, "copied", transaction(1)))
    assert restored(dumped(capsys, path)[0], "value") == transaction(1)[1]
    assert dumped(capsys, path, "--topic", "__transaction_state")[0]["value"]["type"] == "TransactionLogValue"


def test_offsets_and_groups_are_decoded_with_their_members(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subscription = b"\0\1" + ConsumerProtocolSubscription(topics=["orders"]).encode(1)
    member = GroupMetadataValue.MemberMetadata(
        member_id="m", client_id="c", client_host="h", subscription=subscription, assignment=b"?"
    )
    group = GroupMetadataValue(protocol_type="consumer", generation=4, members=[member])
    offset = OffsetCommitKey(group="g", topic="orders", partition=2)
    rows = dumped(
        capsys,
        str(
            log(
                tmp_path,
                "__consumer_offsets-3",
                (typed(1, offset, 0), typed(3, OffsetCommitValue(offset=50))),
                (typed(2, GroupMetadataKey(group="g"), 0), typed(3, group)),
            )
        ),
    )
    assert rows[0]["key"]["data"] == {"group": "g", "topic": "orders", "partition": 2}
    assert rows[0]["value"]["data"]["offset"] == 50
    (found,) = rows[1]["value"]["data"]["members"]
    assert found["subscription"]["topics"] == ["orders"]
    assert found["assignment"] == "Pw=="


def test_metadata_and_share_groups_are_decoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topic = b"\1\2\0" + TopicRecord(name="orders").encode(0)
    (row,) = dumped(capsys, str(log(tmp_path, "__cluster_metadata-0", (None, topic))))
    assert (row["value"]["type"], row["value"]["data"]["name"]) == ("TopicRecord", "orders")
    share = typed(0, ShareSnapshotKey(group_id="g")), typed(0, ShareSnapshotValue(snapshot_epoch=5))
    (row,) = dumped(capsys, str(log(tmp_path, "__share_group_state-1", share)))
    assert (row["key"]["type"], row["value"]["data"]["snapshotEpoch"]) == ("ShareSnapshotKey", 5)


def test_a_snapshot_of_the_metadata_log_is_shown_as_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = log(tmp_path, "__cluster_metadata-0", (None, b"\1\2\0" + TopicRecord(name="orders").encode(0)))
    path.rename(path.with_name(f"{5:020}-{1:010}.checkpoint"))
    (row,) = dumped(capsys, str(path.with_name(f"{5:020}-{1:010}.checkpoint")))
    assert row["value"]["type"] == "TopicRecord"


def test_control_records_are_shown_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marker = marker_batch(ControlType.ABORT, 7, 3, 11, timestamp=1_700_000_000_000)
    (row,) = dumped(capsys, str(log(tmp_path, "orders-0", tail=marker)))
    assert row["key"]["data"] == {"type": "abort"}
    assert row["value"] == {"type": "EndTxnMarker", "version": 0, "data": {"coordinatorEpoch": 11}}
    assert main(["log", "dump", str(tmp_path / "orders-0"), "--records"]) == 0
    text = capsys.readouterr().out
    assert 'EndTxnMarker v0 {"coordinatorEpoch": 11}' in text
    assert "crc" in text


def restored(row: dict[str, Any], name: str) -> bytes | None:
    """The bytes of a field of JSON."""
    if f"{name}_base64" in row:
        return base64.b64decode(row[f"{name}_base64"])
    text: str | None = row[name]
    return None if text is None else text.encode()


@pytest.mark.parametrize("value", [b"", b"\0", b"\0\1", b"\0\x63abc", b"\xff\xff", b"\0\1" + bytes(80)])
@pytest.mark.parametrize("topic", ["__transaction_state", "__consumer_offsets", "__cluster_metadata", "orders"])
def test_bytes_that_are_not_the_expected_message_stay_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], topic: str, value: bytes
) -> None:
    for key in (None, b"", b"\0", b"\0\0", b"\x7f\xff", b"\0\0\0\1x", b"\xff\xff\0\1x"):
        folder = tmp_path / f"{topic}-0"
        (row,) = dumped(capsys, str(log(tmp_path, folder.name, (key, value))))
        assert restored(row, "value") == value
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def test_every_key_schema_of_a_coordinator_has_a_value_schema_of_its_name() -> None:
    from kafkawire.log.internal_topics import COORDINATOR_TOPICS, record_names

    for folder in COORDINATOR_TOPICS.values():
        keys, values = record_names(folder, "key"), record_names(folder, "value")
        assert keys
        assert {kind: name.removesuffix("Key") + "Value" for kind, name in keys.items()} == values
