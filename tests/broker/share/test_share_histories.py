"""Random histories of a share group in a node: lost answers, a disk that fails, deleted records, resets, crashes.

KAFKAWIRE_SHARE_ROUNDS sets the number of histories. Rules that hold all the while:
- A record has one holder. A record whose acceptance or rejection was answered is never acquired again.
- No record is delivered more often than the group allows.
- A refused acknowledgement changes nothing: its member may send it again.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import ask
from tests.broker.share.share_requests import GROUP, acquired, fetch_request, join, produce

from kafkawire.broker._metadata.topics import SHARE_GROUP_STATE
from kafkawire.messages import ShareAcknowledgeRequest
from kafkawire.messages.errors import ErrorCode, KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node
    from kafkawire.testing.manual_clock import ManualClock

LIMIT, LOCK, STEPS = 4, 30_000, 100
ROUNDS = int(os.environ.get("KAFKAWIRE_SHARE_ROUNDS", "4"))
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


class History:
    """One group with two members, and what may happen to it."""

    def __init__(
        self, seed: int, open_node: Callable[..., Node], clock: ManualClock, patch: pytest.MonkeyPatch
    ) -> None:
        self.dice = random.Random(seed)
        self.open_node, self.clock, self.patch = open_node, clock, patch
        self.epochs: dict[str, int] = {}
        self.holders: dict[int, tuple[str, int]] = {}
        """The holder of each record, and the end of its lock."""
        self.finished: set[int] = set()
        self.is_full = False
        self.node = self.open()
        self.node.create_topic("orders", 1)
        produce(self.node, 5)
        self.join()

    def open(self) -> Node:
        node = self.open_node(share_coordinator_snapshot_update_records_per_snapshot="7")
        settings = {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": str(LIMIT)}
        node.group_configs.change(GROUP, settings)
        append = node.append

        def fail(name: str, *rest: Any, **options: Any) -> Any:
            if self.node is not node or (self.is_full and name == SHARE_GROUP_STATE):
                raise KafkaStorageError("no space left on device")
            return append(name, *rest, **options)

        self.patch.setattr(node, "append", fail)
        return node

    def join(self) -> None:
        for member in "mn":
            join(self.node, member, "orders")
            self.epochs[member] = 0

    def step(self) -> None:
        member = self.dice.choice("mn")
        kinds = [self.fetch] * 5 + [self.acknowledge] * 5 + [self.lose_answer, self.begin_again, self.wait]
        act: Any = self.dice.choice([*kinds, self.grow, self.grow, self.trim, self.fail, self.crash, self.end])
        act(member)

    def fetch(self, member: str) -> None:
        limited: dict[str, Any] = {}
        if self.dice.random() < 0.5:
            limited = {"share_acquire_mode": 1, "max_records": self.dice.randint(1, 6)}
        answer = ask(self.node, fetch_request(self.node, member, self.epochs[member], **limited))
        assert not answer.error_code, answer
        self.epochs[member] += 1
        for topic in answer.responses:
            for partition in topic.partitions:
                assert self.is_full or not partition.error_code, partition
                self.take(member, partition)

    def take(self, member: str, partition: Any) -> None:
        now = self.clock.elapsed()
        for first, last, count in acquired(partition):
            assert 1 <= count <= LIMIT
            for offset in range(first, last + 1):
                holder, until = self.holders.get(offset, ("", 0))
                assert not holder or until <= now, f"{offset} has two holders"
                assert offset not in self.finished, f"{offset} comes again"
                assert offset >= self.node.log("orders", 0).log_start_offset
                self.holders[offset] = member, now + LOCK

    def mine(self, member: str) -> list[int]:
        now = self.clock.elapsed()
        return sorted(offset for offset, (holder, until) in self.holders.items() if holder == member and until > now)

    def acknowledge(self, member: str, *, loses: bool = False) -> None:
        chosen = [offset for offset in self.mine(member) if self.dice.random() < 0.7]
        if not chosen or not self.epochs[member]:
            return
        kinds = {offset: self.dice.choice([ACCEPT, ACCEPT, RELEASE, REJECT, RENEW]) for offset in chosen}
        code = self.send(member, kinds)
        if loses:
            return
        if code:
            assert self.is_full or min(chosen) < self.node.log("orders", 0).log_start_offset, ErrorCode(code).name
            if self.is_full:
                self.lose(member)
            return
        for offset, kind in kinds.items():
            if kind == RENEW:
                self.holders[offset] = member, self.clock.elapsed() + LOCK
            else:
                del self.holders[offset]
                if kind != RELEASE:
                    self.finished.add(offset)

    def send(self, member: str, kinds: dict[int, int]) -> int:
        kind = ShareAcknowledgeRequest
        batches = [
            kind.AcknowledgementBatch(first_offset=offset, last_offset=offset, acknowledge_types=[each])
            for offset, each in kinds.items()
        ]
        partition = kind.AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)
        topic = kind.AcknowledgeTopic(topic_id=self.node.topics.get("orders").id, partitions=[partition])
        request = kind(
            group_id=GROUP,
            member_id=member,
            share_session_epoch=self.epochs[member],
            topics=[topic],
            is_renew_ack=RENEW in kinds.values(),
        )
        answer = ask(self.node, request, 2)
        assert not answer.error_code, answer
        self.epochs[member] += 1
        (found,) = answer.responses[0].partitions
        return int(found.error_code)

    def lose_answer(self, member: str) -> None:
        """The broker takes in acknowledgements whose answer is lost; the client comes back and says them again."""
        if self.epochs[member]:
            self.acknowledge(member, loses=True)
            wrong = fetch_request(self.node, member, self.epochs[member] + 1)
            assert ask(self.node, wrong).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
            self.end(member)

    def begin_again(self, member: str) -> None:
        """A new session does not take away what the member holds."""
        self.epochs[member] = 0

    def end(self, member: str) -> None:
        """The connection of a member closes."""
        for session in list(self.node.shares.sessions):
            if session.key.member_id == member:
                self.node.shares.end_session(session.key)
                self.lose(member)
        self.epochs[member] = 0

    def lose(self, member: str) -> None:
        for offset in self.mine(member):
            del self.holders[offset]

    def wait(self, member: str) -> None:
        self.clock.advance(self.dice.choice([1, LOCK // 2, LOCK]))
        if not self.is_full:
            self.rejoin()

    def rejoin(self) -> None:
        for member in "mn":
            join(self.node, member, "orders")

    def grow(self, member: str) -> None:
        produce(self.node, self.dice.randint(1, 8))

    def trim(self, member: str) -> None:
        log = self.node.log("orders", 0)
        log.delete_records(min(log.high_watermark, log.log_start_offset + self.dice.randint(0, 4)))
        for offset in [offset for offset in self.holders if offset < log.log_start_offset]:
            del self.holders[offset]

    def fail(self, member: str) -> None:
        self.is_full = not self.is_full

    def crash(self, member: str) -> None:
        self.is_full = False
        self.node.shares.stop()  # the clock is also that of the next node
        self.node = self.open()
        self.node.start()
        self.holders.clear()
        self.join()

    def drain(self) -> None:
        """A late member takes everything that is left."""
        self.is_full = False
        self.clock.advance(LOCK)
        self.crash("m")
        log = self.node.log("orders", 0)
        for _ in range(log.high_watermark):
            self.fetch("m")
            kinds = dict.fromkeys(self.mine("m"), ACCEPT)
            if kinds:
                assert not self.send("m", kinds)
                self.finished |= set(kinds)
                self.holders.clear()


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_records_are_finished_once(
    seed: int, open_node: Callable[..., Node], clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(seed, open_node, clock, monkeypatch)
    for _ in range(STEPS):
        history.step()
    history.drain()
