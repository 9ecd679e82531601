"""Share sessions: the partitions that a member fetches, and the order of its requests.

Rules:
- A session belongs to a member of a group, and to the connection that began it. It ends with that connection.
- Epoch 0 begins a session, also if there is one. -1 ends it. Any other epoch must be that of the session. The epoch
  grows with each request, and 1 comes after the largest one.
- A partition is left out of a response if it has no records and no error, unless the client has just added it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.messages.errors import (
    InvalidRequestError,
    InvalidShareSessionEpochError,
    ShareSessionLimitReachedError,
    ShareSessionNotFoundError,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from uuid import UUID

    Place = tuple[UUID, int]

INITIAL: Final = 0
FINAL: Final = -1
_LARGEST_EPOCH: Final = 2**31 - 1


class SessionKey(NamedTuple):
    """The owner of a session."""

    group_id: str
    member_id: str


class ShareSession:
    """One session."""

    def __init__(self, key: SessionKey, connection: object) -> None:
        self.key = key
        self.connection = connection
        self.epoch = 1
        self.partitions: dict[Place, bool] = {}
        """The partitions in order; whether each is in the next response, even if there is nothing to tell."""

    def update(self, added: Iterable[Place], forgotten: Iterable[Place]) -> None:
        """Take in the partitions of a request."""
        for place in added:
            self.partitions.setdefault(place, True)
        for place in forgotten:
            self.partitions.pop(place, None)

    def answers(self, place: Place, *, has_records: bool, has_error: bool) -> bool:
        """Whether a partition is in a response."""
        is_new = self.partitions.get(place, False)
        if place in self.partitions:
            self.partitions[place] = has_error
            if has_records:
                self.partitions[place] = self.partitions.pop(place)
        return has_records or has_error or is_new


class ShareSessions:
    """Every session of the broker."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._sessions: dict[SessionKey, ShareSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[ShareSession]:
        return iter(self._sessions.values())

    def find(self, key: SessionKey) -> ShareSession | None:
        return self._sessions.get(key)

    def begin(
        self, key: SessionKey, places: Collection[Place], connection: object, *, acknowledges: bool
    ) -> ShareSession:
        """Begin a session, in place of the one that the member may have."""
        if acknowledges:
            raise InvalidRequestError("the first request of a share session acknowledges records")
        self._sessions.pop(key, None)
        if len(self._sessions) >= self._most:
            raise ShareSessionLimitReachedError(f"{len(self._sessions)} share sessions, which is the limit")
        session = self._sessions[key] = ShareSession(key, connection)
        session.partitions = dict.fromkeys(places, False)
        return session

    def proceed(self, key: SessionKey, epoch: int) -> ShareSession:
        """The session of a request, whose epoch must be next; the last request of a session does not advance it."""
        session = self._sessions.get(key)
        if session is None:
            raise ShareSessionNotFoundError(f"member {key.member_id!r} has no share session")
        if epoch != FINAL:
            if epoch != session.epoch:
                raise InvalidShareSessionEpochError(f"share session epoch {epoch}, expected {session.epoch}")
            session.epoch = 1 if epoch == _LARGEST_EPOCH else epoch + 1
        return session

    def end(self, key: SessionKey) -> ShareSession | None:
        """End a session."""
        return self._sessions.pop(key, None)

    def of_connection(self, connection: object) -> list[ShareSession]:
        """The sessions that a connection has begun."""
        return [session for session in self if session.connection is connection]

    def has_group(self, group_id: str) -> bool:
        """Whether a group has a session."""
        return any(key.group_id == group_id for key in self._sessions)
