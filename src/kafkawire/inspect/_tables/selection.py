"""Select exchanges by API, client, topic, group, error, connection and time.

Rules:
- All conditions must hold; a condition with several values holds if one of them matches.
- A client is selected by its client id or its address, with or without the port.
- An error is selected by its number; `any_error` selects all but 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.messages import api

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from numpy.typing import NDArray

    from kafkawire.inspect._explain.explain import Explanation
    from kafkawire.inspect._tables.read import Reading


@dataclass(slots=True)
class Selection:
    """The conditions of a selection."""

    apis: list[str] = field(default_factory=list)
    clients: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    any_error: bool = False
    connections: list[int] = field(default_factory=list)
    since: datetime | None = None
    until: datetime | None = None


def select(tables: Mapping[str, pa.Table], wanted: Selection) -> NDArray[np.int64]:
    """The numbers of the matching rows of the exchanges table."""
    exchanges = tables["exchanges"]
    masks: list[Any] = []
    if wanted.apis:
        keys = pa.array([api(int(name) if name.isdecimal() else name).key for name in wanted.apis], pa.int16())
        masks.append(pc.is_in(exchanges["api_key"], keys))
    if wanted.clients:
        masks.append(_of_clients(tables, wanted.clients))
    if wanted.groups:
        masks.append(pc.is_in(exchanges["group_id"], pa.array(wanted.groups)))
    if wanted.any_error or wanted.errors:
        masks.append(_with_errors(tables, wanted))
    if wanted.connections:
        masks.append(pc.is_in(exchanges["conn_id"], pa.array(wanted.connections, pa.int64())))
    if wanted.topics:
        partitions = tables["exchange_partitions"]
        masks.append(_named(exchanges, partitions.filter(pc.is_in(partitions["topic"], pa.array(wanted.topics)))))
    times = pc.coalesce(exchanges["ts_req"], exchanges["ts_resp"])
    if wanted.since is not None:
        masks.append(pc.greater_equal(times, pa.scalar(wanted.since, times.type)))
    if wanted.until is not None:
        masks.append(pc.less(times, pa.scalar(wanted.until, times.type)))
    fits = np.ones(len(exchanges), np.bool_)
    for mask in masks:
        fits &= np.asarray(pc.fill_null(mask, False))
    return np.flatnonzero(fits)


def in_order_of_time(exchanges: pa.Table) -> pa.Table:
    """The exchanges by the time of the request, or of the response if the capture has no request."""
    times: Any = pc.coalesce(exchanges["ts_req"], exchanges["ts_resp"]).cast(pa.int64())
    keys = [np.asarray(pc.fill_null(times, -1)), *(np.asarray(exchanges[name]) for name in ("conn_id", "seq"))]
    order: NDArray[np.int64] = np.lexsort(keys[::-1])
    return exchanges.take(pa.array(order, pa.int64()))


def explain_exchange(reading: Reading, conn_id: int, seq: int) -> Iterator[Explanation]:
    """The trees of the request and the response of an exchange; bytes that the capture lacks have no tree."""
    from kafkawire.inspect._explain.explain import explain_request, explain_response

    talk = next((each for each in reading.conversations if each.conn_id == conn_id), None)
    if talk is None or not 0 <= seq < len(talk):
        return
    number = int(np.flatnonzero(_is_at(reading.tables["exchanges"], conn_id, seq))[0])
    row = reading.tables["exchanges"].slice(number, 1).to_pylist()[0]
    asked, answered = int(talk.matches.request[seq]), int(talk.matches.response[seq])
    names, requests, responses = reading.topics.names, talk.connection.requests, talk.connection.responses
    if asked >= 0 and requests.whole[asked]:
        yield explain_request(requests.read(asked), sized=False, topics=names)
    if answered >= 0 and responses.whole[answered] and row["api"] is not None:
        yield explain_response(responses.read(answered), row["api_key"], row["version"], sized=False, topics=names)


def _is_at(exchanges: pa.Table, conn_id: int, seq: int) -> Any:
    return (np.asarray(exchanges["conn_id"]) == conn_id) & (np.asarray(exchanges["seq"]) == seq)


def _of_clients(tables: Mapping[str, pa.Table], clients: list[str]) -> Any:
    exchanges, connections = tables["exchanges"], tables["connections"]
    addresses = [
        number
        for number, client in zip(connections["conn_id"].to_pylist(), connections["client"].to_pylist(), strict=True)
        if client in clients or str(client).rpartition(":")[0].strip("[]") in clients
    ]
    by_address = pc.is_in(exchanges["conn_id"], pa.array(addresses, pa.int64()))
    return pc.or_(pc.is_in(exchanges["client_id"], pa.array(clients)), by_address)


def _with_errors(tables: Mapping[str, pa.Table], wanted: Selection) -> Any:
    exchanges = tables["exchanges"]
    if wanted.any_error:
        return pc.not_equal(exchanges["error_code"], pa.scalar(0, pa.int16()))
    codes = pa.array(wanted.errors, pa.int16())
    mask = pc.is_in(exchanges["error_code"], codes)
    if "exchange_partitions" in tables:
        partitions = tables["exchange_partitions"]
        mask = pc.or_(mask, _named(exchanges, partitions.filter(pc.is_in(partitions["error_code"], codes))))
    return mask


def _named(exchanges: pa.Table, partitions: pa.Table) -> Any:
    """A mask of the exchanges to which rows of partitions belong."""
    pairs = set(zip(partitions["conn_id"].to_pylist(), partitions["seq"].to_pylist(), strict=True))
    rows = zip(exchanges["conn_id"].to_pylist(), exchanges["seq"].to_pylist(), strict=True)
    return pa.array([pair in pairs for pair in rows], pa.bool_())
