"""Batches of several requests that are appended together, against the same batches appended one by one."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.log.batches import NOW, batch, values

from kafkawire.log import LogConfig, admit, admit_plain, append_run
from kafkawire.log import _admission as admission
from kafkawire.messages.errors import KafkaError
from kafkawire.records import crc32c
from kafkawire.testing.faulty_files import Fault

if TYPE_CHECKING:
    from tests.log.conftest import OpenOn

    from kafkawire.log import Partition
    from kafkawire.log._admission import AdmittedBatch
    from kafkawire.testing.faulty_files import FaultyFiles

pytestmark = pytest.mark.twin

CONFIGS: tuple[dict[str, Any], ...] = (
    {},
    {"segment_bytes": 700},
    {"segment_bytes": 900, "index_interval_bytes": 0, "segment_index_bytes": 60},
    {"segment_ms": 50},
    {"message_timestamp_type": "LogAppendTime"},
    {"compression_type": "gzip"},
    {"index_interval_bytes": 300},
)


def random_batches(dice: Random, count: int, sequences: dict[int, int]) -> list[bytes]:
    """Batches with and without producers; some repeat an earlier one, or leave a gap."""
    made: list[bytes] = []
    for _ in range(count):
        if made and dice.random() < 0.05:
            made.append(dice.choice(made))
            continue
        producer = dice.choice([-1, -1, 5, 6])
        numbers = None
        contents = [bytes(dice.randrange(60)) for _ in range(dice.randint(1, 3))]
        if producer >= 0:
            skipped = dice.choice([0] * 30 + [1, -1])
            numbers = producer, dice.choice([0] * 40 + [1]), max(0, sequences.get(producer, 0) + skipped)
            sequences[producer] = sequences.get(producer, 0) + len(contents)
        stamp = -1 if dice.random() < 0.03 else NOW + dice.choice([0, 0, 1, 30, 80])
        made.append(batch(*contents, timestamp=stamp, producer=numbers, codec=dice.choice(["none", "none", "gzip"])))
    return made


def one_by_one(log: Partition, batches: list[AdmittedBatch]) -> list[Any]:
    found: list[Any] = []
    for each in batches:
        try:
            found.append(log.append_admitted([each], NOW, leader_epoch=3, flush=False))
        except KafkaError as error:
            found.append(error)
    return found


def described(outcomes: list[Any]) -> list[Any]:
    return [(type(each), str(each)) if isinstance(each, KafkaError) else each for each in outcomes]


def state(log: Partition, disk: FaultyFiles) -> dict[str, Any]:
    producers = {number: (each.epoch, list(each.batches)) for number, each in log.producers.entries.items()}
    log.close()
    return {
        "end": log.end_offset,
        "producers": producers,
        **{str(path): bytes(file.data) for path, file in disk.names.items() if path.suffix != ".snapshot"},
    }


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: next(iter(config), "default"))
@pytest.mark.parametrize("seed", range(6))
def test_the_log_is_the_same(disk: FaultyFiles, open_on: OpenOn, seed: int, config: dict[str, Any]) -> None:
    dice, other = Random(seed), disk.killed()
    ours, theirs = open_on(disk, **config), open_on(other, **config)
    sequences: dict[int, int] = {}
    for _ in range(12):
        admitted = [
            admit(each, ours.config, NOW)[0] for each in random_batches(dice, dice.choice([1, 2, 7, 25]), sequences)
        ]
        found = append_run(ours, admitted, NOW, 3)
        assert described(found) == described(one_by_one(theirs, admitted))
    assert state(ours, disk) == state(theirs, other)


@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("config", CONFIGS[:3], ids=["default", "segments", "indexes"])
def test_a_lost_write_is_the_outcome_of_every_batch(
    disk: FaultyFiles, open_on: OpenOn, config: dict[str, Any], after: int
) -> None:
    log = open_on(disk, **config)
    log.append(batch(b"kept", producer=(5, 0, 0)))
    run = [batch(b"v" * 200, producer=(5, 0, number)) for number in range(1, 6)]
    admitted = [admit(each, log.config, NOW)[0] for each in run]
    disk.arm(Fault("write", after, keep=40, sticky=True))
    failed = append_run(log, admitted, NOW, 0)
    disk.faults.clear()
    assert all(isinstance(each, KafkaError) for each in failed) or after
    stored = log.end_offset
    again = append_run(log, admitted, NOW, 0)
    assert [(each.base_offset, each.duplicate) for each in again if not isinstance(each, KafkaError)] == [
        (number, number < stored) for number in range(1, 6)
    ]
    assert len(values(log)) == 6
    assert len(values(open_on(disk.killed(), **config))) == 6


def reference(data: bytes, config: LogConfig) -> Any:
    """The result of admission without the short way; None for a refusal or anything but one batch stored as it is."""
    short, admission.admit_plain = admission.admit_plain, lambda *_: None
    try:
        found = admission.admit(data, config, NOW)
    except KafkaError:
        return None
    finally:
        admission.admit_plain = short
    return found[0] if len(found) == 1 and bytes(found[0].rest[0]) == data[16:] else None


@pytest.mark.parametrize("config", [{}, {"cleanup_policy": "compact"}, {"max_message_bytes": 150}], ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_the_short_way_admits_only_what_the_checks_admit(seed: int, config: dict[str, Any]) -> None:
    dice, settings = Random(seed), LogConfig(**config)
    admitted = refused = 0
    for _ in range(400):
        key = dice.choice([None, b"k"])
        numbers = dice.choice([None, (5, 0, 7), (5, 0, 2**31 - 1), (0, -1, 3)])
        late = dice.choice([0, 10, 10**7])
        contents = [bytes(20)] * dice.randint(1, 4)
        data = bytearray(
            batch(*contents, key=key, timestamp=NOW + late, producer=numbers, transactional=dice.random() < 0.1)
        )
        for _ in range(dice.choice([0, 1, 1, 2])):
            data[dice.randrange(len(data))] = dice.choice([0, 1, 2, 61, 127, 128, 255, dice.randrange(256)])
        if dice.random() < 0.8:
            data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
        data += bytes(dice.choice([0, 0, 0, 1, 70]))
        found, expected = admit_plain(bytes(data), settings, NOW), reference(bytes(data), settings)
        if found is None:
            refused += 1
            continue
        admitted += 1
        assert expected is not None
        assert found == expected
    assert admitted > 20
    assert refused > 20


def test_the_short_way_takes_a_usual_batch() -> None:
    for numbers in (None, (5, 0, 7), (5, 3, 2**31 - 1)):
        data = batch(b"a", b"b", producer=numbers)
        found = admit_plain(data, LogConfig(), NOW)
        assert found == reference(data, LogConfig())
        assert found is not None
