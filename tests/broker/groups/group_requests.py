"""Requests of groups to a node, encoded in their version. Requests that wait can be examined later."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.groups.manual_coordinator import subscription
from tests.broker.node_requests import answer, begin

from kafkawire.broker._dispatch.dispatcher import Dispatcher
from kafkawire.broker._metrics.counters import Metrics
from kafkawire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.broker._dispatch.call import Call
    from kafkawire.broker._node import Node
    from kafkawire.messages import JoinGroupResponse, Message
    from kafkawire.testing.manual_clock import ManualClock

GROUP = "readers"


class Asked:
    """A request that is under way."""

    def __init__(self, talk: Talk, call: Call, task: asyncio.Task[None] | None) -> None:
        self._talk, self._call, self._task = talk, call, task

    @property
    def is_waiting(self) -> bool:
        self._talk.turn()
        return self._task is not None and not self._task.done()

    @property
    def answer(self) -> Any:
        assert not self.is_waiting, "no answer yet"
        if self._task is not None:
            self._task.result()
        return answer(self._talk.node, self._call)

    def give_up(self) -> None:
        """Do as a connection does that is lost."""
        assert self._task is not None
        self._task.cancel()
        self._talk.turn()


class Talk:
    """A conversation with a node's groups."""

    def __init__(self, node: Node, clock: ManualClock, runner: asyncio.Runner) -> None:
        self.node, self.clock, self._runner = node, clock, runner

    def start(self, request: Message, version: int | None = None) -> Asked:
        async def go() -> Asked:
            call = begin(self.node, request, version, "client")
            task = asyncio.create_task(Dispatcher(self.node, Metrics()).wait(call)) if call.is_waiting else None
            return Asked(self, call, task)

        asked = self._runner.run(go())
        self.turn()
        return asked

    def ask(self, request: Message, version: int | None = None) -> Any:
        return self.start(request, version).answer

    def turn(self, milliseconds: int = 0) -> None:
        """Let time pass, and everything happen that can."""

        async def go() -> None:
            await self.node.changes.drain()
            for _ in range(5):
                await asyncio.sleep(0)
            self.clock.advance(milliseconds)
            for _ in range(5):
                await asyncio.sleep(0)

        self._runner.run(go())

    def join(self, member_id: str = "", *, version: int = 3, **fields: Any) -> Asked:
        return self.start(join_request(member_id, **fields), version)

    def member(self, **fields: Any) -> JoinGroupResponse:
        """The join response of a member that is alone in a stable group."""
        joined: JoinGroupResponse = self.join(**fields).answer
        self.ask(sync_request(joined, {joined.member_id: b"everything"}))
        return joined

    def commit(self, offset: int, *, topic: str = "orders", index: int = 0, **fields: Any) -> int:
        """The error of a commit."""
        response = self.ask(commit_request(offset, topic=topic, index=index, **fields), 9)
        return int(response.topics[0].partitions[0].error_code)

    def committed(self, topic: str = "orders", index: int = 0) -> int:
        wanted = OffsetFetchRequest.OffsetFetchRequestTopic(name=topic, partition_indexes=[index])
        response = self.ask(OffsetFetchRequest(group_id=GROUP, topics=[wanted]), 7)
        return int(response.topics[0].partitions[0].committed_offset)

    def heartbeat(self, joined: JoinGroupResponse) -> int:
        request = HeartbeatRequest(group_id=GROUP, member_id=joined.member_id, generation_id=joined.generation_id)
        return int(self.ask(request).error_code)


def join_request(member_id: str = "", **fields: Any) -> JoinGroupRequest:
    return JoinGroupRequest(
        **{
            "group_id": GROUP,
            "member_id": member_id,
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=subscription("orders"))],
            **fields,
        }
    )


def sync_request(joined: JoinGroupResponse, parts: dict[str, bytes] | None = None) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=GROUP,
        member_id=joined.member_id,
        generation_id=joined.generation_id,
        protocol_type="consumer",
        protocol_name=joined.protocol_name,
        assignments=[
            SyncGroupRequest.SyncGroupRequestAssignment(member_id=member_id, assignment=part)
            for member_id, part in (parts or {}).items()
        ],
    )


def commit_request(
    offset: int, *, topic: str = "orders", index: int = 0, metadata: str | None = None, **fields: Any
) -> OffsetCommitRequest:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=index, committed_offset=offset, committed_metadata=metadata
    )
    wanted = OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[partition])
    return OffsetCommitRequest(**{"group_id": GROUP, "topics": [wanted], **fields})


@pytest.fixture
def talk(open_node: Callable[..., Node], clock: ManualClock) -> Iterator[Talk]:
    node = open_node(offsets_topic_num_partitions="3")
    node.create_topic("orders", 2)
    node.start()
    with asyncio.Runner() as runner:
        yield Talk(node, clock, runner)
