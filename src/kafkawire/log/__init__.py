"""Durable partitions in Apache Kafka's own files: appended to, read, recovered, retained, compacted.

The public door of the layer:

- `LogDirectory(root, *, files, clock, config, topic_configs, properties)`: all partitions under one root.
- `Partition`: `append`, `append_marker`, `read`, `offset_for_timestamp`, `aborted_transactions`, `delete_records`,
  `truncate`, `begin_flush`/`finish_flush`/`flush`, `apply_retention`, `compact`, `close`.
- `LogConfig`: settings under Kafka's dotted names.
- `DiskFiles`, `MemoryFiles`, `FaultyFiles`: the disk, a memory that forgets, and a disk that fails on demand.

Refusals are Kafka's own errors, from `kafkawire.messages.errors`.
"""

from kafkawire.log.aborted import AbortedTransaction
from kafkawire.log.chain import FoundTimestamp
from kafkawire.log.configs import LogConfig
from kafkawire.log.directory import LogDirectory
from kafkawire.log.durability import Flush
from kafkawire.log.errors import RecordError, RefusedRecordsError, RefusedTimestampsError
from kafkawire.log.faults import Fault, FaultyFiles
from kafkawire.log.files import DiskFiles, FileSystem
from kafkawire.log.memory import MemoryFiles
from kafkawire.log.partition import AppendResult, Partition
from kafkawire.log.segment import FileRange

__all__ = [
    "AbortedTransaction",
    "AppendResult",
    "DiskFiles",
    "Fault",
    "FaultyFiles",
    "FileRange",
    "FileSystem",
    "Flush",
    "FoundTimestamp",
    "LogConfig",
    "LogDirectory",
    "MemoryFiles",
    "Partition",
    "RecordError",
    "RefusedRecordsError",
    "RefusedTimestampsError",
]
