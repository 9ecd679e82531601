"""Exchanges that repeat the bytes of an earlier one, such as heartbeats and refreshes of metadata.

Rules:
- Equal bodies of an API and version give equal columns. So the columns of the first are used for the others.
- Requests and responses with records, and offsets that rise, do not repeat. They are not looked up.
- The memory is bounded: bodies of at most LARGEST bytes, and MOST of them. Beyond that, all are forgotten.
- Names of topics may be learned between two exchanges, so their number is part of the key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from kafkawire.inspect._tables.exchange_bodies import ExchangeMessages
    from kafkawire.inspect._tables.exchanges import Conversation

LARGEST: Final = 1 << 16
MOST: Final = 4_096
_CLIENT_AT: Final = 8
_BODY_AT: Final = 4
# Produce, Fetch, OffsetCommit, TxnOffsetCommit, ShareFetch, ShareAcknowledge
_NEVER_EQUAL: Final = frozenset({0, 1, 8, 28, 78, 79})


class Known(NamedTuple):
    """The columns of an exchange, and of its partitions."""

    messages: ExchangeMessages
    row: dict[str, Any]
    partitions: list[dict[str, Any]]


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
