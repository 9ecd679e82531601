"""The tables that captures, log directories and topics become: one definition each, for the command line and Spark.

Rules:
- Columns of batches and records have the names of `kafkawire.records`, in every source. The types differ from those
  only where Spark needs it: times in microseconds, no unsigned numbers, sizes of 64 bits.
- Every source has the columns topic, partition and those of the batch header or of the record. A column of these that
  a source cannot know is null. Other columns are absent if a source has no value for them.
- A header field that a batch does not have is -1, as in the format. Elsewhere null means not known or not applicable.
- Times are microseconds in UTC; one that does not fit is null. Durations are microseconds or milliseconds by name.
- (conn_id, seq) names an exchange everywhere. conn_id is unique within a run, over all its files.
- The inspector fills a record's value only on request; value_len is always there.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafkawire.records import BATCH_SCHEMA, RECORD_SCHEMA

_TIME: Final[pa.DataType] = pa.timestamp("us", "UTC")
_EXCHANGE: Final[pa.DataType] = pa.struct([("conn_id", pa.int64()), ("seq", pa.int64())])
_RANGE: Final[pa.DataType] = pa.struct([("api_key", pa.int16()), ("min", pa.int16()), ("max", pa.int16())])
_WIDE: Final[dict[str, pa.DataType]] = {"size": pa.int64(), "crc": pa.int64()}

STATES: Final = ("matched", "no_response_expected", "unanswered", "request_missing", "gap", "undecoded", "sasl_token")


def _schema(fields: list[tuple[str, pa.DataType]]) -> pa.Schema:
    return pa.schema(fields)


def _columns_of(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [
        (field.name, _TIME if pa.types.is_timestamp(field.type) else _WIDE.get(field.name, field.type))
        for field in schema
    ]


_PLACE: Final[list[tuple[str, pa.DataType]]] = [("topic", pa.string()), ("partition", pa.int32())]
_BATCH: Final = _columns_of(BATCH_SCHEMA)
_RECORD: Final = _columns_of(RECORD_SCHEMA)
BATCH_COLUMNS: Final = _schema(_BATCH)
"""The header of a batch, as every table has it."""

CONNECTIONS: Final = _schema(
    [
        ("conn_id", pa.int64()),
        ("file", pa.string()),
        ("client", pa.string()),
        ("server", pa.string()),
        ("kind", pa.string()),  # kafka, tls, http, unknown, empty
        ("t_syn", _TIME),
        ("t_first", _TIME),
        ("t_last", _TIME),
        ("rtt_us", pa.int64()),
        ("closed_by", pa.string()),  # client or broker
        ("close_kind", pa.string()),  # fin or rst
        ("t_close", _TIME),
        ("idle_ms", pa.int64()),  # quiet before the close
        ("bytes_c", pa.int64()),
        ("bytes_s", pa.int64()),
        ("gaps", pa.int32()),
        ("missing_bytes", pa.int64()),  # known to have been sent, not in the capture
        ("skipped_bytes", pa.int64()),  # in the capture, in no frame
        ("retrans", pa.int32()),
        ("duplicates", pa.int32()),
        ("zero_windows", pa.int32()),
        ("tls", pa.bool_()),
        ("frames", pa.int64()),
        ("undecoded", pa.int64()),
        ("pending", pa.int32()),  # requests without an answer
        ("tail_declared", pa.int64()),  # of the frame that the client's bytes end in
        ("tail_present", pa.int64()),
        ("start_c", pa.binary()),
        ("start_s", pa.binary()),
        ("software_name", pa.string()),
        ("software_version", pa.string()),
        ("inter_broker", pa.bool_()),
    ]
)

GAPS: Final = _schema(
    [
        ("conn_id", pa.int64()),
        ("sender", pa.string()),  # client or broker
        ("position", pa.int64()),
        ("bytes", pa.int64()),
        ("t", _TIME),  # of what comes before it
        ("reason", pa.string()),
    ]
)

EXCHANGES: Final = _schema(
    [
        ("conn_id", pa.int64()),
        ("seq", pa.int64()),
        ("api_key", pa.int16()),
        ("api", pa.string()),
        ("version", pa.int16()),
        ("corr_id", pa.int32()),
        ("client_id", pa.string()),
        ("ts_req", _TIME),
        ("ts_resp", _TIME),
        ("wait_us", pa.int64()),
        ("service_us", pa.int64()),
        ("req_transfer_us", pa.int64()),
        ("resp_transfer_us", pa.int64()),
        ("req_bytes", pa.int64()),
        ("resp_bytes", pa.int64()),
        ("req_packet", pa.int64()),
        ("resp_packet", pa.int64()),
        ("state", pa.string()),
        ("throttle_ms", pa.int32()),
        ("error_code", pa.int16()),
        ("acks", pa.int16()),
        ("group_id", pa.string()),
        ("member_id", pa.string()),
        ("instance_id", pa.string()),
        ("generation", pa.int32()),
        ("owned", pa.int32()),  # partitions or active tasks that a heartbeat reports; null if it reports none
        ("assigned", pa.int32()),  # partitions or active tasks that a heartbeat is answered with; null if unchanged
        ("reason", pa.string()),
        ("transactional_id", pa.string()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("committed", pa.bool_()),  # EndTxn, WriteTxnMarkers
        ("transaction_timeout_ms", pa.int32()),  # that InitProducerId asks for
        ("replica_id", pa.int32()),
        ("max_wait_ms", pa.int32()),
        ("min_bytes", pa.int32()),
        ("isolation", pa.int8()),
        ("session_id", pa.int32()),
        ("session_epoch", pa.int32()),
        ("session_size", pa.int32()),  # partitions in the fetch session after this request; null where not known
        ("auto_create", pa.bool_()),
        ("session_lifetime_ms", pa.int64()),
        ("api_versions", pa.list_(_RANGE)),
        ("trailing_bytes", pa.int32()),  # after the request and the response, which brokers and clients ignore
        ("fault", pa.string()),
    ]
)

EXCHANGE_PARTITIONS: Final = _schema(
    [
        ("conn_id", pa.int64()),
        ("seq", pa.int64()),
        ("api_key", pa.int16()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),  # -1: the topic as a whole
        ("error_code", pa.int16()),
        ("fetch_offset", pa.int64()),
        ("max_bytes", pa.int32()),
        ("committed_offset", pa.int64()),
        ("timestamp", pa.int64()),  # that ListOffsets asks for; -1 latest, -2 earliest
        ("base_offset", pa.int64()),
        ("high_watermark", pa.int64()),
        ("lso", pa.int64()),
        ("log_start", pa.int64()),
        ("leader_id", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("replicas", pa.int32()),
        ("isr", pa.int32()),
        ("bytes", pa.int64()),
        ("batches", pa.int32()),
        (
            "deliveries",
            pa.int16(),
        ),  # the most of a record that a share group gets; base_offset is the first such record
    ]
)

_SEEN: Final[list[tuple[str, pa.DataType]]] = [
    ("file", pa.string()),  # the log file; null in captures
    ("source", pa.string()),  # request, response or segment
    ("location", pa.string()),  # connection/exchange@byte, or file@byte
    ("conn_id", pa.int64()),
    ("seq", pa.int64()),
]
"""The columns that say where the inspector found a batch or a record."""

BATCHES: Final = _schema(
    [
        *_PLACE,
        *_BATCH,
        ("timestamp_type", pa.int8()),  # 0 create time, 1 log append time, -1 none
        *_SEEN,
        ("raw_bytes", pa.int64()),  # of the decompressed records; null if they were not decompressed
        ("last_record", pa.int64()),  # the last offset that has a record, of batches that compaction thinned out
        ("crc_ok", pa.bool_()),
    ]
)

RECORDS: Final = _schema(
    [
        *_PLACE,
        *_RECORD,
        ("position", pa.int64()),  # of the batch, in the file or in the records of a message
        *_SEEN,
        ("value_len", pa.int64()),
        ("tombstone", pa.bool_()),
    ]
)

SEGMENT_FILES: Final = _schema(
    [
        *_PLACE,
        ("topic_id", pa.string()),
        ("file", pa.string()),
        ("kind", pa.string()),  # log, index, timeindex, txnindex, snapshot, checkpoint, metadata
        ("base_offset", pa.int64()),
        ("size", pa.int64()),
        ("entries", pa.int64()),  # batches of a log, entries of an index
        ("records", pa.int64()),  # null if headers do not count them
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("first_timestamp", _TIME),
        ("max_timestamp", _TIME),
        ("tail_bytes", pa.int64()),  # of an unfinished batch at the end of a log
        ("faults", pa.int64()),
        ("state", pa.string()),  # ok, cut, damaged, unread, leftover
        ("fault", pa.string()),
    ]
)

INDEX_ERRORS: Final = _schema(
    [
        *_PLACE,
        ("file", pa.string()),
        ("kind", pa.string()),
        ("entry", pa.int64()),  # null if the file as a whole is wrong
        ("position", pa.int64()),  # of the entry, in bytes of the file
        ("offset", pa.int64()),
        ("log_position", pa.int64()),  # the position in the log that the entry names
        ("expected", pa.int64()),
        ("found", pa.int64()),
        ("problem", pa.string()),
    ]
)

_PART: Final[list[tuple[str, pa.DataType]]] = [
    *_PLACE,
    ("first_offset", pa.int64()),  # of its data; null if not known
    ("last_offset", pa.int64()),
]

TRANSACTIONS: Final = _schema(
    [
        ("source", pa.string()),  # traffic, segment or transaction_log
        ("transactional_id", pa.string()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),  # of its data
        ("outcome", pa.string()),  # committed, aborted, fenced, timed_out, open, unknown
        ("begin", _TIME),
        ("last", _TIME),  # of its last data
        ("end", _TIME),
        ("duration_us", pa.int64()),
        ("timeout_ms", pa.int32()),
        ("ended_by", pa.string()),  # client, broker, or the address that wrote a marker
        ("fenced_by", pa.string()),  # the address that took over the transactional id
        ("error_code", pa.int16()),  # with which the producer learnt of the end
        ("state", pa.string()),  # the last one in the transaction log
        ("client", pa.string()),
        ("client_id", pa.string()),
        ("conn_id", pa.int64()),  # of its first request
        ("partitions", pa.list_(pa.struct(_PART))),
        ("groups", pa.list_(pa.string())),  # whose offsets it commits
        ("batches", pa.int64()),
        ("records", pa.int64()),
        ("bytes", pa.int64()),
        ("exchanges", pa.list_(_EXCHANGE)),
    ]
)

FINDINGS: Final = _schema(
    [
        ("rule", pa.string()),
        ("level", pa.string()),  # info, warning, error
        ("certainty", pa.string()),  # proven or suspected
        ("conn_id", pa.int64()),
        ("connection", pa.string()),
        ("client_id", pa.string()),
        ("entity", pa.string()),
        ("t0", _TIME),
        ("t1", _TIME),
        ("count", pa.int64()),
        ("evidence", pa.list_(_EXCHANGE)),
        ("text", pa.string()),
        ("advice", pa.string()),
    ]
)

_CODEC_SIZES: Final[list[tuple[str, pa.DataType]]] = [
    (f"{codec}_bytes", pa.int64()) for codec in ("gzip", "snappy", "lz4", "zstd")
]
OLD_FORMATS: Final = _schema(
    [
        *_PLACE,
        ("file", pa.string()),
        ("records", pa.int64()),  # of magic 0 and 1
        ("stored_bytes", pa.int64()),  # as they are compressed in the file
        ("old_bytes", pa.int64()),  # without compression
        ("new_bytes", pa.int64()),  # in magic 2, without compression
        *_CODEC_SIZES,  # in magic 2; null if the codec is not installed
        ("saved_offsets", pa.int64()),  # bytes of fields that magic 2 saves; negative if it adds some
        ("saved_timestamps", pa.int64()),
        ("saved_checksums", pa.int64()),
        ("saved_lengths", pa.int64()),
        ("saved_flags", pa.int64()),
        ("saved_others", pa.int64()),
    ]
)

SCHEMAS: Final = {
    "connections": CONNECTIONS,
    "gaps": GAPS,
    "exchanges": EXCHANGES,
    "exchange_partitions": EXCHANGE_PARTITIONS,
    "batches": BATCHES,
    "records": RECORDS,
    "segment_files": SEGMENT_FILES,
    "index_errors": INDEX_ERRORS,
    "transactions": TRANSACTIONS,
    "findings": FINDINGS,
}

LOG_SCHEMAS: Final = {
    "records": _schema([*_PLACE, *_RECORD, ("file", pa.string()), ("position", pa.int64()), ("fault", pa.string())]),
    "batches": _schema([*_PLACE, *_BATCH, ("file", pa.string()), ("fault", pa.string())]),
    "segment_files": SEGMENT_FILES,
    "index_errors": INDEX_ERRORS,
    "transactions": TRANSACTIONS,
    "old_formats": OLD_FORMATS,
}
"""The tables of log files and topics on Spark; `fault` says why bytes could not be read."""
