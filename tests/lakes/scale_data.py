"""Data for runs of many gigabytes: a topic of orders, and a capture of a busy cluster.

Rules:
- Values are JSON as services write it, so they compress about as much, and no two of them are equal.
- A capture repeats a block of connections, each time later and from other addresses. Two connections last for the
  whole capture: their sequence numbers and correlation ids continue from block to block.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from tests.inspect.captures import Conversation, merge, write_pcap
from tests.inspect.cluster_traffic import heartbeat, metadata
from tests.inspect.sample_messages import batch, fetch, fetched, produce, produced

from kafkawire.client import BulkWriter

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

GIGABYTE: Final = 1_000_000_000
_CHUNK: Final = 20_000
_POOL: Final = 10
_STATES: Final = ("created", "paid", "packed", "shipped", "delivered", "returned")
_LONG: Final = 2
_SHORT: Final = 60
_BLOCK_SECONDS: Final = 5
_PCAP_HEADER: Final = 24


def write_orders(address: str, topic: str, partitions: int, size: int, *, chunk: int = _CHUNK) -> int:
    """Fill a topic up to a size in bytes; the number of its records."""
    chance = random.Random(1)
    pool = [_orders(chance, chunk, number) for number in range(_POOL)]
    count = written = 0
    with BulkWriter(address, max_batch_size=128 * 1024) as writer:
        while written < size:
            values = pool[count // chunk % _POOL]
            keys = pa.array([b"order-%012d" % (count + number) for number in range(chunk)])
            places = (np.arange(chunk) % partitions).astype(np.int32)
            writer.write(topic, pa.record_batch({"key": keys, "value": values, "partition": places}))
            count += chunk
            written += values.nbytes + 28 * chunk
    return count


def _orders(chance: random.Random, count: int, salt: int) -> pa.Array[Any]:
    return pa.array([_order(chance, salt * count + number) for number in range(count)])


def _order(chance: random.Random, number: int) -> bytes:
    items = [
        {
            "sku": f"SKU-{chance.randrange(100_000):06}",
            "count": chance.randrange(1, 9),
            "cents": chance.randrange(99_999),
        }
        for _ in range(chance.randrange(1, 8))
    ]
    order = {
        "id": f"{chance.getrandbits(128):032x}",
        "number": number,
        "customer": chance.randrange(1_000_000),
        "state": chance.choice(_STATES),
        "placed": 1_790_000_000_000 + chance.randrange(10_000_000_000),
        "address": {"city": f"City {chance.randrange(5_000)}", "street": f"Street {chance.randrange(90_000)}"},
        "items": items,
    }
    return json.dumps(order).encode()


def write_capture(path: Path, size: int) -> int:
    """A capture of about so many bytes; the number of its packets."""
    chance = random.Random(5)
    talks = [_talk(number, chance) for number in range(_SHORT + _LONG)]
    block = np.frombuffer(write_pcap(merge(talks)), np.uint8).copy()
    starts = _packets(block)
    seconds = _words(block, starts, "<u4")
    sources, targets = block[starts + 16 + 14 + 13], block[starts + 16 + 14 + 17]
    is_long = (sources == _LONG_NET) | (targets == _LONG_NET)
    head, body = block[:_PCAP_HEADER].tobytes(), block[_PCAP_HEADER:]
    starts = starts - _PCAP_HEADER
    long = _Continued(body, starts[is_long])
    written = count = 0
    with path.open("wb") as file:
        file.write(head)
        while written < size:
            file.write(body.tobytes())
            count, written = count + len(starts), written + len(body)
            turn = count // len(starts)
            _put(body, starts, (seconds + turn * _BLOCK_SECONDS).astype("<u4"))
            net = turn % 200 + 1
            for at, net_of in ((13, sources), (17, targets)):
                chosen = starts[net_of == _SHORT_NET] + 16 + 14 + at
                body[chosen] = _SHORT_NET + net
                body[chosen + 1] += 0 if turn % 200 else 1
            long.continue_to(body, turn)
    return count


_LONG_NET: Final = 9
_SHORT_NET: Final = 10
_BROKER_NET: Final = 1


def _talk(number: int, chance: random.Random) -> Conversation:
    """A connection of a block; the first ones last longer than the block and neither begin nor end in it."""
    is_long = number < _LONG
    client = (f"10.{_LONG_NET if is_long else _SHORT_NET}.0.{number}", 40_000 + number)
    broker = (f"10.{_BROKER_NET}.0.9", 9092)
    talk = Conversation(client, broker, client_id=f"client-{number % 7}", acknowledges=True)
    talk.now += number * 1_000_000
    if not is_long:
        talk.open().exchange(*metadata(chance, 0))
    sent = 0
    end = talk.now + (_BLOCK_SECONDS - 1) * 1_000_000_000
    while talk.now < end:
        records = _batch(chance)
        after, then = chance.uniform(0.1, 3), chance.uniform(0, 10 if is_long else 100)
        if number % 2:
            talk.exchange(produce(records), produced(sent), 9, after=after, then=then)
        else:
            asked = fetch(0, -1, (0, sent))
            talk.exchange(asked, fetched(0, (0, sent, records)), 11, after=after, then=then)
        if chance.random() < 0.3:
            talk.exchange(*heartbeat(chance, 0), after=after, then=then)
        sent += 100
    return talk if is_long else talk.close()


def _batch(chance: random.Random) -> bytes:
    values = [_order(chance, number) for number in range(chance.randrange(5, 120))]
    return batch(*values, compression=chance.choice(["none", "lz4"]))


def _packets(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """The positions of the packets of a capture."""
    found, at = [], _PCAP_HEADER
    while at < len(data):
        found.append(at)
        at += 16 + int.from_bytes(data[at + 8 : at + 12].tobytes(), "little")
    return np.array(found)


class _Continued:
    """The numbers of connections that last longer than a block: sequence numbers, and correlation ids."""

    def __init__(self, data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> None:
        self._at = starts + 16 + 14 + 20 + 4
        self._sequences = _words(data, self._at, ">u4")
        lengths = (_words(data, starts + 16 + 14 + 2, ">u2") - 52).tolist()
        ways = [data[at + 16 + 14 + 12 : at + 16 + 14 + 24].tobytes() for at in starts.tolist()]
        sent, left, ids = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0), []
        for at, way, length in zip(starts.tolist(), ways, lengths, strict=True):
            if length and not left[way]:
                frame = at + 16 + 14 + 52
                left[way] = 4 + int.from_bytes(data[frame : frame + 4].tobytes(), "big")
                ids.append(frame + (4 if way[:2] == bytes([10, _BROKER_NET]) else 8))
            left[way] -= length
            sent[way] += length
        self._steps = np.array([sent[way] for way in ways])
        self._ids = np.array(ids)
        self._correlations = _words(data, self._ids, ">u4")

    def continue_to(self, data: npt.NDArray[np.uint8], turn: int) -> None:
        """Write the numbers of a later block."""
        _put(data, self._at, ((self._sequences + turn * self._steps) & 0xFFFFFFFF).astype(">u4"))
        _put(data, self._ids, (self._correlations + turn * int(self._correlations.max())).astype(">u4"))


def _words(data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], kind: str) -> npt.NDArray[np.int64]:
    size = np.dtype(kind).itemsize
    words: npt.NDArray[np.int64] = data[at[:, None] + np.arange(size)].copy().view(kind).ravel().astype(np.int64)
    return words


def _put(data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], words: npt.NDArray[Any]) -> None:
    size = words.dtype.itemsize
    data[at[:, None] + np.arange(size)] = words.view(np.uint8).reshape(-1, size)
