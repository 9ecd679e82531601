"""Live exchanges as the tables of a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafkawire.inspect import SCHEMAS, body_columns, partition_rows
from kafkawire.messages import uuid_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.inspect import TopicNames
    from kafkawire.web._live.source import LiveExchange


def tables_of(kept: Sequence[LiveExchange], topics: TopicNames) -> dict[str, pa.Table]:
    """The tables of connections, exchanges and partitions; those of packets and batches are empty."""
    rows: list[dict[str, Any]] = []
    partitions: list[dict[str, Any]] = []
    connections: dict[int, dict[str, Any]] = {}
    for each in kept:
        place = {"conn_id": each.conn_id, "seq": each.seq}
        row = body_columns(each.request, each.response) | place
        ended = None if each.ended is None else each.ended // 1000
        row |= {"api_key": each.api_key if each.api_key >= 0 else None, "api": each.api, "version": each.version}
        row |= {
            "corr_id": each.correlation,
            "client_id": each.client_id,
            "ts_req": each.began // 1000,
            "ts_resp": ended,
        }
        row |= {"wait_us": None if ended is None else ended - each.began // 1000, "req_bytes": len(each.asked)}
        row |= {"resp_bytes": len(each.answered) if ended is not None else None, "state": _state(each)}
        row["service_us"] = row["wait_us"]
        rows.append(row)
        if each.request is not None or each.response is not None:
            for (name, topic_id, number), columns in partition_rows(each.request, each.response, None).items():
                partitions.append(
                    columns
                    | place
                    | {
                        "api_key": each.api_key,
                        "topic": topics.name(name, topic_id),
                        "topic_id": uuid_text(topic_id) if topic_id.int else None,
                        "partition": number,
                    }
                )
        known = connections.setdefault(
            each.conn_id,
            {
                "conn_id": each.conn_id,
                "client": each.client,
                "server": each.broker,
                "kind": "kafka",
                "t_first": each.began // 1000,
                "inter_broker": False,
                **dict.fromkeys(("bytes_c", "bytes_s", "missing_bytes", "skipped_bytes", "frames", "pending"), 0),
                **dict.fromkeys(("gaps", "retrans", "duplicates", "zero_windows", "undecoded"), 0),
            },
        )
        known["t_last"] = ended or each.began // 1000
        known["bytes_c"] += len(each.asked)
        known["bytes_s"] += len(each.answered)
        known["frames"] += 1 + each.has_response
    made = {"exchanges": rows, "exchange_partitions": partitions, "connections": list(connections.values())}
    tables = {name: _table(name, found) for name, found in made.items()}
    return tables | {name: SCHEMAS[name].empty_table() for name in ("gaps", "batches", "transactions")}


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    schema = SCHEMAS[name]
    columns = [
        pa.array([row.get(field.name) for row in rows], _stored(field.type)).cast(field.type) for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _stored(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_timestamp(kind) else kind


def _state(each: LiveExchange) -> str:
    if each.api_key < 0:
        return "sasl_token"
    if not each.has_response:
        return "no_response_expected"
    if each.ended is None:
        return "unanswered"
    return "matched" if each.response is not None else "undecoded"
