"""The instances of clients that push metrics, and which of their requests come too early.

Rules:
- An instance is known by its id, which the broker gives out with the first answer. An id that is not known makes a new
  instance, because clients keep theirs when they change connections.
- An instance belongs to the connection of its last request, and is forgotten with it, or after max(LEAST_SILENCE_MS, 3
  intervals) without a request. At most MOST are kept; the one that was silent for longest goes first.
- A client may ask for its subscription again after an interval. It may do so at once if subscriptions changed, and
  after an error that demands it. A push may come after an interval. The first one after an answer may come at any time
  unless the request was early, and so may the last one (terminating).
- The push after a terminating one is refused. An instance is terminated while its last push, refused or not, was
  terminating, as in Apache Kafka.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from kafkawire.messages.errors import (
    ErrorCode,
    InvalidRequestError,
    ThrottlingQuotaExceededError,
    UnknownSubscriptionIdError,
)

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.broker._security.peer import Peer
    from kafkawire.broker._telemetry.subscriptions import Wanted

MOST: Final = 16_384
LEAST_SILENCE_MS: Final = 60_000
_NEVER: Final = -(2**62)
_ASK_AT_ONCE: Final = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


class Instance:
    """One instance of a client."""

    __slots__ = (
        "asked_at",
        "client_id",
        "id",
        "is_first",
        "is_over",
        "last_error",
        "peer",
        "pushed_at",
        "version",
        "wanted",
    )

    def __init__(self, instance_id: UUID, wanted: Wanted, version: int, peer: Peer, client_id: str) -> None:
        self.id = instance_id
        self.wanted = wanted
        self.version = version
        """The version of the subscriptions that `wanted` was made from."""
        self.peer = peer
        self.client_id = client_id
        self.asked_at = self.pushed_at = _NEVER
        self.last_error = 0
        self.is_first = False
        """Whether the next push is the first after an answer."""
        self.is_over = False
        """Whether a push was terminating."""

    def ask(self, now: int) -> None:
        """Accept a request for the subscription, or raise THROTTLING_QUOTA_EXCEEDED."""
        since = now - max(self.asked_at, self.pushed_at)
        if since >= self.wanted.interval_ms:
            self.asked_at, self.is_first = now, True
        elif self.last_error not in _ASK_AT_ONCE:
            raise ThrottlingQuotaExceededError(f"asked {since} ms after the last request, the interval is longer")
        self.last_error = 0

    def push(self, now: int, subscription: int, *, is_last: bool) -> None:
        """Accept a push, or raise the error that the client reacts to."""
        was_over, self.is_over = self.is_over, is_last
        if was_over:
            raise InvalidRequestError(f"the last push of client instance {self.id} was terminating")
        if self.is_first or now - self.pushed_at >= self.wanted.interval_ms:
            self.pushed_at, self.is_first = now, False
        elif not is_last:
            raise ThrottlingQuotaExceededError(f"a push {now - self.pushed_at} ms after the last one")
        if subscription != self.wanted.id:
            raise UnknownSubscriptionIdError(f"subscription {subscription}, the current one is {self.wanted.id}")

    def silent_since(self) -> int:
        """When the last request was accepted."""
        return max(self.asked_at, self.pushed_at)


class Instances:
    """All instances, the one with the latest request last."""

    def __init__(self) -> None:
        self._by_id: OrderedDict[UUID, Instance] = OrderedDict()
        self._by_peer: dict[Peer, set[UUID]] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def new_id(self) -> UUID:
        """An id that no instance has."""
        while (made := uuid4()) in self._by_id:
            pass
        return made

    def find(self, instance_id: UUID, peer: Peer) -> Instance | None:
        """The instance with an id, which belongs to this connection from now on."""
        found = self._by_id.get(instance_id)
        if found is not None:
            self._by_id.move_to_end(instance_id)
            if found.peer is not peer:
                self._leave(found)
                found.peer = peer
                self._by_peer.setdefault(peer, set()).add(instance_id)
        return found

    def add(self, made: Instance) -> list[UUID]:
        """Keep an instance in place of one with the same id; returns the ids of those that had to go."""
        gone = []
        if made.id not in self._by_id and len(self._by_id) >= MOST:
            oldest = next(iter(self._by_id))
            self.remove(oldest)
            gone.append(oldest)
        self.remove(made.id)
        self._by_id[made.id] = made
        self._by_peer.setdefault(made.peer, set()).add(made.id)
        return gone

    def has(self, instance: Instance) -> bool:
        """Whether an instance is still known."""
        return self._by_id.get(instance.id) is instance

    def remove(self, instance_id: UUID) -> None:
        """Forget an instance."""
        found = self._by_id.pop(instance_id, None)
        if found is not None:
            self._leave(found)

    def disconnected(self, peer: Peer) -> list[UUID]:
        """Forget the instances of a connection that has ended; returns their ids."""
        gone = list(self._by_peer.get(peer, ()))
        for instance_id in gone:
            self.remove(instance_id)
        return gone

    def expired(self, now: int) -> list[UUID]:
        """Forget the instances that have been silent for too long; returns their ids."""
        gone = [
            each.id
            for each in self._by_id.values()
            if now - each.silent_since() > max(LEAST_SILENCE_MS, 3 * each.wanted.interval_ms)
        ]
        for instance_id in gone:
            self.remove(instance_id)
        return gone

    def _leave(self, instance: Instance) -> None:
        ids = self._by_peer.get(instance.peer)
        if ids is not None:
            ids.discard(instance.id)
            if not ids:
                del self._by_peer[instance.peer]
