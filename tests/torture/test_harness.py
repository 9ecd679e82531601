"""The harness itself: a promise that is broken on purpose is found."""

from __future__ import annotations

import doctest
from random import Random
from typing import TYPE_CHECKING

import pytest
from torture.ledger import Ledger, value_of
from torture.power import Power
from torture.scenario import BrokenPromiseError, Budget, Figures, Stage

from kafkawire.testing.faulty_files import FaultyFile
from torture import ledger as ledger_module
from torture import scenario as scenario_module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

PLACE = ("t", 0)


@pytest.fixture
def figures() -> Figures:
    return Figures()


@pytest.fixture
def ledger(figures: Figures) -> Ledger:
    return Ledger(figures)


def holding(*values: bytes) -> Callable[[int], Iterable[tuple[int, bytes]]]:
    """A partition with these values."""
    return lambda start: [(offset, value) for offset, value in enumerate(values) if offset >= start]


def sent(ledger: Ledger, count: int, *, idempotent: bool = True, acknowledged: int | None = None) -> list[bytes]:
    """The values of a writer, the first of which were acknowledged at the offsets from 0 on."""
    writer = ledger.writer("w", idempotent=idempotent)
    values = [ledger.next_value(writer)[1] for _ in range(count)]
    for number in range(count if acknowledged is None else acknowledged):
        ledger.acknowledge(writer, number, PLACE, number)
    return values


def test_promises_that_hold_are_not_complained_of(ledger: Ledger) -> None:
    values = sent(ledger, 3, acknowledged=2)
    ledger.verify(PLACE, holding(*values[:2]))
    ledger.verify(PLACE, holding(*values))
    ledger.begin_again()
    ledger.verify(PLACE, holding(*values))
    assert ledger.position(PLACE) == 3


@pytest.mark.parametrize(
    ("found", "figure"),
    [
        ([0, 1], "records lost"),
        ([0, 2, 1], "records lost"),
        ([0, 1, 2, 1], "records duplicated (idempotent)"),
        ([0, 1, 2, 4, 3], "records reordered"),
    ],
)
def test_a_broken_promise_is_found_and_counted(ledger: Ledger, figures: Figures, found: list[int], figure: str) -> None:
    values = sent(ledger, 5, acknowledged=3)
    with pytest.raises(BrokenPromiseError):
        ledger.verify(PLACE, holding(*(values[number] for number in found)))
    assert figures.get(figure) == 1


def test_a_plain_writer_may_repeat_itself_but_not_lose_its_order(ledger: Ledger) -> None:
    values = sent(ledger, 3, idempotent=False, acknowledged=0)
    ledger.verify(PLACE, holding(values[0], values[1], values[0], values[2]))
    with pytest.raises(BrokenPromiseError, match="in its turn"):
        ledger.verify(("t", 1), holding(values[1], values[0]))


@pytest.mark.parametrize("value", [b"", b"nobody 0 ", b"w 9 9,9,9,9,9,9,9,9,9,", b"w 1 2,", value_of("w", 1)[:-1]])
def test_bytes_that_nobody_sent_are_found(ledger: Ledger, value: bytes) -> None:
    sent(ledger, 3, acknowledged=0)
    with pytest.raises(BrokenPromiseError, match="only what was sent"):
        ledger.verify(PLACE, holding(value))


def test_an_offset_is_given_to_one_record_only(ledger: Ledger) -> None:
    sent(ledger, 2)
    with pytest.raises(BrokenPromiseError, match="too"):
        ledger.acknowledge(ledger.writer("w", idempotent=True), 0, PLACE, 1)


def test_offsets_that_go_back_and_topics_that_come_back_are_found(ledger: Ledger, figures: Figures) -> None:
    ledger.commit("g", PLACE, 5)
    ledger.verify_commits(lambda group, place: 6)
    with pytest.raises(BrokenPromiseError, match="offset 5"):
        ledger.verify_commits(lambda group, place: 4)
    assert figures.get("offsets gone back") == 1
    ledger.topic_changed("made", exists=True)
    ledger.topic_changed("gone", exists=False)
    ledger.change_topic("doubtful")
    ledger.verify_topics(lambda: {"made"})
    ledger.verify_topics(lambda: {"made", "doubtful"})
    with pytest.raises(BrokenPromiseError, match="topic made exists"):
        ledger.verify_topics(lambda: set())
    with pytest.raises(BrokenPromiseError, match="topic gone is deleted"):
        ledger.verify_topics(lambda: {"made", "gone"})


def test_records_that_may_be_lost_are_forgotten(ledger: Ledger) -> None:
    values = sent(ledger, 3)
    ledger.verify(PLACE, holding(*values))
    copy = ledger.copy()
    ledger.forget_after(PLACE, 1)
    ledger.verify(PLACE, holding(values[0]))
    with pytest.raises(BrokenPromiseError):
        copy.verify(PLACE, holding(values[0]))


@pytest.mark.torture
def test_a_disk_that_does_not_sync_breaks_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FaultyFile, "sync", lambda self: None)
    with pytest.raises(BrokenPromiseError):
        Power().run(Budget(60, rounds=10), Stage(tmp_path, Random(1)))


@pytest.mark.parametrize("module", [ledger_module, scenario_module])
def test_examples(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]  # any module
