"""Apache Kafka's DumpLogSegments reads our directories without complaint."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from tests.log.batches import NOW, Clock, batch, keyed
from tests.log.index_cases import CASES, write_case
from tests.records.compressed_forms import ACCEPTED, FORMS, HEADER, VALUES, packed_batch, plain

from kafkawire.log import DiskFiles, LogConfig, LogDirectory
from kafkawire.log._producer_snapshots import decode_snapshot
from kafkawire.records import BatchBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheKafka

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plain, compressed, idempotent, transactional and compacted partitions, stopped cleanly."""
    root = tmp_path_factory.mktemp("ours")
    clock = Clock()
    logs = LogDirectory(root, files=DiskFiles(), clock=clock, properties={"node.id": "1", "cluster.id": "x"})
    plain = logs.create("plain", 0, topic_id=UUID(int=77), config=LogConfig(segment_bytes=40_000))
    for number in range(300):
        clock.advance(10)
        builder = BatchBuilder(
            compression=CODECS[number % 5], producer_id=9, producer_epoch=0, base_sequence=number * 3
        )
        for part in range(3):
            builder.append(b"k%d" % part, b"value %d " % number * 20, timestamp=clock(), headers=[("h", b"%d" % part)])
        plain.append(builder.build(), leader_epoch=number // 100)
    stamped = LogConfig(message_timestamp_type="LogAppendTime", compression_type="zstd")
    appended = logs.create("stamped", 0, config=stamped)
    for _ in range(50):
        clock.advance(10)
        appended.append(batch(b"x" * 500, b"y"))
    transactions = logs.create("transactions", 0, config=LogConfig(segment_bytes=5000))
    for number in range(60):
        transactions.append(batch(b"t" * 200, producer=(5, 0, number), transactional=True, timestamp=NOW + number))
        transactions.append_marker(5, 0, 3, commit=number % 3 == 0)
    compacted = logs.create("compacted", 0, config=LogConfig(segment_bytes=5000, cleanup_policy="compact"))
    for number in range(200):
        compacted.append(keyed({b"k%d" % (number % 9): b"v%d" % number * 20, b"t": None}, timestamp=NOW + number))
    compacted.compact(force=True)
    logs.close()
    return root


def files(root: Path, partition: str, suffix: str) -> list[Path]:
    found = sorted((root / partition).glob(f"*{suffix}"))
    assert found
    return found


PARTITIONS = ("plain-0", "stamped-0", "transactions-0", "compacted-0")


@pytest.mark.parametrize("partition", PARTITIONS)
def test_logs_and_their_records(kafka: ApacheKafka, root: Path, partition: str) -> None:
    text = kafka.dump(files(root, partition, ".log"), "--deep-iteration", "--print-data-log")
    assert text.count("isvalid: true") > 10
    gaps = [line for line in text.splitlines() if "is followed by" in line and "-1 is followed" not in line]
    assert bool(gaps) == (partition == "compacted-0")  # before the first record of any file the tool expects -1


@pytest.mark.parametrize("partition", PARTITIONS)
def test_offset_and_time_indexes_against_the_log(kafka: ApacheKafka, root: Path, partition: str) -> None:
    indexes = [*files(root, partition, ".index"), *files(root, partition, ".timeindex")]
    kafka.dump(indexes, "--verify-index-only")
    kafka.dump(files(root, partition, ".index"), "--index-sanity-check")


def test_aborted_transactions(kafka: ApacheKafka, root: Path) -> None:
    text = kafka.dump(files(root, "transactions-0", ".txnindex"))
    assert text.count("producerId: 5") == 40
    assert "lastStableOffset" in text


def test_producer_snapshots(kafka: ApacheKafka, root: Path) -> None:
    assert "producerId: 9 producerEpoch: 0" in kafka.dump(files(root, "plain-0", ".snapshot"))


def test_a_snapshot_with_all_cached_batches_is_read_as_one_with_the_last(kafka: ApacheKafka, root: Path) -> None:
    latest = files(root, "plain-0", ".snapshot")[-1]
    (producer,) = decode_snapshot(latest.read_bytes())
    assert len(producer.batches) == 5
    text = kafka.dump([latest])
    last = producer.batches[-1]
    assert text.count("producerId") == 1
    assert f"lastTimestamp: {last.timestamp}" in text
    assert f"lastSequence: {last.last_sequence} lastOffset: {last.last_offset} offsetDelta: 2" in text


def test_markers_are_distinguished(kafka: ApacheKafka, root: Path) -> None:
    text = kafka.dump(files(root, "transactions-0", ".log"), "--print-data-log")
    assert (text.count("endTxnMarker: COMMIT"), text.count("endTxnMarker: ABORT")) == (20, 40)
    assert "coordinatorEpoch: 3" in text


def test_every_form_of_compressed_records_that_a_log_accepts(kafka: ApacheKafka, tmp_path: Path) -> None:
    logs = LogDirectory(tmp_path, clock=Clock())
    log = logs.create("packed", 0, config=LogConfig())
    raw = plain(VALUES)[HEADER:]
    for name in sorted(ACCEPTED):
        codec, pack = FORMS[name]
        log.append(packed_batch(codec, pack(raw)))
    logs.close()
    text = kafka.dump(files(tmp_path, "packed-0", ".log"), "--deep-iteration", "--print-data-log")
    assert text.count("| offset: ") == len(ACCEPTED) * len(VALUES)


def test_the_tool_does_complain_of_damage(kafka: ApacheKafka, root: Path, tmp_path: Path) -> None:
    for path in (root / "plain-0").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    index = sorted(tmp_path.glob("*.index"))[0]
    data = bytearray(index.read_bytes())
    data[3] ^= 1
    index.write_bytes(data)
    with pytest.raises(AssertionError, match="ismatch"):
        kafka.dump([index], "--verify-index-only")


@pytest.mark.parametrize("name", CASES)
def test_index_entries_that_the_tool_accepts_and_rejects(kafka: ApacheKafka, tmp_path: Path, name: str) -> None:
    """The same cases as those of our verification: a time index names batches by their last offsets only."""
    case = CASES[name]
    path = write_case(tmp_path / "orders-0", case)
    if case.kafka is None:
        kafka.dump([path], "--verify-index-only")
        return
    with pytest.raises(AssertionError, match=case.kafka):
        kafka.dump([path], "--verify-index-only")
