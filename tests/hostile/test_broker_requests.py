"""Requests of every API and version, random, cut and corrupted: each is answered or refused, never a fault of ours."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.messages.samples import random_message

from kafkawire.broker._config.settings import BrokerConfig
from kafkawire.broker._dispatch.call import Call
from kafkawire.broker._dispatch.dispatcher import Dispatcher
from kafkawire.broker._dispatch.registry import served_apis
from kafkawire.broker._metrics.counters import Metrics
from kafkawire.broker._node import Node
from kafkawire.broker._security.peer import Peer
from kafkawire.exceptions import KafkaWireError
from kafkawire.log.storage.memory import MemoryFiles
from kafkawire.testing.manual_clock import ManualClock
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Iterator

EACH = [
    pytest.param(served.api.key, version, id=f"{served.api.name}-{version}")
    for served in served_apis().values()
    for version in served.versions
]


@pytest.fixture(scope="module")
def dispatcher() -> Dispatcher:
    clock = ManualClock(1_700_000_000_000)
    config = BrokerConfig({"offsets.topic.num.partitions": "2"})
    node = Node(config, clock, root=Path("/data"), files=MemoryFiles(clock.now))
    node.create_topic("topic-1", 2)
    return Dispatcher(node, Metrics())


def frames(key: int, version: int) -> Iterator[bytes]:
    """Random requests, whole, then cut short, then with bytes changed."""
    dice = Random(key * 100 + version)
    for _ in range(4):
        request = random_message(served_apis()[key].api.request, version, dice)
        whole = encode_request(request, version=version, correlation_id=1, client_id="hostile")
        yield whole
        cut = whole[4 : dice.randint(12, len(whole))]
        yield len(cut).to_bytes(4, "big") + cut
        broken = bytearray(whole)
        for _ in range(3):
            broken[dice.randrange(14, len(broken))] = dice.randrange(256)
        yield bytes(broken)


@pytest.mark.parametrize(("key", "version"), EACH)
def test_any_request_is_answered_or_refused(
    dispatcher: Dispatcher, key: int, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def serve(frame: bytes) -> None:
        try:
            call = dispatcher.begin(frame, Peer(address=("hostile", 1)))
            if not isinstance(call, Call):
                return
            if call.is_waiting:
                await asyncio.wait_for(dispatcher.wait(call), 0.01)
        except (KafkaWireError, TimeoutError):
            return
        dispatcher.finish(call)

    with caplog.at_level(logging.ERROR, "kafkawire"):
        for frame in frames(key, version):
            asyncio.run(serve(frame))
    assert [record.getMessage() for record in caplog.records] == []
