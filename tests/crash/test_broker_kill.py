"""kill -9 of a serving broker, again and again: what was acknowledged is there, once, after every restart.

KAFKAWIRE_CRASH_ROUNDS sets how often. Brokers are forked from one process that has everything imported, so that a round
costs a shot and a recovery, and not the start of an interpreter.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from random import Random
from threading import Timer
from typing import TYPE_CHECKING, Any, Self, cast

import pytest
from tests.ports import lasting_port

from kafkawire.messages import (
    CreateTopicsRequest,
    FetchRequest,
    InitProducerIdRequest,
    Message,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    ProduceRequest,
    api,
)
from kafkawire.records import BatchBuilder, read_batches
from kafkawire.wire import decode_response, encode_request

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = int(os.environ.get("KAFKAWIRE_CRASH_ROUNDS", "50"))
MOST_AT_ONCE = 5
FORKING = """
import os, signal, sys
import kafkawire.broker
from kafkawire.broker.serving import served_apis
from kafkawire.cli.main import main

served_apis()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    if not os.fork():
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        print(os.getpid(), flush=True)
        os._exit(main(line.rstrip("\\n").split("\\t")))
"""
SETTINGS = ("flush.on.ack=true", "offsets.topic.num.partitions=1", "log.segment.bytes=20000")


class Victim:
    """A broker process on one port, started as often as it takes."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._port, self._pid = lasting_port(), 0
        self._connection: socket.socket | None = None
        self._forking = subprocess.Popen(
            [sys.executable, "-c", FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            self.shoot()
        self.bury()
        self._forking.communicate()

    def start(self) -> None:
        assert self._forking.stdin is not None
        assert self._forking.stdout is not None
        command = ["serve", "--data", str(self._data), "--port", str(self._port)]
        for setting in SETTINGS:
            command += ["-c", setting]
        self._forking.stdin.write("\t".join(command) + "\n")
        self._forking.stdin.flush()
        self._pid = int(self._forking.stdout.readline())
        assert f":{self._port} " in self._forking.stdout.readline()
        self._connection = socket.create_connection(("127.0.0.1", self._port), 60)

    def shoot(self) -> None:
        os.kill(self._pid, signal.SIGKILL)

    def bury(self) -> None:
        with suppress(ProcessLookupError):
            while True:
                os.kill(self._pid, 0)
                time.sleep(0.001)
        if self._connection is not None:
            self._connection.close()

    def call(self, request: Message, version: int) -> Any:
        """The answer to a request; OSError or EOFError if the broker died of it."""
        self.send([request], version)
        return self.receive(request, version)

    def send(self, requests: list[Message], version: int) -> None:
        """Send requests that arrive together."""
        assert self._connection is not None
        frames = [encode_request(each, version=version, correlation_id=1, client_id="crash") for each in requests]
        self._connection.sendall(b"".join(frames))

    def receive(self, request: Message, version: int) -> Any:
        assert self._connection is not None
        which = api(cast("int", type(request).__schema__.key))
        head = self._connection.recv(4, socket.MSG_WAITALL)
        if len(head) < 4:
            raise EOFError
        size = int.from_bytes(head, "big")
        body = self._connection.recv(size, socket.MSG_WAITALL)
        if len(body) < size:
            raise EOFError
        return decode_response(head + body, api_key=which.key, version=version)[1]


class Application:
    """An idempotent producer that also commits its position, and knows what was acknowledged."""

    def __init__(self, victim: Victim) -> None:
        self._victim = victim
        self.producer_id = victim.call(InitProducerIdRequest(transactional_id=None), 1).producer_id
        self.acknowledged = 0
        self.committed = -1

    def produce(self, count: int) -> None:
        """Send the next numbers in requests of their own, again those that were not acknowledged."""
        requests = [self._request(self.acknowledged + number) for number in range(count)]
        self._victim.send(requests, 9)
        for request in requests:
            response = self._victim.receive(request, 9)
            assert response.responses[0].partition_responses[0].error_code == 0
            self.acknowledged += 1

    def _request(self, number: int) -> Message:
        builder = BatchBuilder(producer_id=self.producer_id, producer_epoch=0, base_sequence=number)
        builder.append(b"key", b"%d" % number, timestamp=int(time.time() * 1000))
        data = ProduceRequest.PartitionProduceData(index=0, records=builder.build())
        topic = ProduceRequest.TopicProduceData(name="numbers", partition_data=[data])
        return ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[topic])

    def commit(self) -> None:
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(committed_offset=self.acknowledged)
        topic = OffsetCommitRequest.OffsetCommitRequestTopic(name="numbers", partitions=[partition])
        request = OffsetCommitRequest(group_id="group", generation_id_or_member_epoch=-1, topics=[topic])
        response = self._victim.call(request, 7)
        assert response.topics[0].partitions[0].error_code == 0
        self.committed = self.acknowledged

    def found_commit(self) -> int:
        topic = OffsetFetchRequest.OffsetFetchRequestTopic(name="numbers", partition_indexes=[0])
        response = self._victim.call(OffsetFetchRequest(group_id="group", topics=[topic]), 5)
        return int(response.topics[0].partitions[0].committed_offset)

    def found_numbers(self) -> list[int]:
        found: list[int] = []
        while True:
            wanted = FetchRequest.FetchPartition(fetch_offset=len(found), partition_max_bytes=1 << 20)
            topic = FetchRequest.FetchTopic(topic="numbers", partitions=[wanted])
            response = self._victim.call(FetchRequest(max_bytes=1 << 20, topics=[topic]), 11)
            records = response.responses[0].partitions[0].records
            batch = [int(record.value or b"-1") for each in read_batches(records) for record in each.records()]
            if not batch:
                return found
            found += batch


@pytest.mark.timeout(max(900, 6 * ROUNDS))
def test_what_was_acknowledged_is_there_once(tmp_path: Path) -> None:
    with Victim(tmp_path / "data") as victim:
        victim.start()
        shoot_again_and_again(victim, Random(1))


def shoot_again_and_again(victim: Victim, dice: Random) -> None:
    made: list[str] = []
    create(victim, "numbers", made)
    application = Application(victim)
    for number in range(ROUNDS):
        shot = Timer(dice.uniform(0.01, 0.15), victim.shoot)
        if number % 2:
            application.produce(1)
        shot.start()
        with suppress(OSError, EOFError):
            create(victim, f"round-{number}", made)
            while True:
                application.produce(dice.randint(1, MOST_AT_ONCE))
                if dice.random() < 0.3:
                    application.commit()
        shot.join()
        victim.bury()
        victim.start()
        found = application.found_numbers()
        assert found == list(range(len(found)))
        assert application.acknowledged <= len(found) <= application.acknowledged + MOST_AT_ONCE
        assert application.found_commit() >= application.committed
        listed = [topic.name for topic in victim.call(MetadataRequest(topics=None), 1).topics]
        assert set(made) <= set(listed)
        assert victim.call(InitProducerIdRequest(transactional_id=None), 1).producer_id != application.producer_id
    assert application.acknowledged >= ROUNDS // 2


def create(victim: Victim, name: str, made: list[str]) -> None:
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    assert victim.call(CreateTopicsRequest(topics=[topic]), 4).topics[0].error_code == 0
    made.append(name)
