"""Incremental fetch sessions (KIP-227).

A session remembers, per partition, what the client last asked for and what it was last told.
Rules:
- The pair (id, epoch) is the only key; a session does not belong to a connection.
- The epoch advances when a request is accepted, not when its response is made.
- A partition is left out of a response only if nothing the client can see has changed: no records, no error, the same
  high watermark and log start. An error makes the next good answer count as changed.
- A partition that returned records moves to the end, so that the others come first next time.
- A session has at most MOST_PARTITIONS, because every fetch in it looks at all of them. No session is made for more;
  one that would grow past them ends, and its client goes on with full fetches.
- A fetch may finish after its session was evicted or changed by a later fetch: it then notes what it answered in the
  partitions that are left, and the client learns of the eviction by its next fetch.
- A full cache makes room only by dropping a session unused for two minutes, or one older than that with fewer
  partitions; else no session is made, and the client goes on with full fetches.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

NO_SESSION: Final = 0
FULL: Final = 0
SESSIONLESS: Final = -1
FIRST_EPOCH: Final = 1
LAST_EPOCH: Final = 2**31 - 1
EVICTION_AGE_MS: Final = 120_000
MOST_PARTITIONS: Final = 10_000

Topic = str | UUID
Key = tuple[Topic, int]


@dataclass(slots=True)
class Wanted:
    """What a client asks of one partition; the topic is a name, or an id from Fetch v13 on."""

    topic: Topic
    index: int
    offset: int
    max_bytes: int
    leader_epoch: int = -1
    last_fetched_epoch: int = -1

    @property
    def key(self) -> Key:
        return self.topic, self.index


class Told(NamedTuple):
    """What an answer tells of one partition, as far as sessions care."""

    high_watermark: int
    log_start_offset: int
    is_news: bool
    """Whether it must be told whatever the numbers: records, an error, a diverging epoch."""
    has_records: bool
    is_error: bool


class _Known:
    """A partition in a session."""

    __slots__ = ("high_watermark", "log_start_offset", "wanted")

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.high_watermark = self.log_start_offset = -1

    def tell(self, told: Told) -> bool:
        """Take note of an answer; whether it has to be sent."""
        changed = self.high_watermark != told.high_watermark or self.log_start_offset != told.log_start_offset
        self.high_watermark = -1 if told.is_error else told.high_watermark
        self.log_start_offset = told.log_start_offset
        return changed or told.is_news


class Session:
    """One client's partitions."""

    def __init__(self, session_id: int, uses_ids: bool, now: int) -> None:
        self.id = session_id
        self.uses_ids = uses_ids
        self.epoch = FIRST_EPOCH
        self.created_ms = self.used_ms = now
        self.known: OrderedDict[Key, _Known] = OrderedDict()

    def apply(self, wanted: Iterable[Wanted], forgotten: Iterable[Key]) -> None:
        """Add, change and forget partitions."""
        for each in wanted:
            known = self.known.get(each.key)
            if known is None:
                self.known[each.key] = _Known(each)
            else:
                known.wanted = each
        for key in forgotten:
            self.known.pop(key, None)

    def tell(self, key: Key, told: Told) -> bool:
        """Take note of an answer; whether it has to be sent."""
        known = self.known.get(key)
        if known is None:
            return True
        if told.has_records:
            self.known.move_to_end(key)
        return known.tell(told)


class Fetching:
    """One fetch under way: what to read, and afterwards what to answer."""

    def __init__(
        self,
        sessions: FetchSessions,
        wanted: Sequence[Wanted],
        *,
        session: Session | None = None,
        may_create: bool = False,
        uses_ids: bool = False,
        error: int = ErrorCode.NONE,
    ) -> None:
        self.wanted = wanted
        self.error = error
        self._sessions = sessions
        self._session = session
        self._may_create = may_create
        self._uses_ids = uses_ids

    @property
    def has_session(self) -> bool:
        """Whether there is a session to answer in, or one may be made; it has at most MOST_PARTITIONS."""
        return self._session is not None or (self._may_create and len(self.wanted) <= MOST_PARTITIONS)

    def finish(self, answers: list[tuple[Wanted, Told]]) -> tuple[int, list[bool]]:
        """The session id to answer with, and which of the answers to send."""
        if self._session is not None:
            session = self._session
            return session.id, [session.tell(wanted.key, told) for wanted, told in answers]
        if self._may_create and answers:
            created = self._sessions.create(self._uses_ids, len(answers))
            if created is not None:
                for wanted, told in answers:
                    known = created.known[wanted.key] = _Known(wanted)
                    known.tell(told)
                return created.id, [True] * len(answers)
        return NO_SESSION, [True] * len(answers)


class FetchSessions:
    """Every session, within a number of slots."""

    def __init__(self, slots: int, now: Callable[[], int], *, seed: int | None = None) -> None:
        self.slots = slots
        self.evictions = 0
        self._now = now
        self._random = random.Random(seed)
        self._sessions: OrderedDict[int, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(
        self,
        session_id: int,
        epoch: int,
        wanted: Sequence[Wanted],
        forgotten: Sequence[Key] = (),
        *,
        uses_ids: bool = False,
    ) -> Fetching:
        """Accept a request, or refuse it by its `error`."""
        if epoch in (FULL, SESSIONLESS):
            if session_id != NO_SESSION:
                self._sessions.pop(session_id, None)
            return Fetching(self, wanted, may_create=epoch == FULL, uses_ids=uses_ids)
        session = self._sessions.get(session_id)
        if session is None:
            return Fetching(self, [], error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            return Fetching(self, [], error=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_ids != uses_ids:
            return Fetching(self, [], error=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if len(wanted) > MOST_PARTITIONS or len(forgotten) > MOST_PARTITIONS:
            del self._sessions[session_id]
            return Fetching(self, [], error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        session.apply(wanted, forgotten)
        if len(session.known) > MOST_PARTITIONS:
            del self._sessions[session_id]
            return Fetching(self, [], error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if not session.known:
            del self._sessions[session_id]
            return Fetching(self, [])
        session.epoch = FIRST_EPOCH if epoch == LAST_EPOCH else epoch + 1
        session.used_ms = self._now()
        self._sessions.move_to_end(session_id)
        return Fetching(self, [known.wanted for known in session.known.values()], session=session)

    def create(self, uses_ids: bool, size: int) -> Session | None:
        """A new session for that many partitions, if there is room or room can be made."""
        if size > MOST_PARTITIONS or (len(self._sessions) >= self.slots and not self._evict(size)):
            return None
        session_id = self._random.randint(1, LAST_EPOCH)
        while session_id in self._sessions:
            session_id = self._random.randint(1, LAST_EPOCH)
        session = self._sessions[session_id] = Session(session_id, uses_ids, self._now())
        return session

    def _evict(self, size: int) -> bool:
        now = self._now()
        if not self._sessions:
            return False
        oldest = next(iter(self._sessions.values()))
        if now - oldest.used_ms <= EVICTION_AGE_MS:
            aged = [each for each in self._sessions.values() if now - each.created_ms > EVICTION_AGE_MS]
            smallest = min(aged, key=lambda each: len(each.known), default=None)
            if smallest is None or len(smallest.known) >= size:
                return False
            oldest = smallest
        del self._sessions[oldest.id]
        self.evictions += 1
        return True
