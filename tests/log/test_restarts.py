"""A client that resends any of its last five batches after a restart gets the offsets of the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.log.batches import batch
from tests.log.conftest import DIRECTORY

from kafkawire.log._producer_snapshots import ENTRIES_AT, ENTRY_SIZE, decode_snapshot
from kafkawire.log.storage.files import read_file
from kafkawire.messages.errors import OutOfOrderSequenceError
from kafkawire.records import crc32c

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.log.conftest import OpenLog, OpenOn

    from kafkawire.log import MemoryFiles, Partition
    from kafkawire.testing.faulty_files import FaultyFiles

SETTINGS = {"segment_bytes": 400}
BATCHES = 12


def write(log: Partition) -> dict[tuple[int, int], int]:
    """Batches of two producers over several segments; the offset of each by producer and sequence."""
    written = {}
    for number in range(BATCHES):
        for producer in (7, 8):
            written[producer, number] = log.append(batch(b"v", producer=(producer, 0, number))).base_offset
    return written


def assert_known(log: Partition, written: dict[tuple[int, int], int]) -> None:
    """The last five batches of each producer are duplicates; the one before them is not known any more."""
    for (producer, number), offset in written.items():
        data = batch(b"v", producer=(producer, 0, number))
        if number < BATCHES - 5:
            with pytest.raises(OutOfOrderSequenceError):
                log.append(data)
        else:
            result = log.append(data)
            assert (result.base_offset, result.last_offset, result.duplicate) == (offset, offset, True)


@pytest.mark.parametrize("stop", ["clean", "killed", "unplugged"])
def test_each_of_the_last_five_batches_is_known_after_a_restart(
    disk: FaultyFiles, open_log: OpenLog, stop: str
) -> None:
    log = open_log(on=disk, **SETTINGS)
    written = write(log)
    if stop == "clean":
        log.close()
    else:
        log.flush()
    after = disk.killed() if stop == "killed" else disk.unplugged()
    point = log.checkpoint_offset
    assert_known(open_log(on=after, clean=stop == "clean", recovery_point=point, **SETTINGS), written)


def test_each_is_known_where_recovery_starts_from_a_snapshot_at_a_segments_base(
    disk: FaultyFiles, open_log: OpenLog
) -> None:
    log = open_log(on=disk, **SETTINGS)
    written = write(log)
    log.roll()
    log.flush()
    again = open_log(on=disk.killed(), clean=False, recovery_point=log.checkpoint_offset, **SETTINGS)
    assert again.segments.active.size == 0
    assert_known(again, written)


def test_each_is_known_after_a_second_restart_of_either_kind(disk: FaultyFiles, open_log: OpenLog) -> None:
    log = open_log(on=disk, **SETTINGS)
    written = write(log)
    first = disk.killed()
    again = open_log(on=first, clean=False, **SETTINGS)
    again.close()
    second = open_log(on=first.unplugged(), **SETTINGS)
    assert_known(second, written)
    assert_known(open_log(on=first.killed(), clean=False, recovery_point=second.end_offset, **SETTINGS), written)


def test_each_is_known_after_a_truncation(disk: FaultyFiles, open_on: OpenOn) -> None:
    log = open_on(disk, **SETTINGS)
    written = write(log)
    log.truncate(log.end_offset - 1)
    del written[8, BATCHES - 1]
    for (producer, number), offset in written.items():
        if number >= BATCHES - 5:
            assert log.append(batch(b"v", producer=(producer, 0, number))).base_offset == offset


def rewritten(content: bytes, extension: bytes) -> bytes:
    """A snapshot with another extension, and the CRC that is due then."""
    end = ENTRIES_AT + ENTRY_SIZE * int.from_bytes(content[6:10], "big")
    body = content[6:end] + extension
    return content[:2] + crc32c(body).to_bytes(4, "big") + body


def extension_of(content: bytes) -> bytes:
    return content[ENTRIES_AT + ENTRY_SIZE * int.from_bytes(content[6:10], "big") :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda extension: b"",
        lambda extension: b"x",
        lambda extension: b"else" + extension[4:],
        lambda extension: extension[:4] + b"\0\2" + extension[6:],
        lambda extension: extension[:-1],
        lambda extension: extension[:6] + b"\x7f\xff\xff\xff" + extension[10:],
        lambda extension: extension[:6] + b"\xff\xff\xff\xff" + extension[10:],
        lambda extension: extension[:18] + b"\x7f" + extension[19:],
    ],
    ids=["none", "short", "tag", "version", "cut", "count", "negative", "sequence"],
)
def test_an_extension_that_cannot_be_believed_leaves_what_kafkas_part_says(
    open_log: OpenLog, files: MemoryFiles, damage: Callable[[bytes], bytes]
) -> None:
    log = open_log()
    for number in range(5):
        log.append(batch(b"v", producer=(7, 0, number)))
    log.close()
    path = DIRECTORY / f"{5:020d}.snapshot"
    content = read_file(files, path)
    changed = rewritten(content, damage(extension_of(content)))
    files.remove(path)
    files.open(path, create=True).write(0, [changed])
    (producer,) = decode_snapshot(changed)
    assert [cached.first_sequence for cached in producer.batches] == [4]
    assert open_log().append(batch(b"v", producer=(7, 0, 4))).duplicate
