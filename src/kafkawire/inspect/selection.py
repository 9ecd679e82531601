"""Choosing exchanges: by API, client, topic, group, error, connection and time.

Rules:
- Conditions add up; a condition with several values holds for any of them.
- A client is meant by its client id or by its address, with or without the port.
- An error is meant by its number, or any: whatever is not 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.inspect.explain import Explanation, explain_request, explain_response
from kafkawire.messages import api

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from numpy.typing import NDArray

    from kafkawire.inspect.capture import Reading


@dataclass(slots=True)
class Selection:
    """What an exchange must be like."""

    apis: list[str] = field(default_factory=list)
    clients: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    any_error: bool = False
    connections: list[int] = field(default_factory=list)
    since: datetime | None = None
    until: datetime | None = None


def exchange_numbers(exchanges: pa.Table, places: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The numbers of the rows that have these (conn_id, seq)."""
    keys = [exchanges[name].to_numpy() for name in ("conn_id", "seq")]
    wanted = set(places)
    of_them = np.isin(keys[0], [conn for conn, _ in wanted]) & np.isin(keys[1], [seq for _, seq in wanted])
    numbers = np.flatnonzero(of_them).tolist()
    found = {(int(keys[0][number]), int(keys[1][number])): number for number in numbers}
    return {place: found[place] for place in wanted}


def select(tables: Mapping[str, pa.Table], wanted: Selection) -> NDArray[np.int64]:
    """The numbers of the rows of the exchanges table that fit."""
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


def explain_exchange(reading: Reading, number: int) -> Iterator[Explanation]:
    """The trees of the request and the response of the exchange in a row; none for bytes that the capture lacks."""
    exchanges = reading.tables["exchanges"]
    if not 0 <= number < len(exchanges):
        return
    row = exchanges.slice(number, 1).to_pylist()[0]
    talk = next(each for each in reading.conversations if each.conn_id == row["conn_id"])
    asked, answered = int(talk.matches.request[row["seq"]]), int(talk.matches.response[row["seq"]])
    names, requests, responses = reading.topics.names, talk.connection.requests, talk.connection.responses
    if asked >= 0 and requests.whole[asked]:
        yield explain_request(requests.read(asked), sized=False, topics=names)
    if answered >= 0 and responses.whole[answered] and row["api"] is not None:
        yield explain_response(responses.read(answered), row["api_key"], row["version"], sized=False, topics=names)


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
    """Which exchanges the rows of partitions belong to."""
    pairs = set(zip(partitions["conn_id"].to_pylist(), partitions["seq"].to_pylist(), strict=True))
    rows = zip(exchanges["conn_id"].to_pylist(), exchanges["seq"].to_pylist(), strict=True)
    return pa.array([pair in pairs for pair in rows], pa.bool_())
