"""Frames that no client would send, and many that one might: random messages of every API and version, and wounds.

Rules:
- A pool is drawn from a seed. Half of it are valid frames; the others are wounded: changed bytes, cuts, huge counts and
  lengths, sizes that do not fit; keys and versions that do not exist; elements repeated a thousand times.
- Waits that a request may ask for are made short, so that the frame after it gets its turn.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.messages.samples import random_message

from kafkawire.broker._dispatch.registry import served_apis
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import FetchRequest, ProduceRequest, apis
from kafkawire.wire import encode_request
from torture.peer import batch

if TYPE_CHECKING:
    from random import Random

HUGE: Final = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x80\0\0\0")
REPEATED: Final = 1000
MOST_BYTES: Final = 60_000
_SHORT_WAITS: Final = ("max_wait_ms", "max_wait_time_ms", "timeout_ms", "rebalance_timeout_ms")


class Frame(NamedTuple):
    """A frame, and whether it is as a client would send it."""

    content: bytes
    is_valid: bool


def pool(dice: Random, each: int) -> list[Frame]:
    """Frames of every API and version: `each` valid ones, and as many wounded; what is not served is a wound too."""
    found = []
    served = served_apis()
    for api in apis():
        for version in api.versions:
            is_served = api.key in served and version in served[api.key].versions
            for _ in range(each if is_served else 1):
                valid = valid_frame(api.request, version, dice)
                if valid is not None:
                    found.append(Frame(valid, is_served))
                    found.append(Frame(wounded(valid, dice), False))
    dice.shuffle(found)
    return found


def valid_frame(cls: type[Any], version: int, dice: Random) -> bytes | None:
    """A random request of a version; None where its values cannot be written."""
    request = random_message(cls, version, dice)
    for name in _SHORT_WAITS:
        if hasattr(request, name):
            setattr(request, name, dice.choice((0, 1)))
    if isinstance(request, ProduceRequest):
        request.acks = dice.choice((-1, 1, 1, 0))
        for topic in request.topic_data:
            for data in topic.partition_data:
                data.index = 0
                data.records = _records(dice)
    if isinstance(request, FetchRequest):
        request.min_bytes = 0
    if dice.random() < 0.01:
        _repeat(request, dice)
    try:
        frame = encode_request(request, version=version, correlation_id=dice.getrandbits(31), client_id="hostile")
    except KafkaWireError:
        return None
    return frame if len(frame) <= MOST_BYTES else None


def wounded(frame: bytes, dice: Random) -> bytes:
    """A frame with one thing wrong."""
    body = bytearray(frame[4:])
    match dice.randrange(6):
        case 0:
            for _ in range(dice.randint(1, 4)):
                body[dice.randrange(len(body))] = dice.randrange(256)
        case 1:
            del body[dice.randrange(len(body)) :]
        case 2:
            at = dice.randrange(min(8, len(body) - 1), len(body))
            huge = dice.choice(HUGE)
            body[at : at + len(huge)] = huge
        case 3:
            size = dice.choice((0, 1, 7, len(body) + 5, len(body) - 3, -1, 2**31 - 1, -(2**31), 104_857_601))
            return struct.pack(">i", size) + bytes(body)
        case 4:
            body[:4] = struct.pack(">hh", dice.randint(-3, 120), dice.choice((-1, 0, 20, 99, 32767)))
        case 5:
            at = dice.randrange(len(body))
            body[at:at] = dice.randbytes(dice.choice((1, 2, 100)))
    return struct.pack(">i", len(body)) + bytes(body)


def _records(dice: Random) -> bytes:
    whole = bytearray(batch([b"value"] * dice.randint(1, 3)))
    chance = dice.random()
    if chance < 0.3:
        whole[dice.randrange(len(whole))] = dice.randrange(256)
    elif chance < 0.4:
        del whole[dice.randrange(len(whole)) :]
    return bytes(whole)


def _repeat(request: Any, dice: Random) -> None:
    """Let one list of a message hold its first element a thousand times."""
    lists = [name for name in type(request).__slots__ if isinstance(getattr(request, name, None), list)]
    filled = [name for name in lists if getattr(request, name)]
    if filled:
        name = dice.choice(filled)
        setattr(request, name, getattr(request, name)[:1] * REPEATED)
