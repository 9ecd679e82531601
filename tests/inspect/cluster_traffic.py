"""Traffic like that of a cluster: producers, consumers and members of groups, and captures of it with faults."""

from __future__ import annotations

import itertools
import random
from typing import NamedTuple

from tests.inspect.captures import MILLISECOND, START, Conversation, Packet, Sent, merge, reorder, retransmit

from kafkawire.messages import (
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    ProduceResponse,
)


class Traffic(NamedTuple):
    """Packets as captured, and the frames that were sent."""

    packets: list[Packet]
    truth: list[Sent]


def cluster_traffic(connections: int, exchanges: int, *, payload: int, seed: int = 7) -> Traffic:
    """Connections that start together and go on for `exchanges` each, with payloads up to a size."""
    chance = random.Random(seed)
    kinds = [_produce, _fetch, heartbeat, metadata]
    talks = []
    for number in range(connections):
        client = (f"10.1.{number >> 8}.{number & 255}", 40_000 + number)
        talk = Conversation(
            client, client_id=f"client-{number % 7}", now=START + number * MILLISECOND, acknowledges=True
        )
        talk.first_sequences = (chance.randrange(1 << 32), chance.randrange(1 << 32))
        talk.__post_init__()
        talk.open()
        kind = kinds[number % len(kinds)]
        for _ in range(exchanges):
            request, response, version = kind(chance, payload)
            talk.exchange(request, response, version, after=chance.uniform(0.1, 3), then=chance.uniform(0, 10))
        talks.append(talk.close())
    return Traffic(merge(talks), [frame for talk in talks for frame in talk.truth])


def impaired(traffic: Traffic, *, lost: int, mid_stream: float = 0.2, seed: int = 11) -> Traffic:
    """Reordered (0.4 %), retransmitted (0.6 %), packets missing, and a share of connections that start in mid-frame.

    The truth keeps the frames whose first byte comes after the start of the capture of their connection.
    """
    chance = random.Random(seed)
    clients = sorted({frame.client for frame in traffic.truth})
    late = set(chance.sample(clients, int(len(clients) * mid_stream)))
    packets, truth = _start_late(traffic, late, chance)
    packets = retransmit(reorder(packets, 0.004, chance), 0.006, chance)
    loaded = [index for index, packet in enumerate(packets) if packet.payload]
    gone = set(chance.sample(loaded, lost))
    return Traffic([packet for index, packet in enumerate(packets) if index not in gone], truth)


def _start_late(traffic: Traffic, late: set[str], chance: random.Random) -> Traffic:
    """Cut the beginning of some connections, within a frame of several packets where there is one."""
    by_client: dict[str, list[int]] = {}
    for index, packet in enumerate(traffic.packets):
        name = f"{packet.source[0]}:{packet.source[1]}"
        answered = f"{packet.target[0]}:{packet.target[1]}"
        by_client.setdefault(name if name in late else answered, []).append(index)
    gone: set[int] = set()
    cut_after: dict[str, int] = {}
    for name in late:
        rows = by_client[name]
        inner = [
            place
            for place, (one, two) in enumerate(itertools.pairwise(rows))
            if traffic.packets[two].payload and traffic.packets[one].mark == traffic.packets[two].mark
        ]
        place = chance.choice(inner[: max(len(inner) // 4, 1)]) if inner else 3
        gone.update(rows[: place + 1])
        cut_after[name] = traffic.packets[rows[place]].mark
    counted: dict[str, int] = {}
    truth = []
    for frame in traffic.truth:
        number = counted[frame.client] = counted.get(frame.client, -1) + 1
        if number > cut_after.get(frame.client, -1):
            truth.append(frame)
    return Traffic([packet for index, packet in enumerate(traffic.packets) if index not in gone], truth)


def _produce(chance: random.Random, payload: int) -> tuple[Message, Message, int]:
    version = 9
    topic = ProduceRequest.TopicProduceData(
        name="orders",
        partition_data=[
            ProduceRequest.PartitionProduceData(index=chance.randrange(6), records=_noise(chance, payload))
        ],
    )
    answer = ProduceResponse.TopicProduceResponse(
        name="orders",
        partition_responses=[ProduceResponse.PartitionProduceResponse(index=1, base_offset=chance.randrange(1 << 40))],
    )
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic]), ProduceResponse(responses=[answer]), version


def _fetch(chance: random.Random, payload: int) -> tuple[Message, Message, int]:
    asked = FetchRequest.FetchPartition(
        partition=3, fetch_offset=chance.randrange(1 << 40), partition_max_bytes=1 << 20
    )
    data = FetchResponse.PartitionData(
        partition_index=3, high_watermark=chance.randrange(1 << 40), records=_noise(chance, payload)
    )
    request = FetchRequest(
        max_wait_ms=500, min_bytes=1, topics=[FetchRequest.FetchTopic(topic="orders", partitions=[asked])]
    )
    answer = FetchResponse.FetchableTopicResponse(topic="orders", partitions=[data])
    return request, FetchResponse(session_id=0, responses=[answer]), 11


def heartbeat(chance: random.Random, payload: int) -> tuple[Message, Message, int]:
    """A member that says it is there."""
    request = HeartbeatRequest(group_id="billing", generation_id=4, member_id=f"member-{chance.randrange(9)}")
    return request, HeartbeatResponse(error_code=0), 4


def metadata(chance: random.Random, payload: int) -> tuple[Message, Message, int]:
    """A client that asks who leads a topic."""
    topics = [MetadataRequest.MetadataRequestTopic(name="orders")]
    broker = MetadataResponse.MetadataResponseBroker(node_id=1, host="broker-1", port=9092)
    partitions = [
        MetadataResponse.MetadataResponsePartition(partition_index=p, leader_id=1) for p in range(chance.randrange(40))
    ]
    topic = MetadataResponse.MetadataResponseTopic(name="orders", partitions=partitions)
    return MetadataRequest(topics=topics), MetadataResponse(brokers=[broker], topics=[topic]), 8


def _noise(chance: random.Random, payload: int) -> bytes:
    return chance.randbytes(chance.randrange(payload // 2, payload))
