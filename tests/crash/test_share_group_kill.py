"""kill -9 of a serving broker under a share group: accepted records never come again, and all others do.

Offsets that an administrator sets or deletes are there after the kill, if that was answered. A member follows the
protocol over a plain connection, so that a kill meets every step of it. An acknowledgement counts only if it was
answered. KAFKAWIRE_CRASH_ROUNDS sets the number of kills.
"""

from __future__ import annotations

import os
from contextlib import suppress
from random import Random
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pytest
from torture.peer import Asked, Peer, create, produce
from torture.victim import Victim

from kafkawire.messages import (
    AlterShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    IncrementalAlterConfigsRequest,
    MetadataRequest,
    ShareFetchRequest,
    ShareGroupHeartbeatRequest,
)
from kafkawire.records import BatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from uuid import UUID

ROUNDS = int(os.environ.get("KAFKAWIRE_CRASH_ROUNDS", "6"))
WAIT = 60.0
TOPIC, GROUP, MEMBER = "orders", "workers", "member"
ACCEPT, RELEASE, REJECT = 1, 2, 3
RECORDS = 600
PARTITIONS = 3


class Worker:
    """A member that accepts, rejects and releases what it gets."""

    def __init__(self, topic_id: UUID) -> None:
        self.topic_id = topic_id
        self.dice = Random(7)
        self.session_epoch = 0
        self.done: set[int] = set()
        """Records whose acknowledgement was answered."""
        self.unsure: set[int] = set()
        """Records whose acknowledgement may have been stored."""
        self.held: dict[int, int] = {}

    def work(self, victim: Victim, goes_on: Callable[[], bool]) -> None:
        """Work until the connection ends, or until there is no more to do."""
        with Peer(victim.port) as peer:
            self.session_epoch, self.held = 0, {}
            self._join(peer)
            while goes_on():
                self._fetch(peer)

    def _join(self, peer: Peer) -> None:
        epoch, deadline = 0, monotonic() + WAIT
        while monotonic() < deadline:
            names = [TOPIC] if not epoch else None
            beat = ShareGroupHeartbeatRequest(
                group_id=GROUP, member_id=MEMBER, member_epoch=epoch, subscribed_topic_names=names
            )
            answer = peer.ask(Asked(beat, 1))
            assert not answer.error_code, answer
            if answer.assignment is not None and answer.assignment.topic_partitions:
                return
            epoch = answer.member_epoch
        raise AssertionError("no partitions are assigned")

    def _fetch(self, peer: Peer) -> None:
        kind = ShareFetchRequest
        acks = {offset: self.dice.choice([ACCEPT, ACCEPT, ACCEPT, REJECT, RELEASE]) for offset in self.held}
        batches = [
            kind.AcknowledgementBatch(first_offset=offset, last_offset=offset, acknowledge_types=[each])
            for offset, each in acks.items()
        ]
        partition = kind.FetchPartition(partition_index=0, acknowledgement_batches=batches)
        request = kind(
            group_id=GROUP,
            member_id=MEMBER,
            share_session_epoch=self.session_epoch,
            max_wait_ms=50,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=7,
            batch_size=7,
            topics=[kind.FetchTopic(topic_id=self.topic_id, partitions=[partition])],
        )
        finished = {offset for offset, each in acks.items() if each != RELEASE}
        self.unsure |= finished
        answer: Any = peer.ask(Asked(request, 2))
        assert not answer.error_code, answer
        self.session_epoch += 1
        self.unsure -= finished
        self.done |= finished
        self.held = {}
        for topic in answer.responses:
            for each in topic.partitions:
                assert not each.error_code, each
                assert not each.acknowledge_error_code, each
                for got in each.acquired_records:
                    self._take(got.first_offset, got.last_offset, got.delivery_count)

    def _take(self, first: int, last: int, count: int) -> None:
        assert 1 <= count <= 10
        for offset in range(first, last + 1):
            assert offset not in self.done, f"{offset} comes again"
            self.unsure.discard(offset)
            self.held[offset] = count


def shoot(victim: Victim, failures: list[BaseException]) -> None:
    dice = Random(3)
    try:
        for _ in range(ROUNDS):
            sleep(dice.uniform(0.05, 0.6))
            victim.kill()
            victim.start()
    except BaseException as failure:
        failures.append(failure)


@pytest.mark.timeout(max(900, 30 * ROUNDS))
def test_a_kill_brings_back_nothing_that_was_accepted(tmp_path: Path) -> None:
    settings = {"group.share.assignment.interval.ms": "0", "group.share.delivery.count.limit": "10"}
    with Victim(tmp_path, settings) as victim:
        victim.start()
        worker = Worker(prepared(victim))
        failures: list[BaseException] = []
        shooter = Thread(target=shoot, args=(victim, failures))
        shooter.start()
        while shooter.is_alive():
            with suppress(OSError, EOFError):
                worker.work(victim, shooter.is_alive)
            sleep(0.01)
        shooter.join()
        assert not failures, failures
        finish(worker, victim)
        assert worker.done | worker.unsure == {*range(RECORDS)}


class Administrator:
    """Sets the offset of a group in each partition, and sometimes deletes all of them."""

    def __init__(self) -> None:
        self.dice = Random(11)
        self.possible: set[tuple[int, ...]] = {()}
        """The offsets that the group may have: those that were answered last, and those that were asked for since."""
        self.answered = 0

    def work(self, victim: Victim, goes_on: Callable[[], bool]) -> None:
        with Peer(victim.port) as peer:
            while goes_on():
                found = self._described(peer)
                assert found in self.possible, f"{found} is none of {self.possible}"
                wanted = () if self.dice.random() < 0.3 else (self.dice.randrange(100),) * PARTITIONS
                self.possible = {found, wanted, *mixed(found, wanted)}
                if wanted or found:
                    self._change(peer, wanted)
                self.possible = {wanted}
                self.answered += 1

    def _change(self, peer: Peer, wanted: tuple[int, ...]) -> None:
        if not wanted:
            topic = DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic(topic_name=TOPIC)
            answer = peer.ask(Asked(DeleteShareGroupOffsetsRequest(group_id=GROUP, topics=[topic]), 0))
            assert not answer.error_code, answer
            return
        kind = AlterShareGroupOffsetsRequest
        offsets = [
            kind.AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset)
            for index, offset in enumerate(wanted)
        ]
        altered = kind.AlterShareGroupOffsetsRequestTopic(topic_name=TOPIC, partitions=offsets)
        answer = peer.ask(Asked(kind(group_id=GROUP, topics=[altered]), 0))
        assert not answer.error_code, answer
        assert not any(each.error_code for each in answer.responses[0].partitions), answer

    def _described(self, peer: Peer) -> tuple[int, ...]:
        kind = DescribeShareGroupOffsetsRequest
        group = kind.DescribeShareGroupOffsetsRequestGroup(group_id=GROUP, topics=None)
        (found,) = peer.ask(Asked(kind(groups=[group]), 1)).groups
        assert not found.error_code, found
        return tuple(each.start_offset for topic in found.topics for each in topic.partitions)


def mixed(before: tuple[int, ...], after: tuple[int, ...]) -> set[tuple[int, ...]]:
    """The states that a kill may leave of a change of several partitions: some are changed, others not yet."""
    if not before or not after:
        return set()
    return {after[:count] + before[count:] for count in range(PARTITIONS)}


def test_a_kill_keeps_the_offsets_that_were_set_and_deleted(tmp_path: Path) -> None:
    with Victim(tmp_path, {}) as victim:
        victim.start()
        with Peer(victim.port) as peer:
            assert peer.ask(create(TOPIC, PARTITIONS)).topics[0].error_code == 0
        administrator = Administrator()
        failures: list[BaseException] = []
        shooter = Thread(target=shoot, args=(victim, failures))
        shooter.start()
        while shooter.is_alive():
            with suppress(OSError, EOFError):
                administrator.work(victim, shooter.is_alive)
            sleep(0.01)
        shooter.join()
        assert not failures, failures
        assert administrator.answered > ROUNDS
        last = administrator.answered + 10
        administrator.work(victim, lambda: administrator.answered < last)


def finish(worker: Worker, victim: Victim) -> None:
    """Work until every record is finished."""
    deadline = monotonic() + WAIT

    def goes_on() -> bool:
        assert monotonic() < deadline, f"{len(worker.done)} records are done"
        return bool(worker.held) or len(worker.done | worker.unsure) < RECORDS

    worker.work(victim, goes_on)


def prepared(victim: Victim) -> UUID:
    """The id of a topic with records, from whose first the group begins."""
    with Peer(victim.port) as peer:
        assert peer.ask(create(TOPIC, 1)).topics[0].error_code == 0
        kind = IncrementalAlterConfigsRequest
        config = kind.AlterableConfig(name="share.auto.offset.reset", value="earliest", config_operation=0)
        resource = kind.AlterConfigsResource(resource_type=32, resource_name=GROUP, configs=[config])
        assert peer.ask(Asked(kind(resources=[resource]), 1)).responses[0].error_code == 0
        for first in range(0, RECORDS, 10):
            builder = BatchBuilder()
            for number in range(first, first + 10):
                builder.append(None, b"%d" % number, timestamp=1_700_000_000_000)
            assert peer.ask(produce(TOPIC, 0, builder.build())).responses[0].partition_responses[0].error_code == 0
        wanted = MetadataRequest.MetadataRequestTopic(name=TOPIC)
        found: UUID = peer.ask(Asked(MetadataRequest(topics=[wanted]), 12)).topics[0].topic_id
        return found
