"""Following fetch sessions (KIP-227), so that an incremental fetch has its partitions.

Rules:
- A session belongs to a broker and a client, not to a connection; its id is the broker's.
- A request of epoch 0 or -1 lists all its partitions. Epoch 0 asks for a session, which the response names; a session
  id beside epoch 0 or -1 ends that session.
- A request of a later epoch lists only what changed: added or moved partitions, and forgotten ones.
- A session that began before the capture is unknown until a full fetch: of it only what requests list is known.
- A response with a session error ends the session. What of a response matters stands at its start, so it is read from
  there, whether or not the rest can be.
- Whoever reads a connection from its middle is given the sessions that go on there.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.messages import CodecError, ResponseHeader, api

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.inspect.exchanges import Conversation
    from kafkawire.messages import Message

FETCH: Final = 1
FIRST_VERSION: Final = 7
_START: Final = 1024
_SESSION_ERRORS: Final = (70, 71, 106)
Key = tuple[str, "UUID", int]


class Asked(NamedTuple):
    """What a session asks of a partition."""

    fetch_offset: int
    max_bytes: int


class Answer(NamedTuple):
    """What a broker says of a session."""

    error_code: int
    session_id: int


class Session(NamedTuple):
    """The partitions of a session; `complete` when all of them are known."""

    partitions: dict[Key, Asked]
    complete: bool


Sessions = dict[tuple[str, int], Session]
"""Sessions by broker and id."""


class FetchSessions:
    """The fetch sessions of a capture."""

    def __init__(self) -> None:
        self._open: Sessions = {}
        self._known: set[tuple[str, int]] = set()
        self._carried: Sessions = {}

    def begin_share(self) -> Sessions:
        """A place for the sessions that go on from here, each put there when it is first met."""
        self._known, self._carried = set(), {}
        return self._carried

    def resume(self, carried: Sessions) -> None:
        """Go on where others have followed the sessions so far."""
        self._open = dict(carried)

    def follow(self, broker: str, request: Message, answer: Answer | None) -> Session:
        """Take a fetch and its answer; the result is what the fetch asked for in all."""
        asked: Any = request
        listed = _listed(asked)
        held = (broker, asked.session_id)
        self._carry(held)
        if asked.session_epoch <= 0:
            self._open.pop(held, None)
            session = Session(listed, complete=True)
        else:
            session = self._open.get(held) or Session({}, complete=False)
            for topic in asked.forgotten_topics_data:
                for partition in topic.partitions:
                    session.partitions.pop((topic.topic, topic.topic_id, partition), None)
            session.partitions.update(listed)
        self._remember(broker, asked, answer, session)
        return session

    def _carry(self, held: tuple[str, int]) -> None:
        if held not in self._known:
            self._known.add(held)
            if held in self._open:
                session = self._open[held]
                self._carried[held] = Session(dict(session.partitions), session.complete)

    def _remember(self, broker: str, asked: Any, answer: Answer | None, session: Session) -> None:
        if answer is None:
            return
        if answer.error_code in _SESSION_ERRORS:
            self._open.pop((broker, asked.session_id), None)
        elif asked.session_epoch >= 0 and answer.session_id:
            self._known.add((broker, answer.session_id))
            self._open[broker, answer.session_id] = session


def read_answer(talk: Conversation, index: int) -> Answer | None:
    """What the response of an exchange, which is a fetch, says of its session."""
    requests, responses = talk.connection.requests, talk.connection.responses
    answered, version = int(talk.matches.response[index]), int(requests.version[talk.matches.request[index]])
    if answered < 0 or version < FIRST_VERSION or not responses.whole[answered]:
        return None
    size = min(int(responses.size[answered]) - 4, _START)
    start = responses.stream.read(int(responses.position[answered]) + 4, size, int(responses.first[answered]))
    try:
        _, body = ResponseHeader.decode_prefix(start, api(FETCH).response_header_version(version))
        return Answer(*struct.unpack_from(">4xhi", start, body))
    except (CodecError, struct.error):
        return None


def _listed(request: Any) -> dict[Key, Asked]:
    return {
        (topic.topic, topic.topic_id, each.partition): Asked(each.fetch_offset, each.partition_max_bytes)
        for topic in request.topics
        for each in topic.partitions
    }
