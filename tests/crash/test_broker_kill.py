"""kill -9 of a serving broker, again and again: what was acknowledged is there, once, after every restart.

KAFKAWIRE_CRASH_ROUNDS sets how often. `make torture` does the same for longer, with many clients at once.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from random import Random
from threading import Timer
from typing import TYPE_CHECKING

import pytest
from torture.peer import Asked, Peer, commit, create, produce
from torture.victim import Victim

from kafkawire.records import BatchBuilder

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = int(os.environ.get("KAFKAWIRE_CRASH_ROUNDS", "50"))
MOST_AT_ONCE = 5
SETTINGS = {"flush.on.ack": "true", "offsets.topic.num.partitions": "1", "log.segment.bytes": "20000"}


class Application:
    """An idempotent producer that also commits its position, and knows what was acknowledged."""

    def __init__(self, peer: Peer) -> None:
        self.producer_id = peer.producer_id()
        self.acknowledged = 0
        self.committed = -1

    def produce(self, peer: Peer, count: int) -> None:
        """Send the next numbers in requests of their own, again those that were not acknowledged."""
        requests = [self._request(self.acknowledged + number) for number in range(count)]
        peer.send(requests)
        for request in requests:
            response = peer.receive(request)
            assert response.responses[0].partition_responses[0].error_code == 0
            self.acknowledged += 1

    def _request(self, number: int) -> Asked:
        builder = BatchBuilder(producer_id=self.producer_id, producer_epoch=0, base_sequence=number)
        builder.append(b"key", b"%d" % number, timestamp=int(time.time() * 1000))
        return produce("numbers", 0, builder.build())

    def commit(self, peer: Peer) -> None:
        response = peer.ask(commit("group", "numbers", 0, self.acknowledged))
        assert response.topics[0].partitions[0].error_code == 0
        self.committed = self.acknowledged


@pytest.mark.timeout(max(900, 6 * ROUNDS))
def test_acknowledged_records_are_stored_once(tmp_path: Path) -> None:
    with Victim(tmp_path, SETTINGS) as victim:
        victim.start()
        shoot_again_and_again(victim, Random(1))


def shoot_again_and_again(victim: Victim, dice: Random) -> None:
    made: list[str] = []
    peer = Peer(victim.port)
    make(peer, "numbers", made)
    application = Application(peer)
    for number in range(ROUNDS):
        shot = Timer(dice.uniform(0.01, 0.15), os.kill, (victim.pid, signal.SIGKILL))
        if number % 2:
            application.produce(peer, 1)
        shot.start()
        with suppress(OSError, EOFError):
            make(peer, f"round-{number}", made)
            while True:
                application.produce(peer, dice.randint(1, MOST_AT_ONCE))
                if dice.random() < 0.3:
                    application.commit(peer)
        shot.join()
        peer.close()
        victim.kill()
        victim.start()
        peer = Peer(victim.port)
        found = [int(value) for _, value in peer.read("numbers", 0, 0)]
        assert found == list(range(len(found)))
        assert application.acknowledged <= len(found) <= application.acknowledged + MOST_AT_ONCE
        assert peer.committed("group", ("numbers", 0)) >= application.committed
        assert set(made) <= peer.topics()
        assert peer.producer_id() != application.producer_id
    peer.close()
    assert application.acknowledged >= ROUNDS // 2


def make(peer: Peer, name: str, made: list[str]) -> None:
    assert peer.ask(create(name)).topics[0].error_code == 0
    made.append(name)
