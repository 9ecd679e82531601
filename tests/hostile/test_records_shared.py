"""Buffers that somebody writes to while they are read: rows may be wrong or refused, but nothing is read past the end.

The buffers end right before a page that may not be touched: one byte too many read is a crash of the test run.
"""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING

import pytest
from tests.hostile.guarded_memory import GuardedMemory
from tests.records.samples import FORMATS, rows_of_columns, rows_of_records, sample

from kafkawire.records import (
    BATCH_SCHEMA,
    RECORD_SCHEMA,
    Codec,
    CorruptRecordError,
    compression,
    scan_batches,
    to_arrow,
)

if TYPE_CHECKING:
    from kafkawire.records import Buffer

COLUMNS = [*RECORD_SCHEMA.names, *BATCH_SCHEMA.names]


@pytest.mark.twin
@pytest.mark.parametrize("magic", [magic for magic, codec in FORMATS if codec is Codec.GZIP])
@pytest.mark.parametrize("head", [b"\x7f\xff\xff\xff", b"\xff\xff\xf0\x00", b"\x00\x00\x00\x00"])
def test_sizes_and_magic_that_change_while_a_batch_is_unpacked_lead_nowhere(
    magic: int, head: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytearray(sample(magic, Codec.GZIP) + sample(2, Codec.NONE, 200))
    expected = rows_of_records(bytes(data))
    unpack_gzip = compression._UNPACK[Codec.GZIP]

    def unpack_and_write(packed: Buffer, limit: int, magic: int) -> Buffer:
        whole = unpack_gzip(packed, limit, magic)
        data[8:12] = head
        data[16] = 2 - data[16]
        return whole

    monkeypatch.setitem(compression._UNPACK, Codec.GZIP, unpack_and_write)
    assert rows_of_columns(data) == expected


def test_magic_that_changes_at_any_time_is_read_within_bounds() -> None:
    pytest.importorskip("kafkawire.records._kernel._decode")
    smallest = struct.pack(">qiIbbii", 5, 14, 0, 0, 0, -1, -1)
    data = sample(2, Codec.NONE) * 500 + smallest
    refused: set[int] = set()
    stopped = threading.Event()
    with GuardedMemory(len(data)).ending_with(data) as view:
        at = len(data) - len(smallest) + 16

        def write() -> None:
            while not stopped.is_set():
                for _ in range(1000):
                    view[at] = 2
                    view[at] = 0

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(100):
                assert scan_batches(view, verify=False).count in (500, 501)
                try:
                    assert to_arrow(view, columns=COLUMNS, verify=False).num_rows == 2001
                except CorruptRecordError as error:
                    refused.add(error.position)
        finally:
            stopped.set()
            writer.join()
    assert refused <= {len(data) - len(smallest)}
