"""The columns of exchanges that bodies fill, collected as arrays; and those of exchanges that repeat earlier ones.

Rules:
- A connection has one block of numbers and one of texts. `read_bodies` fills what it can; the reference fills the rows
  that are left.
- Texts are numbers of distinct bytes. Values that no block can hold are kept beside the blocks.
- Exchanges such as heartbeats and refreshes of metadata repeat the bytes of an earlier one. Equal bodies of an API and
  version give equal columns, so the columns of the first are used for the others.
- Requests and responses with records, and offsets that rise, do not repeat. They are not looked up.
- The memory of repeats is bounded: bodies of at most LARGEST bytes, and MOST of them. Beyond that, all are forgotten.
- Names of topics may be learned between two exchanges, so their number is part of the key of a repeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafkawire import _native as implementation
from kafkawire.inspect._tables import bodies as reference
from kafkawire.inspect._tables.body_programs import NULL, NUMBERS, TEXTS, exchange_program
from kafkawire.inspect._tables.schemas import EXCHANGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from kafkawire.inspect._tables.exchange_bodies import ExchangeMessages
    from kafkawire.inspect._tables.exchanges import Conversation
    from kafkawire.inspect._tables.rows import Block

_native = implementation.load("kafkawire.inspect._tables._bodies", reference.__name__)
BODY_COLUMNS: Final = EXCHANGES.names[EXCHANGES.get_field_index("throttle_ms") :]
_NUMBER_AT: Final = {name: place for place, name in enumerate(NUMBERS)}
_TEXT_AT: Final = {name: place for place, name in enumerate(TEXTS)}
_FETCH: Final = 1
LARGEST: Final = 1 << 16
MOST: Final = 4_096
_CLIENT_AT: Final = 8
_BODY_AT: Final = 4
# Produce, Fetch, OffsetCommit, TxnOffsetCommit, ShareFetch, ShareAcknowledge
_NEVER_EQUAL: Final = frozenset({0, 1, 8, 28, 78, 79})


class ExchangeColumns:
    """Collects the columns of connections, one after the other."""

    def __init__(self) -> None:
        self._numbers: list[NDArray[np.int64]] = []
        self._texts: list[NDArray[np.int64]] = []
        self._others: dict[str, dict[int, object]] = {}
        self._known: dict[bytes, int] = {}
        self._count = 0

    def read(self, talk: Conversation) -> tuple[list[int], bool]:
        """Read the exchanges of a connection; returns those that are left, and whether a broker fetched."""
        numbers = np.full((len(NUMBERS), len(talk)), NULL, np.int64)
        texts = np.full((len(TEXTS), len(talk)), -1, np.int64)
        numbers[_NUMBER_AT["trailing_bytes"]] = 0
        requests, responses, matches = talk.connection.requests, talk.connection.responses, talk.matches
        left = _native.read_bodies(
            *(requests, responses, matches.request, matches.response, exchange_program, numbers, texts, self._known)
        )
        self._numbers.append(numbers)
        self._texts.append(texts)
        self._count += len(talk)
        brokers = numbers[_NUMBER_AT["replica_id"]] > 0
        fetched = bool(brokers.any()) and bool((requests.api_key[matches.request[brokers]] == _FETCH).any())
        return left.tolist(), fetched

    def put(self, index: int, row: Mapping[str, Any]) -> None:
        """Fill an exchange of the last connection."""
        numbers, texts = self._numbers[-1], self._texts[-1]
        for name, value in row.items():
            if value is None:
                continue
            if name in _NUMBER_AT and value != NULL:
                numbers[_NUMBER_AT[name], index] = value
            elif name in _TEXT_AT:
                texts[_TEXT_AT[name], index] = self._known.setdefault(value.encode(), len(self._known))
            else:
                place = self._count - numbers.shape[1] + index
                self._others.setdefault(name, {})[place] = value

    def take(self) -> pa.Table:
        """The columns since the last call."""
        count, others = self._count, self._others
        numbers, texts = (_Joined(blocks) for blocks in (self._numbers, self._texts))
        names = pa.array([str(each, "utf-8", "replace") for each in self._known], pa.string())
        self._numbers, self._texts, self._others, self._known, self._count = [], [], {}, {}, 0
        arrays: list[pa.Array[Any]] = []
        for name in BODY_COLUMNS:
            kind, rare = EXCHANGES.field(name).type, others.get(name, {})
            if name in _TEXT_AT:
                codes = texts[_TEXT_AT[name]]
                found = pa.nulls(count, kind) if codes.max(initial=-1) < 0 else names.take(_with_nulls(codes, -1))
            elif name in _NUMBER_AT and not rare:
                column = numbers[_NUMBER_AT[name]]
                empty = column.max(initial=NULL) == NULL
                found = pa.nulls(count, kind) if empty else _with_nulls(column, NULL).cast(kind)
            elif name in _NUMBER_AT:
                known = _with_nulls(numbers[_NUMBER_AT[name]], NULL).to_pylist()
                found = pa.array([rare.get(place, value) for place, value in enumerate(known)], kind)
            elif rare:
                found = pa.array([rare.get(place) for place in range(count)], kind)
            else:
                found = pa.nulls(count, kind)
            arrays.append(found)
        return pa.Table.from_arrays(arrays, names=list(BODY_COLUMNS))


class _Joined:
    """The rows of blocks, joined one at a time, because all of them take much memory."""

    def __init__(self, blocks: list[NDArray[np.int64]]) -> None:
        self._blocks = blocks

    def __getitem__(self, row: int) -> NDArray[np.int64]:
        return np.concatenate([np.empty(0, np.int64), *(block[row] for block in self._blocks)])


class Known(NamedTuple):
    """The columns of an exchange, and of its partitions."""

    messages: ExchangeMessages
    row: dict[str, Any]
    """Empty if only the columns of partitions were asked for."""
    partitions: Block


class Repeats:
    """The exchanges that were read, by their bytes."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Known] = {}

    def key(self, talk: Conversation, index: int, names: int) -> tuple[object, ...] | None:
        """The bytes of an exchange, if it may be repeated."""
        requests, responses = talk.connection.requests, talk.connection.responses
        asked, answered = int(talk.matches.request[index]), int(talk.matches.response[index])
        if asked < 0 or answered < 0 or int(requests.api_key[asked]) in _NEVER_EQUAL:
            return None
        if requests.api_key[asked] < 0 or not requests.whole[asked] or not responses.whole[answered]:
            return None
        if requests.size[asked] + responses.size[answered] > LARGEST:
            return None
        request, response = requests.read(asked), responses.read(answered)
        return bytes(request[:_BODY_AT]), bytes(request[_CLIENT_AT:]), bytes(response[_BODY_AT:]), names

    def find(self, key: tuple[object, ...]) -> Known | None:
        """The columns of an earlier exchange with these bytes."""
        return self._known.get(key)

    def add(self, key: tuple[object, ...], known: Known) -> None:
        """Remember an exchange."""
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = known


def _with_nulls(column: NDArray[np.int64], null: int) -> pa.Array[Any]:
    return pa.array(column, mask=column == null)
