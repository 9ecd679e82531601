"""Incremental fetch sessions (KIP-227), as the client and an observer of its traffic keep them.

A session remembers, per partition, the last position that the client asked for, so that requests and responses carry
only changes.
Rules:
- A request of epoch 0 (FULL) or -1 (SESSIONLESS) lists all its partitions; a session id in it ends that session. Epoch
  0 asks for a new session, whose id is in the response; id 0 means that the broker created none.
- A request of a later epoch lists changes: partitions to add or to move, and partitions to forget. Listed partitions
  are applied first.
- After LAST_EPOCH comes FIRST_EPOCH. The pair (id, epoch) is the only key; a session does not belong to a connection.
- The broker keeps the same state (`SessionState`), and decides which sessions to keep (`broker/_fetch/sessions.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar, cast
from uuid import UUID

from kafkawire.messages import FetchRequest
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping

    from kafkawire.messages import FetchResponse, Message

K = TypeVar("K", bound="Hashable")
N = TypeVar("N", bound="NameKey")
NO_SESSION: Final = 0
FULL: Final = 0
SESSIONLESS: Final = -1
FIRST_EPOCH: Final = 1
LAST_EPOCH: Final = 2**31 - 1
FIRST_VERSION: Final = 7
SESSION_ERRORS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)
NO_ID: Final = UUID(int=0)

NameKey = tuple[str, int]
"""A partition as a client knows it."""
CapturedKey = tuple[str, UUID, int]
"""A partition as a request names it."""


class FetchPosition(NamedTuple):
    """The offset and the limits of a fetch of one partition."""

    offset: int
    max_bytes: int
    leader_epoch: int = -1
    last_fetched_epoch: int = -1
    topic_id: UUID = NO_ID


class SessionState(Generic[K]):
    """The partitions of one session, in the order in which they are read."""

    __slots__ = ("epoch", "id", "partitions")

    def __init__(self, session_id: int = NO_SESSION, epoch: int = FULL) -> None:
        self.id = session_id
        self.epoch = epoch
        self.partitions: dict[K, FetchPosition] = {}

    def apply(self, listed: Mapping[K, FetchPosition], forgotten: Collection[K]) -> None:
        """Apply the changes of a request."""
        self.partitions.update(listed)
        for key in forgotten:
            self.partitions.pop(key, None)

    def advance(self) -> None:
        """Go to the next epoch."""
        self.epoch = FIRST_EPOCH if self.epoch == LAST_EPOCH else self.epoch + 1


class ClientSession(SessionState[NameKey]):
    """A client's session with one broker.

    An error about the session, or a lost connection, needs `reset`. A broker that creates no session (id 0) gets a full
    request every time.
    """

    __slots__ = ()

    def fill(self, request: FetchRequest, positions: Mapping[N, FetchPosition], version: int) -> None:
        """Write the session and the changed partitions into a request."""
        wanted = cast("Mapping[NameKey, FetchPosition]", positions)
        if version < FIRST_VERSION:
            request.topics = _topics(wanted)
            return
        request.session_id, request.session_epoch = self.id, self.epoch
        if self.epoch == FULL:
            request.topics = _topics(wanted)
        else:
            sent = self.partitions
            request.topics = _topics({key: now for key, now in wanted.items() if sent.get(key) != now})
            request.forgotten_topics_data = _forgotten(
                {key: was for key, was in sent.items() if key not in wanted or wanted[key].topic_id != was.topic_id}
            )
        self.partitions = dict(wanted)

    def answered(self, response: FetchResponse) -> None:
        """Advance after a response without an error."""
        if response.session_id == NO_SESSION:
            self.reset()
        elif self.id != response.session_id:
            self.id, self.epoch = response.session_id, FIRST_EPOCH
        else:
            self.advance()

    def reset(self, *, closing: bool = False) -> None:
        """Start again with a full request; with `closing` it ends the session that the broker may still hold."""
        if not closing:
            self.id = NO_SESSION
        self.epoch = FULL
        self.partitions = {}


class SessionResponse(NamedTuple):
    """The start of a response: what a broker says about the session."""

    error_code: int
    session_id: int


class ObservedSession(SessionState[CapturedKey]):
    """A session in captured traffic; not `complete` if it began before the capture, until a full fetch."""

    __slots__ = ("complete",)

    def __init__(self, partitions: Mapping[CapturedKey, FetchPosition], *, complete: bool) -> None:
        super().__init__()
        self.partitions = dict(partitions)
        self.complete = complete


Sessions = dict[tuple[str, int], ObservedSession]
"""Sessions by broker and id."""


class ObservedSessions:
    """The sessions in captured traffic, so that an incremental fetch has all its partitions.

    - A session belongs to a broker and a client, not to a connection.
    - A response with a session error ends the session.
    - A reader that starts in the middle of a connection gets the sessions that were open there (`resume`).
    """

    def __init__(self) -> None:
        self._open: Sessions = {}
        self._known: set[tuple[str, int]] = set()
        self._carried: Sessions = {}

    def begin_share(self) -> Sessions:
        """A dictionary that collects the sessions open at this point, each when it is first used."""
        self._known, self._carried = set(), {}
        return self._carried

    def resume(self, carried: Sessions) -> None:
        """Continue with the sessions that another reader has followed so far."""
        self._open = dict(carried)

    def follow(self, broker: str, request: Message, response: SessionResponse | None) -> ObservedSession:
        """Follow a fetch and its response; returns the session with all partitions of the fetch."""
        fetch: Any = request
        held = (broker, fetch.session_id)
        if held not in self._known:
            self._known.add(held)
            if held in self._open:
                session = self._open[held]
                self._carried[held] = ObservedSession(session.partitions, complete=session.complete)
        if fetch.session_epoch <= FULL:
            self._open.pop(held, None)
            session = ObservedSession(_listed(fetch), complete=True)
        else:
            session = self._open.get(held) or ObservedSession({}, complete=False)
            session.apply(
                _listed(fetch),
                [(each.topic, each.topic_id, one) for each in fetch.forgotten_topics_data for one in each.partitions],
            )
        if response is not None:
            if response.error_code in SESSION_ERRORS:
                self._open.pop(held, None)
            elif fetch.session_epoch >= FULL and response.session_id:
                self._known.add((broker, response.session_id))
                self._open[broker, response.session_id] = session
        return session


def _listed(request: Any) -> dict[CapturedKey, FetchPosition]:
    return {
        (topic.topic, topic.topic_id, each.partition): FetchPosition(each.fetch_offset, each.partition_max_bytes)
        for topic in request.topics
        for each in topic.partitions
    }


def _topics(wanted: Mapping[NameKey, FetchPosition]) -> list[FetchRequest.FetchTopic]:
    topics: dict[str, FetchRequest.FetchTopic] = {}
    for (name, partition), each in wanted.items():
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = FetchRequest.FetchTopic(topic=name, topic_id=each.topic_id)
        topic.partitions.append(
            FetchRequest.FetchPartition(
                partition=partition,
                current_leader_epoch=each.leader_epoch,
                fetch_offset=each.offset,
                last_fetched_epoch=each.last_fetched_epoch,
                partition_max_bytes=each.max_bytes,
            )
        )
    return list(topics.values())


def _forgotten(gone: Mapping[NameKey, FetchPosition]) -> list[FetchRequest.ForgottenTopic]:
    topics: dict[tuple[str, UUID], FetchRequest.ForgottenTopic] = {}
    for (name, partition), was in gone.items():
        place = (name, was.topic_id)
        if place not in topics:
            topics[place] = FetchRequest.ForgottenTopic(topic=name, topic_id=was.topic_id)
        topics[place].partitions.append(partition)
    return list(topics.values())
