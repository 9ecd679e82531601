"""The check of a history of transactions finds every impossible result, and no possible one."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING

import pytest
from torture.exactly_once import history as history_module
from torture.exactly_once import notes as notes_module
from torture.exactly_once.history import History, Output, Reading
from torture.exactly_once.notes import ABORTING, BEGIN, COMMITTED, COMMITTING, FENCED, Journal, fates
from torture.scenario import BrokenPromiseError

if TYPE_CHECKING:
    from pathlib import Path

LEFT, RIGHT = ("left", 0), ("right", 0)


def reading(left: list[Output], right: list[Output], name: str = "final") -> Reading:
    """A reader that saw these outputs; each second offset is a control record."""
    found = Reading(name)
    for place, outputs in ((LEFT, left), (RIGHT, right)):
        for number, output in enumerate(outputs):
            found.add(place, 2 * number, output.encode())
    return found


def output(transaction: str, offset: int, size: int = 2) -> Output:
    return Output(transaction, size, 0, offset)


def history(
    left: list[Output],
    right: list[Output] | None = None,
    *,
    committed: int,
    fates: dict[str, str],
    live: Reading | None = None,
) -> History:
    final = reading(left, left if right is None else right)
    return History(("left", "right"), {0: committed}, fates, final, [live] if live else [])


FIRST, SECOND = output("a.1", 0), output("b.1", 1)
FATES = {"a.1": COMMITTED, "b.1": COMMITTED}


def test_a_right_history_is_accepted() -> None:
    history([FIRST, SECOND], committed=2, fates=FATES, live=reading([FIRST, SECOND], [FIRST, SECOND], "live")).check()


@pytest.mark.parametrize("fate", [BEGIN, COMMITTING])
def test_a_transaction_in_doubt_may_be_either(fate: str) -> None:
    history([FIRST], committed=1, fates={"a.1": COMMITTED, "b.1": fate}).check()
    history([FIRST, SECOND], committed=2, fates={"a.1": COMMITTED, "b.1": fate}).check()


def test_an_aborted_transaction_is_not_visible() -> None:
    history([FIRST], committed=1, fates={"a.1": COMMITTED, "b.1": ABORTING}).check()


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (history([FIRST, SECOND], [FIRST], committed=2, fates=FATES), "as a whole"),
        (history([FIRST], committed=1, fates=FATES), "confirmed transaction is visible"),
        (history([FIRST, SECOND], committed=2, fates={**FATES, "b.1": ABORTING}), "aborted transaction"),
        (history([FIRST, output("x.1", 1)], committed=2, fates=FATES | {"b.1": BEGIN}), "begun by a worker"),
        (history([FIRST, output("b.1", 0)], committed=1, fates=FATES), "one output per topic"),
        (history([FIRST], committed=2, fates={"a.1": COMMITTED}), "has its output"),
        (history([FIRST, SECOND], committed=1, fates=FATES), "no input at or above"),
        (history([SECOND, FIRST], committed=2, fates=FATES), "order of their inputs"),
        (
            history([FIRST], committed=1, fates={"a.1": COMMITTED}, live=reading([FIRST, SECOND], [FIRST], "live")),
            "only records that are still visible",
        ),
        (
            history([FIRST, SECOND], committed=2, fates=FATES, live=reading([FIRST], [FIRST, SECOND], "live")),
            "saw every record",
        ),
    ],
)
def test_an_impossible_result_is_found(broken: History, promise: str) -> None:
    with pytest.raises(BrokenPromiseError, match=promise):
        broken.check()


def test_a_journal_survives_its_worker(tmp_path: Path) -> None:
    path = tmp_path / "w.notes"
    with Journal(path, "w") as journal:
        first, second, third = journal.begin(), journal.begin(), journal.begin()
        journal.note(COMMITTING, first)
        journal.note(COMMITTED, first)
        journal.note(ABORTING, second, "reason\nof two lines")
        journal.note(FENCED, third, "epoch 3")
        assert fates(path.read_text().splitlines()) == {first: COMMITTED, second: ABORTING, third: BEGIN}


@pytest.mark.parametrize("module", [history_module, notes_module])
def test_examples(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]  # any module
