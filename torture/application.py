"""An application on raw sockets: it sends mixed requests that arrive in one read of the broker, and notes the answers.

Rules:
- Each partition has an idempotent writer, which sends again what was not acknowledged, and a plain one, which does not.
- At most five batches of the idempotent writer are under way, and they keep their sequence numbers. While one of them
  is sent again none is new: a broker remembers five.
- An error that a healthy broker may never give an idempotent writer is a broken promise.
- A pipeline may end with OSError or EOFError: then nothing is known of the requests without an answer.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.messages.errors import ErrorCode, error
from torture.peer import (
    Asked,
    Peer,
    api_name,
    batch,
    commit,
    create,
    delete,
    fetch,
    list_offsets,
    metadata,
    produce,
)
from torture.scenario import BrokenPromiseError

if TYPE_CHECKING:
    from random import Random

    from torture.ledger import Ledger, TopicPartition, Writer

MOST_UNDER_WAY: Final = 5
_FATAL: Final = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
    }
)


class Batch(NamedTuple):
    """A batch that was not acknowledged yet."""

    numbers: range
    records: bytes


class Stream:
    """The idempotent and the plain writer of one partition."""

    def __init__(self, ledger: Ledger, name: str, place: TopicPartition) -> None:
        self.place = place
        self.idempotent = ledger.writer(f"{name}-idempotent-{place[0]}-{place[1]}", idempotent=True)
        self.plain = ledger.writer(f"{name}-plain-{place[0]}-{place[1]}", idempotent=False)
        self.producer_id = -1
        self.under_way: deque[Batch] = deque()


class Application:
    """One client, which outlives its connections and the brokers it talks to."""

    def __init__(self, name: str, ledger: Ledger, dice: Random, places: list[TopicPartition]) -> None:
        self.name = name
        self.streams = [Stream(ledger, name, place) for place in places]
        self.answered = 0
        self._ledger = ledger
        self._dice = dice
        self._commits = 0
        self._made: list[str] = []
        self._topics = 0
        self._peer: Peer | None = None

    def continue_with(self, ledger: Ledger) -> None:
        """Note from now on in a copy of the ledger."""
        self._ledger = ledger

    def close(self) -> None:
        if self._peer is not None:
            self._peer.close()
            self._peer = None

    def pipeline(self, port: int) -> bool:
        """Send some requests together and take the answers; whether all of them were answered."""
        try:
            if self._peer is None:
                self._peer = Peer(port)
            for stream in self.streams:
                if stream.producer_id < 0:
                    stream.producer_id = self._peer.producer_id()
            self._converse(self._peer)
        except (OSError, EOFError):
            self.close()
            return False
        return True

    def catch_up(self, port: int, tries: int = 10) -> None:
        """Get everything acknowledged that was not; a healthy broker must take it."""
        for _ in range(tries):
            if self.pipeline(port) and not any(stream.under_way for stream in self.streams):
                return
        waiting = [batch.numbers for stream in self.streams for batch in stream.under_way]
        raise BrokenPromiseError("a broker takes records again once its disk does", f"{waiting} refused {tries} times")

    def _converse(self, peer: Peer) -> None:
        together: list[tuple[Asked, Any]] = []
        for stream in self._dice.sample(self.streams, len(self.streams)):
            together += self._batches(stream)
        places = sorted(self._dice.randint(0, len(together)) for _ in range(self._dice.randint(0, 4)))
        for number, place in enumerate(places):
            together.insert(place + number, self._other())
        peer.send([asked for asked, _ in together])
        failed: set[Stream] = set()
        for asked, meaning in together:
            answer = peer.receive(asked)
            self.answered += 1
            self._note(asked, meaning, answer, failed)

    def _batches(self, stream: Stream) -> list[tuple[Asked, Any]]:
        for _ in range(0 if stream.under_way else self._dice.randint(1, MOST_UNDER_WAY)):
            numbers = [self._ledger.next_value(stream.idempotent) for _ in range(self._dice.randint(1, 3))]
            first = numbers[0][0]
            records = batch([value for _, value in numbers], producer_id=stream.producer_id, base_sequence=first)
            stream.under_way.append(Batch(range(first, first + len(numbers)), records))
        found: list[tuple[Asked, Any]] = [
            (produce(*stream.place, each.records), (stream, each)) for each in stream.under_way
        ]
        for _ in range(self._dice.randint(0, 2)):
            number, value = self._ledger.next_value(stream.plain)
            asked = produce(*stream.place, batch([value]), acks=self._dice.choice((1, -1)))
            found.append((asked, (stream, Batch(range(number, number + 1), b""))))
        return found

    def _other(self) -> tuple[Asked, Any]:
        """A request of another API, and what a good answer to it promises."""
        dice = self._dice
        topic, partition = dice.choice(self.streams).place
        match dice.choice(("metadata", "fetch", "offsets", "commit", "commit", "create", "delete")):
            case "metadata":
                return metadata(topic), None
            case "fetch":
                return fetch(topic, partition, 0, max_bytes=20_000), None
            case "offsets":
                return list_offsets(topic, partition), None
            case "commit":
                self._commits += 1
                return commit(f"group-{self.name}", topic, partition, self._commits), (topic, partition, self._commits)
            case "delete" if self._made:
                name = self._made.pop(dice.randrange(len(self._made)))
                self._ledger.change_topic(name)
                return delete(name), (name, False)
            case _:
                self._topics += 1
                name = f"made-{self.name}-{self._topics}"
                self._ledger.change_topic(name)
                return create(name, dice.randint(1, 2)), (name, True)

    def _note(self, asked: Asked, meaning: Any, answer: Any, failed: set[Stream]) -> None:
        match api_name(asked):
            case "Produce":
                stream, sent = meaning
                self._note_records(stream, sent, answer.responses[0].partition_responses[0], failed)
            case "OffsetCommit":
                if not answer.topics[0].partitions[0].error_code:
                    topic, partition, offset = meaning
                    self._ledger.commit(f"group-{self.name}", (topic, partition), offset)
            case "CreateTopics" | "DeleteTopics":
                name, exists = meaning
                found = answer.topics if exists else answer.responses
                if not found[0].error_code:
                    self._ledger.topic_changed(name, exists=exists)
                    if exists:
                        self._made.append(name)

    def _note_records(self, stream: Stream, sent: Batch, answer: Any, failed: set[Stream]) -> None:
        writer: Writer = stream.idempotent if sent.records else stream.plain
        if answer.error_code:
            if writer.is_idempotent and answer.error_code in _FATAL and stream not in failed:
                self._ledger.refuse_fatally(writer, f"{error(answer.error_code).name}: {answer.error_message}")
            if writer.is_idempotent:
                failed.add(stream)
            return
        for number, offset in zip(sent.numbers, range(answer.base_offset, 2**62), strict=False):
            self._ledger.acknowledge(writer, number, stream.place, offset)
        if writer.is_idempotent:
            with suppress(ValueError):
                stream.under_way.remove(sent)


def verify(ledger: Ledger, port: int) -> None:
    """Check every promise against a broker that runs."""
    with Peer(port) as peer:
        ledger.verify_topics(peer.topics())
        for place in ledger.places:
            ledger.verify(place, partial(peer.read, *place))
        ledger.verify_commits(peer.committed)
