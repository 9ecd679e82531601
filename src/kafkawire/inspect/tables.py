"""The tables that captures and log directories become: one definition each, for the command line and Spark alike.

Rules:
- Times are microseconds in UTC, the finest that Spark keeps; durations are whole microseconds or milliseconds by name.
- (conn_id, seq) names an exchange everywhere. conn_id is unique within a run, over all its files.
- Null means not known or not applicable; it never means zero.
- A record's value is null unless values were asked for; value_len is always there.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

_TIME: Final[pa.DataType] = pa.timestamp("us", "UTC")
_EXCHANGE: Final[pa.DataType] = pa.struct([("conn_id", pa.int64()), ("seq", pa.int64())])
_RANGE: Final[pa.DataType] = pa.struct([("api_key", pa.int16()), ("min", pa.int16()), ("max", pa.int16())])
_HEADER: Final[pa.DataType] = pa.struct([("key", pa.string()), ("value", pa.binary())])

STATES: Final = ("matched", "no_response_expected", "unanswered", "request_missing", "gap", "undecoded", "sasl_token")


def _schema(fields: list[tuple[str, pa.DataType]]) -> pa.Schema:
    return pa.schema(fields)


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
        ("reason", pa.string()),
        ("transactional_id", pa.string()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("committed", pa.bool_()),  # EndTxn
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
    ]
)

BATCHES: Final = _schema(
    [
        ("source", pa.string()),  # request, response or segment
        ("location", pa.string()),
        ("conn_id", pa.int64()),
        ("seq", pa.int64()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("base_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("count", pa.int32()),
        ("magic", pa.int8()),
        ("codec", pa.string()),
        ("ts_type", pa.string()),
        ("base_ts", pa.int64()),
        ("max_ts", pa.int64()),
        ("producer_id", pa.int64()),
        ("epoch", pa.int16()),
        ("base_seq", pa.int32()),
        ("txn", pa.bool_()),
        ("control", pa.bool_()),
        ("leader_epoch", pa.int32()),
        ("bytes", pa.int64()),
        ("raw_bytes", pa.int64()),  # of the records unpacked; null where they were not
        ("last_record", pa.int64()),  # the last offset that has a record, of batches that compaction thinned out
        ("crc", pa.int64()),
        ("crc_ok", pa.bool_()),
    ]
)

RECORDS: Final = _schema(
    [
        ("source", pa.string()),
        ("location", pa.string()),
        ("conn_id", pa.int64()),
        ("seq", pa.int64()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("ts", pa.int64()),
        ("key", pa.binary()),
        ("value_len", pa.int64()),
        ("value", pa.binary()),
        ("headers", pa.list_(_HEADER)),
        ("tombstone", pa.bool_()),
    ]
)

SEGMENT_FILES: Final = _schema(
    [
        ("file", pa.string()),
        ("kind", pa.string()),  # log, index, timeindex, txnindex, snapshot, checkpoint, metadata
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("topic_id", pa.string()),
        ("base_offset", pa.int64()),
        ("bytes", pa.int64()),
        ("entries", pa.int64()),
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("max_ts", pa.int64()),
        ("state", pa.string()),
        ("fault", pa.string()),
    ]
)

INDEX_ERRORS: Final = _schema(
    [
        ("file", pa.string()),
        ("kind", pa.string()),
        ("entry", pa.int64()),
        ("offset", pa.int64()),
        ("position", pa.int64()),
        ("expected", pa.int64()),
        ("found", pa.int64()),
        ("text", pa.string()),
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

SCHEMAS: Final = {
    "connections": CONNECTIONS,
    "gaps": GAPS,
    "exchanges": EXCHANGES,
    "exchange_partitions": EXCHANGE_PARTITIONS,
    "batches": BATCHES,
    "records": RECORDS,
    "segment_files": SEGMENT_FILES,
    "index_errors": INDEX_ERRORS,
    "findings": FINDINGS,
}
