"""Durable partitions in Apache Kafka's own files: append, read, recovery, retention, compaction.

The public door of the layer:

- `LogDirectory(root, *, files, clock, config, topic_configs, properties)`: all partitions under one root.
- `Partition`: `append`, `append_marker`, `read`, `offset_for_timestamp`, `aborted_transactions`, `delete_records`,
  `truncate`, `begin_flush`/`finish_flush`/`flush`, `apply_retention`, `compact`, `close`.
- `LogConfig`: settings under Kafka's dotted names.
- `DiskFiles`, `MemoryFiles`: files on disk, and files in memory. `kafkawire.testing.FaultyFiles` is a disk that
  fails on demand.

Errors are Kafka's own, from `kafkawire.messages.errors`. Names are loaded on first use.
"""

from typing import TYPE_CHECKING

from kafkawire._lazy import load_when_asked

if TYPE_CHECKING:
    from kafkawire.log._admission import SLOW_TO_PACK, AdmittedBatch, AppendResult, admit, admit_plain, is_slow
    from kafkawire.log._cleanup.compaction import compaction
    from kafkawire.log._cleanup.compaction import is_due as compaction_is_due
    from kafkawire.log._cleanup.retention import removal, retention
    from kafkawire.log._cleanup.steps import BackgroundWork, Step
    from kafkawire.log._cleanup.steps import run as run_steps
    from kafkawire.log._flush import Flush
    from kafkawire.log._offline.dump import dump_path, log_files, partitions_in
    from kafkawire.log._offline.findings import verify_paths
    from kafkawire.log._offline.log_file import LogFile, open_log
    from kafkawire.log._offline.old_formats import CodecTrial, OldFormats
    from kafkawire.log._offline.stats import available_codecs
    from kafkawire.log._offline.stats import collect as collect_stats
    from kafkawire.log._offline.stats_sections import Price as StoragePrice
    from kafkawire.log._offline.stats_sections import stats_sections
    from kafkawire.log._offline.verify import Finding as LogFinding
    from kafkawire.log._offline.verify import (
        index_entries,
        verify_aborted,
        verify_epochs,
        verify_metadata,
        verify_offset_index,
        verify_order,
        verify_overlaps,
        verify_snapshot,
        verify_time_index,
    )
    from kafkawire.log._producer_snapshots import SNAPSHOT as SNAPSHOT_SUFFIX
    from kafkawire.log._producer_snapshots import SnapshotError, decode_snapshot
    from kafkawire.log._repair.partition import plan_partition
    from kafkawire.log._repair.plan import Repair
    from kafkawire.log._repair.root import plan_checkpoints
    from kafkawire.log._repair.salvage import MARK as SALVAGE_MARK
    from kafkawire.log._repair.salvage import keep_copy, write_parts
    from kafkawire.log._repair.salvage import salvage as salvage_batches
    from kafkawire.log._runs import append_run
    from kafkawire.log._segment import LOG as LOG_SUFFIX
    from kafkawire.log._segment import SUFFIXES as SEGMENT_SUFFIXES
    from kafkawire.log._segment import SWAP as SWAP_SUFFIX
    from kafkawire.log._segment import stem as segment_stem
    from kafkawire.log._timestamps import FoundTimestamp, find_largest_timestamp, find_timestamp
    from kafkawire.log._txn_index import AbortedTransaction, decode_aborted
    from kafkawire.log._verification import ONGOING, Verification
    from kafkawire.log.config import LogConfig
    from kafkawire.log.directory import LogDirectory
    from kafkawire.log.errors import RecordError, RefusedRecordsError, RefusedTimestampsError
    from kafkawire.log.partition import Partition
    from kafkawire.log.storage.files import DiskFiles, FileRange, FileSystem
    from kafkawire.log.storage.memory import MemoryFiles


__all__ = [
    "AbortedTransaction",
    "AppendResult",
    "DiskFiles",
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


_HOMES = {
    "AppendResult": "_admission",
    "Flush": "_flush",
    "FoundTimestamp": "_timestamps",
    "AbortedTransaction": "_txn_index",
    "LogConfig": "config",
    "LogDirectory": "directory",
    "RecordError": "errors",
    "RefusedRecordsError": "errors",
    "RefusedTimestampsError": "errors",
    "Partition": "partition",
    "DiskFiles": "storage.files",
    "FileRange": "storage.files",
    "FileSystem": "storage.files",
    "MemoryFiles": "storage.memory",
}

# For other packages of kafkawire; not part of the public interface.
_SHARED = {
    "LOG_SUFFIX": "_segment:LOG",
    "BackgroundWork": "_cleanup.steps",
    "LogFile": "_offline.log_file",
    "LogFinding": "_offline.verify:Finding",
    "CodecTrial": "_offline.old_formats",
    "OldFormats": "_offline.old_formats",
    "ONGOING": "_verification",
    "Repair": "_repair.plan",
    "SALVAGE_MARK": "_repair.salvage:MARK",
    "SEGMENT_SUFFIXES": "_segment:SUFFIXES",
    "SLOW_TO_PACK": "_admission",
    "SNAPSHOT_SUFFIX": "_producer_snapshots:SNAPSHOT",
    "stats_sections": "_offline.stats_sections",
    "StoragePrice": "_offline.stats_sections:Price",
    "SWAP_SUFFIX": "_segment:SWAP",
    "SnapshotError": "_producer_snapshots",
    "Step": "_cleanup.steps",
    "Verification": "_verification",
    "AdmittedBatch": "_admission",
    "admit": "_admission",
    "admit_plain": "_admission",
    "append_run": "_runs",
    "available_codecs": "_offline.stats",
    "collect_stats": "_offline.stats:collect",
    "compaction": "_cleanup.compaction",
    "compaction_is_due": "_cleanup.compaction:is_due",
    "decode_aborted": "_txn_index",
    "decode_snapshot": "_producer_snapshots",
    "dump_path": "_offline.dump",
    "find_largest_timestamp": "_timestamps",
    "find_timestamp": "_timestamps",
    "index_entries": "_offline.verify",
    "is_slow": "_admission",
    "keep_copy": "_repair.salvage",
    "log_files": "_offline.dump",
    "open_log": "_offline.log_file",
    "partitions_in": "_offline.dump",
    "plan_checkpoints": "_repair.root",
    "plan_partition": "_repair.partition",
    "removal": "_cleanup.retention",
    "retention": "_cleanup.retention",
    "run_steps": "_cleanup.steps:run",
    "salvage_batches": "_repair.salvage:salvage",
    "segment_stem": "_segment:stem",
    "verify_aborted": "_offline.verify",
    "verify_epochs": "_offline.verify",
    "verify_metadata": "_offline.verify",
    "verify_offset_index": "_offline.verify",
    "verify_order": "_offline.verify",
    "verify_overlaps": "_offline.verify",
    "verify_paths": "_offline.findings",
    "verify_snapshot": "_offline.verify",
    "verify_time_index": "_offline.verify",
    "write_parts": "_repair.salvage",
}

if not TYPE_CHECKING:  # a type checker that sees it would accept any name
    __getattr__ = load_when_asked(__name__, _HOMES | _SHARED)
