"""The inspector: explains frames, captures and log directories.

`explain_request`, `explain_response`, `explain_message` and `explain_records` return a tree in which every byte belongs
to one leaf. `explain_anything` guesses what the bytes are, and `parse_hex` parses hex in any common format.

`read_captures` and `read_directories` return Arrow tables with the columns of `SCHEMAS`. `find_incidents` applies the
diagnosis rules to them, with `Thresholds`, and `rule` makes a rule of your own.

>>> from kafkawire.inspect import explain_request, parse_hex
>>> frame = parse_hex("00 00 00 0a 00 12 00 00 00 00 00 07 ff ff")
>>> explain_request(frame).title
'ApiVersionsRequest v0'
>>> [leaf.path for leaf in explain_request(frame).space.leaves()][:3]
['size', 'header.request_api_key', 'header.request_api_version']

Names are loaded on first use, so that explaining a frame does not import Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire._lazy import load_when_asked

if TYPE_CHECKING:
    from kafkawire.inspect._capture.connections import Capture, FileFacts, open_capture
    from kafkawire.inspect._capture.files import Bytes as CaptureBytes
    from kafkawire.inspect._capture.files import is_packed, map_file, map_stream, outlive_cuts
    from kafkawire.inspect._capture.packets import CaptureError
    from kafkawire.inspect._diagnose.aggregates import (
        BatchAggregates,
        BatchTotals,
        DamagedLog,
        GroupOffset,
        HotKey,
        LogFiles,
        LogTransactions,
        OpenTransaction,
        PartitionRecords,
        TopicAggregates,
        WrongIndex,
        place_of,
    )
    from kafkawire.inspect._diagnose.evidence import Evidence, grouped, logged_transaction
    from kafkawire.inspect._diagnose.levels import LEVELS
    from kafkawire.inspect._diagnose.rule import (
        Finding,
        Rule,
        about,
        apply_rules,
        find_incidents,
        findings_table,
        rule,
    )
    from kafkawire.inspect._diagnose.thresholds import Thresholds
    from kafkawire.inspect._explain.asked import Asked, Explained, explain_as, repair_as
    from kafkawire.inspect._explain.asked import Kind as AskedKind
    from kafkawire.inspect._explain.differences import Difference, differences
    from kafkawire.inspect._explain.differences import Side as DifferenceSide
    from kafkawire.inspect._explain.explain import (
        Explanation,
        explain_message,
        explain_records,
        explain_request,
        explain_response,
    )
    from kafkawire.inspect._explain.guess import (
        UnknownBytesError,
        explain_anything,
        explain_requests,
        explain_responses,
        explain_unrecognised,
        versions_that_fit,
    )
    from kafkawire.inspect._explain.placeholders import with_holes
    from kafkawire.inspect._explain.repair import Repair, find_repair
    from kafkawire.inspect._explain.tree import Node as ExplainedNode
    from kafkawire.inspect._explain.tree import Space as ExplainedSpace
    from kafkawire.inspect._explain.tree import Visit as ExplainedVisit
    from kafkawire.inspect._explain.tree import joined as joined_path
    from kafkawire.inspect._explain.tree import walk as explain_walk
    from kafkawire.inspect._explain.value_names import api_name
    from kafkawire.inspect._explain.versions import Change as FieldChange
    from kafkawire.inspect._explain.versions import WireField, changes_between, fields_of
    from kafkawire.inspect._hexdump.conversation import DumpedPackets
    from kafkawire.inspect._hexdump.hex import HexError, HexInput, parse_hex, raw_or_hex, read_hex
    from kafkawire.inspect._hexdump.packets import packets_to_pcap
    from kafkawire.inspect._logdir.segments import find_partitions
    from kafkawire.inspect._logdir.tables import error_row, fault_text, read_directories
    from kafkawire.inspect._parallel.part import Ranges, stream_part, whole_connections
    from kafkawire.inspect._parallel.plan import CapturePart, PackedPart, plan_captures
    from kafkawire.inspect._proxy.recording import Recording
    from kafkawire.inspect._proxy.relay import Exchange as ProxyExchange
    from kafkawire.inspect._proxy.server import Observer as ProxyObserver
    from kafkawire.inspect._proxy.server import Proxy
    from kafkawire.inspect._render.brief import records_text, shortened
    from kafkawire.inspect._render.json import render_json
    from kafkawire.inspect._render.text import render_text
    from kafkawire.inspect._render.values import value_text
    from kafkawire.inspect._tables.exchange_bodies import body_columns
    from kafkawire.inspect._tables.json_lines import json_lines
    from kafkawire.inspect._tables.old_names import (
        OLD_NAMES,
        new_names,
        select_columns,
        selection_schema,
        warn_of_old_names,
    )
    from kafkawire.inspect._tables.partitions import partition_rows
    from kafkawire.inspect._tables.read import SUMMARIES, Reading, learn_topics, read_captures, read_tables
    from kafkawire.inspect._tables.rows import TIME, as_microseconds
    from kafkawire.inspect._tables.schemas import (
        BATCH_COLUMNS,
        CONNECTIONS,
        EXCHANGES,
        FINDINGS,
        GAPS,
        LOG_SCHEMAS,
        SCHEMAS,
        TRANSACTIONS,
    )
    from kafkawire.inspect._tables.selection import Selection, explain_exchange, in_order_of_time
    from kafkawire.inspect._tables.selection import select as select_exchanges
    from kafkawire.inspect._tables.topics import TopicNames
    from kafkawire.inspect._transactions.model import Transaction
    from kafkawire.inspect._transactions.tables import follower_of, traffic_table

__all__ = [
    "SCHEMAS",
    "Evidence",
    "Explanation",
    "Finding",
    "Reading",
    "Rule",
    "Thresholds",
    "TopicNames",
    "about",
    "explain_anything",
    "explain_message",
    "explain_records",
    "explain_request",
    "explain_response",
    "find_incidents",
    "grouped",
    "parse_hex",
    "read_captures",
    "read_directories",
    "rule",
]


_HOMES: Final = {
    "Evidence": "_diagnose.evidence",
    "grouped": "_diagnose.evidence",
    "about": "_diagnose.rule",
    "SCHEMAS": "_tables.schemas",
    "Explanation": "_explain.explain",
    "Finding": "_diagnose.rule",
    "Reading": "_tables.read",
    "Rule": "_diagnose.rule",
    "Thresholds": "_diagnose.thresholds",
    "TopicNames": "_tables.topics",
    "explain_anything": "_explain.guess",
    "explain_message": "_explain.explain",
    "explain_records": "_explain.explain",
    "explain_request": "_explain.explain",
    "explain_response": "_explain.explain",
    "find_incidents": "_diagnose.rule",
    "parse_hex": "_hexdump.hex",
    "read_captures": "_tables.read",
    "read_directories": "_logdir.tables",
    "rule": "_diagnose.rule",
}


# For other packages of kafkawire; not part of the public interface.
_SHARED = {
    "Asked": "_explain.asked",
    "AskedKind": "_explain.asked:Kind",
    "BATCH_COLUMNS": "_tables.schemas",
    "BatchAggregates": "_diagnose.aggregates",
    "BatchTotals": "_diagnose.aggregates",
    "CONNECTIONS": "_tables.schemas",
    "Capture": "_capture.connections",
    "CaptureError": "_capture.packets",
    "DamagedLog": "_diagnose.aggregates",
    "Difference": "_explain.differences",
    "DifferenceSide": "_explain.differences:Side",
    "DumpedPackets": "_hexdump.conversation",
    "Explained": "_explain.asked",
    "ExplainedNode": "_explain.tree:Node",
    "ExplainedSpace": "_explain.tree:Space",
    "ExplainedVisit": "_explain.tree:Visit",
    "EXCHANGES": "_tables.schemas",
    "FINDINGS": "_tables.schemas",
    "FieldChange": "_explain.versions:Change",
    "FileFacts": "_capture.connections",
    "GAPS": "_tables.schemas",
    "GroupOffset": "_diagnose.aggregates",
    "HexError": "_hexdump.hex",
    "HexInput": "_hexdump.hex",
    "HotKey": "_diagnose.aggregates",
    "LEVELS": "_diagnose.levels",
    "LOG_SCHEMAS": "_tables.schemas",
    "LogFiles": "_diagnose.aggregates",
    "LogTransactions": "_diagnose.aggregates",
    "OLD_NAMES": "_tables.old_names",
    "OpenTransaction": "_diagnose.aggregates",
    "PackedPart": "_parallel.plan",
    "CapturePart": "_parallel.plan",
    "PartitionRecords": "_diagnose.aggregates",
    "Repair": "_explain.repair",
    "Proxy": "_proxy.server",
    "ProxyObserver": "_proxy.server:Observer",
    "ProxyExchange": "_proxy.relay:Exchange",
    "Recording": "_proxy.recording",
    "SUMMARIES": "_tables.read",
    "Selection": "_tables.selection",
    "TIME": "_tables.rows",
    "TRANSACTIONS": "_tables.schemas",
    "TopicAggregates": "_diagnose.aggregates",
    "Transaction": "_transactions.model",
    "UnknownBytesError": "_explain.guess",
    "WireField": "_explain.versions",
    "WrongIndex": "_diagnose.aggregates",
    "api_name": "_explain.value_names",
    "apply_rules": "_diagnose.rule",
    "as_microseconds": "_tables.rows",
    "changes_between": "_explain.versions",
    "differences": "_explain.differences",
    "error_row": "_logdir.tables",
    "explain_as": "_explain.asked",
    "body_columns": "_tables.exchange_bodies",
    "explain_exchange": "_tables.selection",
    "explain_requests": "_explain.guess",
    "explain_responses": "_explain.guess",
    "explain_walk": "_explain.tree:walk",
    "explain_unrecognised": "_explain.guess",
    "fault_text": "_logdir.tables",
    "fields_of": "_explain.versions",
    "find_partitions": "_logdir.segments",
    "in_order_of_time": "_tables.selection",
    "find_repair": "_explain.repair",
    "follower_of": "_transactions.tables",
    "findings_table": "_diagnose.rule",
    "is_packed": "_capture.files",
    "joined_path": "_explain.tree:joined",
    "json_lines": "_tables.json_lines",
    "learn_topics": "_tables.read",
    "logged_transaction": "_diagnose.evidence",
    "map_file": "_capture.files",
    "map_stream": "_capture.files",
    "new_names": "_tables.old_names",
    "open_capture": "_capture.connections",
    "outlive_cuts": "_capture.files",
    "packets_to_pcap": "_hexdump.packets",
    "partition_rows": "_tables.partitions",
    "place_of": "_diagnose.aggregates",
    "plan_captures": "_parallel.plan",
    "raw_or_hex": "_hexdump.hex",
    "read_hex": "_hexdump.hex",
    "read_tables": "_tables.read",
    "records_text": "_render.brief",
    "repair_as": "_explain.asked",
    "render_json": "_render.json",
    "render_text": "_render.text",
    "select_columns": "_tables.old_names",
    "select_exchanges": "_tables.selection:select",
    "selection_schema": "_tables.old_names",
    "shortened": "_render.brief",
    "stream_part": "_parallel.part",
    "traffic_table": "_transactions.tables",
    "value_text": "_render.values",
    "versions_that_fit": "_explain.guess",
    "warn_of_old_names": "_tables.old_names",
    "with_holes": "_explain.placeholders",
    "whole_connections": "_parallel.part",
}

if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__ = load_when_asked(__name__, _HOMES | _SHARED)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
