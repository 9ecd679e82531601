"""Following fetch sessions (KIP-227), so that an incremental fetch has its partitions.

Rules:
- A session belongs to a broker and a client, not to a connection; its id is the broker's.
- A request of epoch 0 or -1 lists all its partitions. Epoch 0 asks for a session, which the response names; a session
  id beside epoch 0 or -1 ends that session.
- A request of a later epoch lists only what changed: added or moved partitions, and forgotten ones.
- A session that began before the capture is unknown until a full fetch: of it only what requests list is known.
- A response with a session error ends the session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.messages import Message

_SESSION_ERRORS: Final = (70, 71, 106)
Key = tuple[str, "UUID", int]


class Asked(NamedTuple):
    """What a session asks of a partition."""

    fetch_offset: int
    max_bytes: int


class Session:
    """The partitions of a session; `complete` when all of them are known."""

    __slots__ = ("complete", "partitions")

    def __init__(self, partitions: dict[Key, Asked], *, complete: bool) -> None:
        self.partitions = partitions
        self.complete = complete


class FetchSessions:
    """The fetch sessions of a capture."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], Session] = {}

    def follow(self, broker: str, request: Message, response: Message | None) -> Session:
        """Take a fetch and its response; the result is what the fetch asked for in all."""
        asked: Any = request
        listed = _listed(asked)
        held = (broker, asked.session_id)
        if asked.session_epoch <= 0:
            self._open.pop(held, None)
            session = Session(listed, complete=True)
        else:
            session = self._open.get(held) or Session({}, complete=False)
            for topic in asked.forgotten_topics_data:
                for partition in topic.partitions:
                    session.partitions.pop((topic.topic, topic.topic_id, partition), None)
            session.partitions.update(listed)
        self._remember(broker, asked, response, session)
        return session

    def _remember(self, broker: str, asked: Any, response: Any, session: Session) -> None:
        if response is None:
            return
        if response.error_code in _SESSION_ERRORS:
            self._open.pop((broker, asked.session_id), None)
        elif asked.session_epoch >= 0 and response.session_id:
            self._open[broker, response.session_id] = session


def _listed(request: Any) -> dict[Key, Asked]:
    return {
        (topic.topic, topic.topic_id, each.partition): Asked(each.fetch_offset, each.partition_max_bytes)
        for topic in request.topics
        for each in topic.partitions
    }
