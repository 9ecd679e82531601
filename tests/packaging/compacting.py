"""A log that the core compacts: `python compacting.py`."""

from __future__ import annotations

import sys
from pathlib import Path

from kafkawire.log import LogConfig, MemoryFiles, Partition
from kafkawire.records import BatchBuilder, read_batches

NOW = 1_700_000_000_000
DIRECTORY = Path("/logs/topic-0")


def main() -> None:
    files = MemoryFiles(lambda: NOW)
    files.make_directory(DIRECTORY)
    log = Partition(files, DIRECTORY, LogConfig(cleanup_policy="compact", file_delete_delay_ms=0), lambda: NOW)
    for number in range(10):
        builder = BatchBuilder(compression="gzip")
        builder.append(b"a", b"%d" % number, timestamp=NOW)
        log.append(builder.build())
        log.roll()
    log.compact()
    left = [
        (record.offset, bytes(record.key or b""), bytes(record.value or b""))
        for segment in log.segments
        for batch in read_batches(segment.file.read(0, segment.size))
        for record in batch.records()
    ]
    sys.stdout.write(f"{left}\n")


if __name__ == "__main__":
    main()
