"""The fetch sessions of this broker (KIP-227), within a number of slots.

Rules:
- The epoch advances when a request is accepted, not when its response is built.
- A partition is left out of a response only if nothing visible has changed: no records, no error, the same high
  watermark and log start. After an error the next good result counts as changed.
- A partition that returned records moves to the end, so that the others come first next time.
- A session has at most MOST_PARTITIONS, because every fetch in it looks at all of them. A larger request gets no
  session. A session that would grow larger ends, and its client continues with full fetches.
- A fetch may finish after its session was evicted or changed by a later fetch. It then updates the partitions that
  are left, and the client learns of the eviction by its next fetch.
- A full cache evicts only a session unused for two minutes, or one older than that with fewer partitions. Else no
  session is created, and the client continues with full fetches.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from kafkawire.messages.errors import ErrorCode
from kafkawire.wire.fetch_sessions import (
    FIRST_EPOCH,
    FULL,
    LAST_EPOCH,
    NO_SESSION,
    SESSIONLESS,
    FetchPosition,
    SessionState,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

EVICTION_AGE_MS: Final = 120_000
MOST_PARTITIONS: Final = 10_000
Topic = str | UUID
Key = tuple[Topic, int]
"""A partition as a broker knows it: by the name of its topic, or by its id from Fetch v13 on."""


class PartitionUpdate(NamedTuple):
    """The part of a partition's response that decides whether it is sent."""

    high_watermark: int
    log_start_offset: int
    is_news: bool
    """Whether it is sent in any case: records, an error, a diverging epoch."""
    has_records: bool
    is_error: bool


class ServerSession(SessionState[Key]):
    """One client's session in a broker, with the offsets that its responses reported last."""

    __slots__ = ("_reported", "created_ms", "used_ms", "uses_ids")

    def __init__(self, session_id: int, uses_ids: bool, now: int) -> None:
        super().__init__(session_id, FIRST_EPOCH)
        self.uses_ids = uses_ids
        self.created_ms = self.used_ms = now
        self._reported: dict[Key, tuple[int, int]] = {}

    def apply(self, listed: Mapping[Key, FetchPosition], forgotten: Collection[Key]) -> None:
        for key in forgotten:
            self._reported.pop(key, None)
        super().apply(listed, forgotten)

    def report(self, key: Key, update: PartitionUpdate) -> bool:
        """Remember the response of a partition; returns whether it has to be sent."""
        position = self.partitions.get(key)
        if position is None:
            return True
        if update.has_records:
            del self.partitions[key]
            self.partitions[key] = position
        changed = self._reported.get(key) != (update.high_watermark, update.log_start_offset)
        self._reported[key] = -1 if update.is_error else update.high_watermark, update.log_start_offset
        return changed or update.is_news


class SessionFetch:
    """One fetch that a broker serves: the positions to read, and afterwards the partitions to send."""

    def __init__(
        self,
        sessions: ServerSessions,
        positions: Mapping[Key, FetchPosition],
        *,
        session: ServerSession | None = None,
        may_create: bool = False,
        uses_ids: bool = False,
        error: int = ErrorCode.NONE,
    ) -> None:
        self.positions = positions
        self.error = error
        self._sessions = sessions
        self._session = session
        self._may_create = may_create
        self._uses_ids = uses_ids

    @property
    def has_session(self) -> bool:
        """Whether the fetch belongs to a session, or may create one."""
        return self._session is not None or (self._may_create and len(self.positions) <= MOST_PARTITIONS)

    @property
    def session_id(self) -> int:
        """The id of the session that the request belongs to; NO_SESSION for a full fetch."""
        return NO_SESSION if self._session is None else self._session.id

    def finish(self, updates: Sequence[tuple[Key, PartitionUpdate]]) -> tuple[int, list[bool]]:
        """The session id of the response, and for each partition whether to send it."""
        if self._session is not None:
            session = self._session
            return session.id, [session.report(key, update) for key, update in updates]
        if self._may_create and updates:
            created = self._sessions.create(self._uses_ids, len(updates))
            if created is not None:
                created.apply({key: self.positions[key] for key, _ in updates}, ())
                for key, update in updates:
                    created.report(key, update._replace(has_records=False))
                return created.id, [True] * len(updates)
        return NO_SESSION, [True] * len(updates)


class ServerSessions:
    """The sessions of a broker, within a number of slots."""

    def __init__(self, slots: int, now: Callable[[], int], *, seed: int | None = None) -> None:
        self.slots = slots
        self.evictions = 0
        self._now = now
        self._random = random.Random(seed)
        self._sessions: dict[int, ServerSession] = {}  # the least recently used first

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(
        self,
        session_id: int,
        epoch: int,
        listed: Mapping[Key, FetchPosition],
        forgotten: Sequence[Key] = (),
        *,
        uses_ids: bool = False,
    ) -> SessionFetch:
        """Accept a request, or refuse it by the `error` of the result."""
        if epoch in (FULL, SESSIONLESS):
            if session_id != NO_SESSION:
                self._sessions.pop(session_id, None)
            return SessionFetch(self, listed, may_create=epoch == FULL, uses_ids=uses_ids)
        session = self._sessions.get(session_id)
        if session is None:
            return SessionFetch(self, {}, error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            return SessionFetch(self, {}, error=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_ids != uses_ids:
            return SessionFetch(self, {}, error=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        del self._sessions[session_id]
        if len(listed) > MOST_PARTITIONS or len(forgotten) > MOST_PARTITIONS:
            return SessionFetch(self, {}, error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        session.apply(listed, forgotten)
        if len(session.partitions) > MOST_PARTITIONS:
            return SessionFetch(self, {}, error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if not session.partitions:
            return SessionFetch(self, {})
        session.advance()
        session.used_ms = self._now()
        self._sessions[session_id] = session
        return SessionFetch(self, dict(session.partitions), session=session)

    def create(self, uses_ids: bool, size: int) -> ServerSession | None:
        """A new session for that many partitions, if there is room or room can be made."""
        if size > MOST_PARTITIONS or (len(self._sessions) >= self.slots and not self._evict(size)):
            return None
        session_id = self._random.randint(1, LAST_EPOCH)
        while session_id in self._sessions:
            session_id = self._random.randint(1, LAST_EPOCH)
        session = self._sessions[session_id] = ServerSession(session_id, uses_ids, self._now())
        return session

    def _evict(self, size: int) -> bool:
        now = self._now()
        if not self._sessions:
            return False
        oldest = next(iter(self._sessions.values()))
        if now - oldest.used_ms <= EVICTION_AGE_MS:
            aged = [each for each in self._sessions.values() if now - each.created_ms > EVICTION_AGE_MS]
            smallest = min(aged, key=lambda each: len(each.partitions), default=None)
            if smallest is None or len(smallest.partitions) >= size:
                return False
            oldest = smallest
        del self._sessions[oldest.id]
        self.evictions += 1
        return True
