"""The same bytes, read and written by aiokafka and kafka-python."""

from __future__ import annotations

import warnings

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AioBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AioBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder as AioLegacyBuilder
from aiokafka.record.memory_records import MemoryRecords as AioRecords
from tests.records.samples import FORMATS, RECORDS, rows_of_columns, rows_of_records, sample

from kafkawire.records import BatchBuilder, Codec, read_batches

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas by a deprecated function
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaBuilder
    from kafka.record.legacy_records import LegacyRecordBatchBuilder as KafkaLegacyBuilder
    from kafka.record.memory_records import MemoryRecords as KafkaRecords

pytestmark = pytest.mark.twin

MODERN = list(Codec)
# aiokafka has no magic 0 lz4, and kafka-python only with a further library.
LEGACY = [(magic, codec) for magic, codec in FORMATS if magic < 2 and (magic, codec) != (0, Codec.LZ4)]
Seen = list[tuple[int, int | None, bytes | None, bytes | None, list[tuple[str, bytes | None]]]]


def seen_by(memory: AioRecords | KafkaRecords) -> Seen:
    seen = []
    while (batch := memory.next_batch()) is not None:
        assert batch.validate_crc()
        seen += [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in batch]
    return seen


def expected(data: bytes) -> Seen:
    return [
        (offset, None if kind < 0 else stamp, key, value, list(headers))
        for offset, stamp, kind, key, value, headers in rows_of_records(data)
    ]


@pytest.mark.parametrize(("magic", "codec"), [*LEGACY, *((2, codec) for codec in MODERN)])
def test_aiokafka_reads_what_we_write(magic: int, codec: Codec) -> None:
    data = sample(magic, codec)
    assert seen_by(AioRecords(data)) == expected(data)


@pytest.mark.parametrize(("magic", "codec"), [*LEGACY, *((2, codec) for codec in MODERN)])
def test_kafka_python_reads_what_we_write(magic: int, codec: Codec) -> None:
    data = sample(magic, codec)
    assert seen_by(KafkaRecords(data)) == expected(data)


@pytest.mark.parametrize("builder_class", [AioBuilder, KafkaBuilder])
@pytest.mark.parametrize("codec", MODERN)
def test_we_read_what_peers_write(builder_class: type[AioBuilder], codec: Codec) -> None:
    builder = builder_class(
        magic=2,
        compression_type=int(codec),
        is_transactional=1,
        producer_id=7,
        producer_epoch=3,
        base_sequence=11,
        batch_size=99999,
    )
    for step, (key, value, timestamp, headers) in enumerate(RECORDS):
        builder.append(step, timestamp=timestamp, key=key, value=value, headers=headers)
    data = bytes(builder.build())
    (batch,) = read_batches(data)
    assert (batch.codec, batch.producer_id, batch.producer_epoch, batch.base_sequence) == (codec, 7, 3, 11)
    assert batch.is_transactional
    assert rows_of_columns(data) == [
        (step, timestamp, 0, key, value, tuple(headers))
        for step, (key, value, timestamp, headers) in enumerate(RECORDS)
    ]
    if codec is Codec.NONE:
        ours = BatchBuilder(
            producer_id=7, producer_epoch=3, base_sequence=11, is_transactional=True, leader_epoch=batch.leader_epoch
        )
        for key, value, timestamp, headers in RECORDS:
            ours.append(key, value, timestamp, headers)
        assert ours.build() == data


@pytest.mark.parametrize("builder_class", [AioLegacyBuilder, KafkaLegacyBuilder])
@pytest.mark.parametrize(("magic", "codec"), LEGACY)
def test_we_read_old_formats_that_peers_write(builder_class: type[AioLegacyBuilder], magic: int, codec: Codec) -> None:
    builder = builder_class(magic=magic, compression_type=int(codec), batch_size=99999)
    for step, (key, value, timestamp, _) in enumerate(RECORDS):
        builder.append(step, timestamp=timestamp, key=key, value=value)
    data = bytes(builder.build())
    assert rows_of_columns(data) == rows_of_records(data)
    assert [(row[0], row[3], row[4]) for row in rows_of_columns(data)] == [
        (step, key, value) for step, (key, value, _, _) in enumerate(RECORDS)
    ]


def test_the_peer_is_the_compiled_one() -> None:
    assert AioBatch.__module__.startswith("aiokafka.record._crecords")
