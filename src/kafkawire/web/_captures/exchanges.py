"""The exchanges of a source as windows of rows: filtered, sorted, counted over time.

Rules:
- `ExchangeList` owns one version of the tables. A source that grows makes another one.
- Filters and sorts run over all rows, on the server. The order of the last few is kept, so that scrolling is a slice.
- Columns of text are dictionaries, because few of their values differ: a word is searched in each different value once.
- A sort is one of whole numbers, value and place in one, so that equal values stay in the order of time.
- Times are microseconds as text, durations are microseconds as numbers.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute

from kafkawire._look.series import Steps
from kafkawire.messages.errors import error
from kafkawire.web._captures.fields import exchange_fields, exchange_key
from kafkawire.web._filter.language import parse
from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

pc: Any = pyarrow.compute  # its stubs do not know most of these calls
WINDOW: Final = 500
_KEPT: Final = 12
_BUCKETS: Final = 240
_LARGEST_WAIT: Final = (1 << 50) - 1
_SHOWN: Final = (
    *("conn_id", "seq", "time", "client", "api", "version", "about", "wait_us", "service_us"),
    *("req_bytes", "resp_bytes", "error_code", "state"),
)
SORTS: Final = frozenset(
    {"time", "client", "api", "version", "about", "wait_us", "service_us", "req_bytes", "resp_bytes"}
) | {"error_code"}


@dataclass(frozen=True, slots=True)
class View:
    """A selection of exchanges and its order."""

    filter: str = ""
    since: int | None = None
    until: int | None = None
    sort: str = "time"
    down: bool = False


class ExchangeList:
    """The exchanges of one version of the tables."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self.tables = tables
        self.table = _prepared(tables)
        self.fields = exchange_fields(tables)
        self._orders: OrderedDict[View, NDArray[np.int64]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.table)

    def order(self, view: View) -> NDArray[np.int64]:
        """The rows of a view, in its order."""
        with self._lock:
            if view in self._orders:
                self._orders.move_to_end(view)
                return self._orders[view]
        rows = self._rows(view)
        if view.sort not in SORTS:
            raise Problem(f"sort: expected one of {', '.join(sorted(SORTS))}, found {view.sort[:40]!r}", status=400)
        if view.sort == "time" and not view.down:
            order = rows  # the table is in the order of time
        else:
            order = rows[_sorted_places(self._ranks(view.sort)[rows], view.down)]
        with self._lock:
            self._orders[view] = order
            if len(self._orders) > _KEPT:
                self._orders.popitem(last=False)
        return order

    def _rows(self, view: View) -> NDArray[np.int64]:
        mask = self.fields.mask(self.table, parse(view.filter))
        fits = np.ones(len(self.table), np.bool_) if mask is None else np.asarray(mask)
        times = self._times()
        if view.since is not None:
            fits = fits & (times >= view.since)
        if view.until is not None:
            fits = fits & (times < view.until)
        return np.flatnonzero(fits)

    def _ranks(self, name: str) -> NDArray[np.int64]:
        """Whole numbers in the order of a column; -1 for null."""
        column: Any = self.table[name].combine_chunks()
        if not pa.types.is_dictionary(column.type):
            return np.asarray(pc.fill_null(column.cast(pa.int64()), -1))
        ranks = np.asarray(pc.rank(column.dictionary, "ascending"), np.int64)
        codes: NDArray[np.int64] = np.asarray(pc.fill_null(column.indices.cast(pa.int64()), -1))
        found: NDArray[np.int64] = np.append(ranks, -1)[codes]
        return found

    def at_time(self, view: View, time: int) -> int:
        """The place of the exchange of a view that is nearest after a time; the last one if all are before it."""
        order = self.order(view)
        times = self._times()[order]
        after = np.flatnonzero(times >= time)
        return int(after[np.argmin(times[after])]) if len(after) else len(order) - 1

    def _times(self) -> NDArray[np.int64]:
        return np.asarray(pc.fill_null(self.table["time"], -1))

    def window(self, view: View, start: int, count: int) -> dict[str, Any]:
        """Some rows of a view."""
        order = self.order(view)
        part = self.table.select(_SHOWN).take(pa.array(order[start : start + min(count, WINDOW)], pa.int64()))
        columns = [part[name].to_pylist() for name in _SHOWN]
        rows = [list(row) for row in zip(*columns, strict=True)]
        for row in rows:
            row[2] = None if row[2] is None else str(row[2])
            row[11] = error_name(row[11])
        return {"total": len(self.table), "matched": len(order), "start": start, "rows": rows}

    def place(self, view: View, conn_id: int, seq: int) -> int:
        """The place of an exchange in a view; -1 if it is not part of it."""
        keys = np.asarray(exchange_key(self.table))[self.order(view)]
        found = np.flatnonzero(keys == conn_id * (1 << 40) + seq)
        return int(found[0]) if len(found) else -1

    def next_error(self, view: View, start: int, step: int) -> int:
        """The place of the next exchange with an error, or without its answer, in a direction; -1 if there is none."""
        order = self.order(view)
        bad = np.asarray(self.table["bad"])[order]
        places = np.flatnonzero(bad)
        after = places[places > start] if step > 0 else places[places < start][::-1]
        return int(after[0]) if len(after) else (int(places[0 if step > 0 else -1]) if len(places) else -1)

    def timeline(self, view: View, buckets: int = _BUCKETS) -> dict[str, Any]:
        """Exchanges, errors, and percentiles of the wait, in equal steps of time."""
        rows = self._rows(view)
        times = self._times()[rows]
        rows, times = rows[times >= 0], times[times >= 0]
        if not len(times):
            return {"start": None, "step": 0, "counts": [], "errors": [], "p50": [], "p99": []}
        steps = Steps.over(int(times.min()) // 1000, int(times.max()) // 1000, max(2, min(buckets, _BUCKETS * 4)))
        first, step, size = steps.start * 1000, steps.step * 1000, steps.count
        number = np.minimum((times - first) // step, size - 1)
        bad = np.asarray(self.table["bad"])[rows]
        waits = np.asarray(pc.fill_null(self.table["wait_us"], -1))[rows]
        p50, p99 = _percentiles(number, waits, size)
        return {
            "start": str(first),
            "step": step,
            "counts": np.bincount(number, minlength=size).tolist(),
            "errors": np.bincount(number[bad], minlength=size).tolist(),
            "p50": p50,
            "p99": p99,
        }


def error_name(code: int | None) -> str | None:
    """The name of an error code; empty for none, None if it is not known."""
    return None if code is None else ("" if code == 0 else error(code).name)


def _percentiles(number: NDArray[np.int64], waits: NDArray[np.int64], size: int) -> tuple[list[Any], list[Any]]:
    known = waits >= 0
    number, waits = number[known], np.minimum(waits[known], _LARGEST_WAIT)
    both = np.sort(number * (_LARGEST_WAIT + 1) + waits)
    number, waits = np.divmod(both, _LARGEST_WAIT + 1)
    starts = np.searchsorted(number, np.arange(size + 1))
    half, most = [None] * size, [None] * size
    for bucket in range(size):
        low, high = int(starts[bucket]), int(starts[bucket + 1])
        if high > low:
            half[bucket] = waits[low + (high - low - 1) // 2].item()
            most[bucket] = waits[min(high - 1, low + ((high - low) * 99) // 100)].item()
    return half, most


def _sorted_places(values: NDArray[np.int64], down: bool) -> NDArray[np.int64]:
    """The places of values in their order; nulls (-1) are last."""
    if not len(values):
        return values
    most = int(values.max())
    bits = max(1, (len(values) - 1).bit_length())
    keys = np.where(values < 0, most + 1, most - values if down else values)
    if most + 1 >= 1 << (63 - bits):  # no room for value and place in one number
        return np.argsort(keys, kind="stable")
    return np.sort(keys << bits | np.arange(len(keys))) & ((1 << bits) - 1)


def _prepared(tables: Mapping[str, pa.Table]) -> pa.Table:
    """The exchanges in the order of time, with the columns that the view adds."""
    table = tables["exchanges"]
    time = pc.coalesce(table["ts_req"], table["ts_resp"]).cast(pa.int64())
    connections = tables["connections"]
    places = pc.index_in(table["conn_id"], value_set=connections["conn_id"])
    client = pc.coalesce(table["client_id"], connections["client"].take(places))
    about = pc.coalesce(_topics(tables, table), table["group_id"], table["transactional_id"])
    bad = pc.or_(
        pc.fill_null(pc.not_equal(table["error_code"], pa.scalar(0, pa.int16())), False),
        pc.invert(pc.is_in(table["state"], value_set=pa.array(["matched", "no_response_expected", "sasl_token"]))),
    )
    for name, column in (("time", time), ("client", client), ("about", about), ("bad", bad)):
        table = table.append_column(name, column)
    keys = [("time", "ascending"), ("conn_id", "ascending"), ("seq", "ascending")]
    return _with_dictionaries(table.take(pc.sort_indices(table, sort_keys=keys)))


def _with_dictionaries(table: pa.Table) -> pa.Table:
    """The columns of text as dictionaries."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(place, field.name, table[field.name].combine_chunks().dictionary_encode())
    return table


def _topics(tables: Mapping[str, pa.Table], table: pa.Table) -> Any:
    """The first topic of each exchange, and the number of others."""
    if "exchange_partitions" not in tables or not len(tables["exchange_partitions"]):
        return pa.nulls(len(table), pa.string())
    partitions = tables["exchange_partitions"]
    named = pa.table(
        {"key": exchange_key(partitions), "topic": pc.coalesce(partitions["topic"], partitions["topic_id"])}
    )
    grouped = named.group_by("key", use_threads=False).aggregate([("topic", "first"), ("topic", "count_distinct")])
    others = pc.subtract(grouped["topic_count_distinct"], 1)
    more = pc.binary_join_element_wise(" and ", others.cast(pa.string()), " more", "")
    text = pc.binary_join_element_wise(grouped["topic_first"], pc.if_else(pc.greater(others, 0), more, ""), "")
    return text.take(pc.index_in(exchange_key(table), value_set=grouped["key"]))
