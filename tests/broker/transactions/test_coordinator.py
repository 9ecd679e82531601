"""The coordinator's tables: every state against every request."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from kafkawire.broker.transactions.coordinator import TransactionCoordinator
from kafkawire.broker.transactions.ending import Ending
from kafkawire.broker.transactions.initiation import Initiation
from kafkawire.broker.transactions.settings import TransactionSettings
from kafkawire.broker.transactions.states import FOLLOWS, PREPARED, SETTLED, State, completed
from kafkawire.broker.transactions.transaction import Entry, Transaction, TransitionError
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker.transactions.transaction import Outcome

NOW = 1_000_000
ID, EPOCH = 7, 5
NEXT_ID = 100
ORDERS, BILLS = ("orders", 0), ("bills", 1)
NONE, CONCURRENT, FENCED = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.PRODUCER_FENCED
MAPPING, STATE = ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_TXN_STATE
STORED = [each for each in State if each in {State.EMPTY, State.ONGOING, *PREPARED, *SETTLED}]


class ManualCoordinator:
    """A coordinator with one transactional id, `t`."""

    def __init__(self, state: State = State.EMPTY, *, level: int = 2, is_pending: bool = False, **fields: int) -> None:
        ids = count(NEXT_ID)
        self.level = level
        self.coordinator = TransactionCoordinator(TransactionSettings(), lambda: next(ids), lambda: self.level)
        partitions = frozenset() if state in SETTLED else frozenset({ORDERS})
        known = Transaction("t", ID, EPOCH, 1000, state, partitions, NOW, NOW)
        self.entry = self.load(known._replace(**fields))  # type: ignore[arg-type]  # by name
        if not is_pending:
            self.entry.pending = None

    def load(self, transaction: Transaction) -> Entry:
        self.coordinator.load([transaction])
        entry = self.coordinator.find(transaction.transactional_id)
        assert entry is not None
        return entry

    def initiate(self, producer_id: int = -1, epoch: int = -1, *, name: str = "t", timeout: int = 1000) -> Outcome:
        return self.written(self.coordinator.initiate(Initiation(name, timeout, producer_id, epoch), NOW + 1))

    def end(self, epoch: int = EPOCH, producer_id: int = ID, *, commit: bool = True, level: int = 0) -> Outcome:
        return self.written(self.coordinator.end(Ending("t", producer_id, epoch, commit, level), NOW + 1))

    def add(self, *places: tuple[str, int], epoch: int = EPOCH, producer_id: int = ID, level: int = 0) -> Outcome:
        return self.written(self.coordinator.add("t", (producer_id, epoch), set(places), level, NOW + 1))

    def complete(self) -> None:
        self.coordinator.written(self.coordinator.complete(self.entry, NOW + 2))

    def written(self, outcome: Outcome) -> Outcome:
        if outcome.change is not None:
            self.coordinator.written(outcome.change)
        return outcome

    @property
    def current(self) -> Transaction:
        return self.entry.current


def answered(outcome: Outcome) -> tuple[ErrorCode, int, int]:
    return outcome.error, outcome.producer_id, outcome.epoch


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("before", State)
def test_a_state_follows_only_those_of_the_table(before: State, state: State) -> None:
    known = Transaction("t", ID, EPOCH, 1000, before)
    if before in FOLLOWS[state]:
        assert known.followed_by(state, NOW).state is state
    else:
        with pytest.raises(TransitionError, match=f"{state.title} cannot follow {before.title}"):
            known.followed_by(state, NOW)


class TestInitiation:
    def test_a_new_id_starts_at_epoch_0(self) -> None:
        scene = ManualCoordinator()
        assert answered(scene.initiate(name="new")) == (NONE, NEXT_ID, 0)
        assert answered(scene.initiate(name="new")) == (NONE, NEXT_ID, 1)

    @pytest.mark.parametrize("timeout", [0, -1, 900_001])
    def test_a_timeout_outside_of_the_range_is_refused(self, timeout: int) -> None:
        assert ManualCoordinator().initiate(timeout=timeout).error is ErrorCode.INVALID_TRANSACTION_TIMEOUT

    @pytest.mark.parametrize("state", STORED)
    def test_a_producer_that_names_nothing_takes_the_id_over(self, state: State) -> None:
        scene = ManualCoordinator(state)
        outcome = scene.initiate()
        if state in SETTLED:
            assert answered(outcome) == (NONE, ID, EPOCH + 1)
            assert (scene.current.state, scene.current.partitions, scene.current.started_at) == (
                State.EMPTY,
                frozenset(),
                -1,
            )
        else:
            assert outcome.error is CONCURRENT

    @pytest.mark.parametrize("state", [each for each in State if each in SETTLED])
    @pytest.mark.parametrize(
        ("stored", "last", "sent", "expected"),
        [
            (5, -1, 5, (NONE, ID, 6)),
            (5, 4, 4, (NONE, ID, 5)),  # the retry of a request whose answer was lost
            (5, 4, 3, (FENCED, -1, -1)),
            (5, -1, 4, (FENCED, -1, -1)),  # after a restart the last epoch is not known
            (5, 4, 6, (FENCED, -1, -1)),
            (32765, -1, 32765, (NONE, ID, 32766)),
            (32766, -1, 32766, (NONE, NEXT_ID, 0)),
            (32767, -1, 32767, (NONE, NEXT_ID, 0)),
            (32766, 32765, 32765, (NONE, ID, 32766)),
        ],
    )
    def test_a_producer_that_names_its_epoch_continues_or_is_fenced(
        self, state: State, stored: int, last: int, sent: int, expected: tuple[ErrorCode, int, int]
    ) -> None:
        assert answered(ManualCoordinator(state, epoch=stored, last_epoch=last).initiate(ID, sent)) == expected

    @pytest.mark.parametrize("epoch", [32766, 32767])
    def test_an_exhausted_epoch_means_a_new_id_for_a_client_that_names_none(self, epoch: int) -> None:
        assert answered(ManualCoordinator(epoch=epoch).initiate()) == (NONE, NEXT_ID, 0)

    def test_the_retry_after_a_new_id_names_the_old_one(self) -> None:
        scene = ManualCoordinator(epoch=32766)
        assert answered(scene.initiate(ID, 32766)) == (NONE, NEXT_ID, 0)
        assert answered(scene.initiate(ID, 32766)) == (NONE, NEXT_ID, 0)
        assert scene.initiate(ID, 5).error is FENCED

    def test_another_producer_is_fenced(self) -> None:
        assert ManualCoordinator().initiate(ID + 1, EPOCH).error is FENCED

    @pytest.mark.parametrize(("level", "last"), [(0, -1), (1, -1), (2, EPOCH)])
    def test_an_open_transaction_is_aborted_first_with_a_higher_epoch(self, level: int, last: int) -> None:
        scene = ManualCoordinator(State.ONGOING, level=level)
        assert scene.initiate().error is CONCURRENT
        assert (scene.current.state, scene.current.epoch, scene.current.last_epoch) == (
            State.PREPARE_ABORT,
            EPOCH + 1,
            last,
        )
        assert scene.current.client_level == (level if level == 2 else 0)
        assert scene.initiate().error is CONCURRENT
        scene.complete()
        assert answered(scene.initiate()) == (NONE, ID, EPOCH + 2)

    @pytest.mark.parametrize(("level", "expected"), [(0, FENCED), (2, NONE)])
    def test_the_old_producer_after_a_timeout_is_fenced_unless_its_epoch_is_the_last(
        self, level: int, expected: ErrorCode
    ) -> None:
        scene = ManualCoordinator(State.ONGOING, level=level)
        change = scene.coordinator.time_out(scene.entry, NOW + 1001)
        assert change is not None
        scene.coordinator.written(change)
        scene.complete()
        outcome = scene.initiate(ID, EPOCH)
        assert outcome.error is expected
        assert outcome.epoch == (EPOCH + 1 if expected is NONE else -1)


class TestAdding:
    @pytest.mark.parametrize("state", STORED)
    def test_partitions_join_an_open_transaction_or_open_one(self, state: State) -> None:
        scene = ManualCoordinator(state)
        outcome = scene.add(BILLS, level=2)
        if state in PREPARED:
            assert outcome.error is CONCURRENT
            return
        assert outcome.error is NONE
        was_open = state is State.ONGOING
        assert scene.current.partitions == ({ORDERS, BILLS} if was_open else {BILLS})
        assert scene.current.started_at == (NOW if was_open else NOW + 1)
        assert (scene.current.state, scene.current.client_level) == (State.ONGOING, 2)

    def test_known_partitions_write_nothing(self) -> None:
        outcome = ManualCoordinator(State.ONGOING).add(ORDERS)
        assert (outcome.error, outcome.change) == (NONE, None)

    @pytest.mark.parametrize(
        ("producer_id", "epoch", "is_pending", "expected"),
        [
            (ID + 1, EPOCH, False, MAPPING),
            (ID, EPOCH - 1, False, FENCED),
            (ID, EPOCH + 1, False, FENCED),
            (ID + 1, EPOCH, True, CONCURRENT),  # a producer may use its next id before the last one is replaced
            (ID, EPOCH - 1, True, CONCURRENT),
        ],
    )
    def test_another_producer_is_refused(
        self, producer_id: int, epoch: int, is_pending: bool, expected: ErrorCode
    ) -> None:
        scene = ManualCoordinator(State.ONGOING)
        scene.entry.pending = State.ONGOING if is_pending else None
        assert scene.add(BILLS, producer_id=producer_id, epoch=epoch).error is expected

    def test_an_unknown_or_empty_id_is_refused(self) -> None:
        coordinator = ManualCoordinator().coordinator
        assert coordinator.add("u", (ID, EPOCH), {ORDERS}, 0, NOW).error is MAPPING
        assert coordinator.add("", (ID, EPOCH), {ORDERS}, 0, NOW).error is ErrorCode.INVALID_REQUEST


class TestVerification:
    def test_every_partition_has_its_own_error(self) -> None:
        scene = ManualCoordinator(State.ONGOING, is_pending=True)
        found = scene.coordinator.verify("t", (ID, EPOCH), [ORDERS, BILLS])
        assert found == {ORDERS: NONE, BILLS: ErrorCode.TRANSACTION_ABORTABLE}

    @pytest.mark.parametrize(
        ("name", "producer", "state", "expected"),
        [
            ("u", (ID, EPOCH), State.ONGOING, MAPPING),
            ("t", (ID + 1, EPOCH), State.ONGOING, MAPPING),
            ("t", (ID, EPOCH + 1), State.ONGOING, FENCED),
            ("t", (ID, EPOCH), State.PREPARE_COMMIT, CONCURRENT),
            ("t", (ID, EPOCH), State.PREPARE_ABORT, CONCURRENT),
            ("t", (ID, EPOCH), State.EMPTY, ErrorCode.TRANSACTION_ABORTABLE),
            ("", (ID, EPOCH), State.ONGOING, ErrorCode.INVALID_REQUEST),
        ],
    )
    def test_refusals_concern_all_partitions(
        self, name: str, producer: tuple[int, int], state: State, expected: ErrorCode
    ) -> None:
        assert ManualCoordinator(state).coordinator.verify(name, producer, [ORDERS]) == {ORDERS: expected}


class TestEndWithoutEpochs:
    @pytest.mark.parametrize(
        ("state", "commit", "abort"),
        [
            (State.EMPTY, STATE, STATE),
            (State.ONGOING, NONE, NONE),
            (State.PREPARE_COMMIT, CONCURRENT, STATE),
            (State.PREPARE_ABORT, STATE, CONCURRENT),
            (State.COMPLETE_COMMIT, NONE, STATE),
            (State.COMPLETE_ABORT, STATE, NONE),
        ],
    )
    def test_a_decision_is_answered_again_and_never_changed(
        self, state: State, commit: ErrorCode, abort: ErrorCode
    ) -> None:
        assert answered(ManualCoordinator(state).end(commit=True)) == (commit, -1, -1)
        assert answered(ManualCoordinator(state).end(commit=False)) == (abort, -1, -1)

    def test_the_epoch_stays(self) -> None:
        scene = ManualCoordinator(State.ONGOING)
        scene.end()
        assert (scene.current.state, scene.current.epoch, scene.entry.pending) == (
            State.PREPARE_COMMIT,
            EPOCH,
            State.COMPLETE_COMMIT,
        )
        scene.complete()
        assert (scene.current.state, scene.current.epoch, scene.current.partitions) == (
            State.COMPLETE_COMMIT,
            EPOCH,
            frozenset(),
        )

    @pytest.mark.parametrize("is_pending", [False, True])
    def test_the_producer_is_checked_before_what_is_pending(self, is_pending: bool) -> None:
        scene = ManualCoordinator(State.ONGOING)
        scene.entry.pending = State.ONGOING if is_pending else None
        assert scene.end(producer_id=ID + 1).error is MAPPING
        assert scene.end(EPOCH + 1).error is FENCED
        assert scene.end().error is (CONCURRENT if is_pending else NONE)


AGAIN, FRESH = (NONE, ID, EPOCH), (NONE, ID, EPOCH + 1)


class TestEndWithEpochs:
    @pytest.mark.parametrize(
        ("state", "commit", "is_retry", "expected"),
        [
            (state, commit, is_retry, expected)
            for state, *columns in [
                (State.EMPTY, FENCED, FRESH, FENCED, STATE),
                (State.ONGOING, FENCED, FRESH, FENCED, FRESH),
                (State.PREPARE_ABORT, CONCURRENT, FENCED, STATE, FENCED),
                (State.PREPARE_COMMIT, STATE, FENCED, CONCURRENT, FENCED),
                (State.COMPLETE_ABORT, AGAIN, FRESH, STATE, STATE),
                (State.COMPLETE_COMMIT, STATE, FRESH, AGAIN, STATE),
            ]
            for (commit, is_retry), expected in zip(
                [(False, True), (False, False), (True, True), (True, False)], columns, strict=True
            )
        ],
    )
    def test_every_state_against_every_request(
        self, state: State, commit: bool, is_retry: bool, expected: ErrorCode | tuple[ErrorCode, int, int]
    ) -> None:
        outcome = ManualCoordinator(state).end(EPOCH - is_retry, commit=commit, level=2)
        assert answered(outcome) == (expected if isinstance(expected, tuple) else (expected, -1, -1))

    @pytest.mark.parametrize("state", STORED)
    @pytest.mark.parametrize("epoch", [EPOCH - 2, EPOCH + 1])
    def test_other_epochs_are_fenced(self, state: State, epoch: int) -> None:
        assert ManualCoordinator(state).end(epoch, level=2).error is FENCED

    def test_a_pending_transaction_is_checked_before_the_producer(self) -> None:
        scene = ManualCoordinator(State.PREPARE_COMMIT, is_pending=True)
        assert scene.end(EPOCH, ID + 1, level=2).error is CONCURRENT

    def test_the_record_of_the_end_and_its_markers_have_the_next_epoch(self) -> None:
        scene = ManualCoordinator(State.ONGOING)
        assert answered(scene.end(level=2)) == FRESH
        assert (scene.current.epoch, scene.current.last_epoch, scene.entry.unmarked) == (EPOCH + 1, EPOCH, {ORDERS})
        scene.complete()
        assert answered(scene.end(level=2)) == FRESH
        assert scene.end(commit=False, level=2).error is STATE

    @pytest.mark.parametrize("state", [State.ONGOING, State.EMPTY, State.COMPLETE_ABORT, State.COMPLETE_COMMIT])
    def test_the_last_epoch_is_followed_by_a_new_id(self, state: State) -> None:
        scene = ManualCoordinator(state, epoch=32766)
        assert answered(scene.end(32766, commit=False, level=2)) == (NONE, NEXT_ID, 0)
        assert (scene.current.producer_id, scene.current.epoch, scene.current.next_producer_id) == (ID, 32767, NEXT_ID)
        assert scene.add(ORDERS, producer_id=NEXT_ID, epoch=0).error is CONCURRENT
        scene.complete()
        assert (scene.current.producer_id, scene.current.epoch, scene.current.previous_producer_id) == (NEXT_ID, 0, ID)
        assert answered(scene.end(32766, commit=False, level=2)) == (NONE, NEXT_ID, 0)
        assert scene.end(32766, commit=True, level=2).error is STATE
        scene.add(ORDERS, producer_id=NEXT_ID, epoch=0)
        assert scene.end(32766, commit=False, level=2).error is MAPPING

    def test_an_abort_without_a_transaction_has_no_partitions(self) -> None:
        scene = ManualCoordinator(State.COMPLETE_COMMIT)
        scene.end(commit=False, level=2)
        assert (scene.current.state, scene.entry.unmarked, scene.current.started_at) == (
            State.PREPARE_ABORT,
            set(),
            NOW + 1,
        )


class TestFencing:
    @pytest.mark.parametrize("epoch", [32764, 32765, 32766])
    @pytest.mark.parametrize("level", [0, 2])
    def test_the_epoch_never_becomes_negative(self, epoch: int, level: int) -> None:
        scene = ManualCoordinator(State.ONGOING, level=level, epoch=epoch)
        assert scene.initiate().error is CONCURRENT
        assert scene.current.epoch == epoch + 1
        scene.complete()
        has_new_id = epoch == 32766
        assert scene.current.producer_id == (NEXT_ID if has_new_id and level == 2 else ID)
        outcome = scene.initiate()
        assert outcome.error is NONE
        assert 0 <= outcome.epoch <= 32766

    def test_a_failed_fence_raises_the_epoch_once(self) -> None:
        scene = ManualCoordinator(State.ONGOING, level=0)
        for _ in range(40_000):
            outcome = scene.coordinator.initiate(Initiation("t", 1000), NOW)
            assert outcome.change is not None
            scene.coordinator.refused(outcome.change)
        assert (scene.current.epoch, scene.current.state, scene.entry.pending) == (EPOCH + 1, State.ONGOING, None)
        assert scene.initiate().error is CONCURRENT
        assert scene.current.epoch == EPOCH + 1

    def test_a_failed_fence_with_epochs_raises_nothing(self) -> None:
        scene = ManualCoordinator(State.ONGOING)
        for _ in range(3):
            outcome = scene.coordinator.initiate(Initiation("t", 1000), NOW)
            assert outcome.change is not None
            scene.coordinator.refused(outcome.change)
        assert scene.current.epoch == EPOCH
        scene.initiate()
        assert scene.current.epoch == EPOCH + 1


class TestTime:
    def test_a_transaction_times_out_after_its_timeout_and_not_before(self) -> None:
        scene = ManualCoordinator(State.ONGOING)
        assert scene.coordinator.time_out(scene.entry, NOW + 1000) is None
        assert scene.coordinator.time_out(scene.entry, NOW + 1001) is not None
        assert scene.coordinator.time_out(scene.entry, NOW + 1001) is None

    @pytest.mark.parametrize("state", STORED)
    def test_ids_without_a_transaction_expire(self, state: State) -> None:
        scene = ManualCoordinator(state)
        over = NOW + scene.coordinator.settings.expiration_ms
        assert scene.coordinator.expire(scene.entry, over - 1) is None
        change = scene.coordinator.expire(scene.entry, over)
        assert (change is not None) == (state in SETTLED)
        if change is not None:
            assert scene.initiate().error is CONCURRENT
            scene.coordinator.written(change)
            assert answered(scene.initiate()) == (NONE, NEXT_ID, 0)


@pytest.mark.parametrize("state", STORED)
def test_after_a_restart_prepared_transactions_are_pending_until_they_are_complete(state: State) -> None:
    scene = ManualCoordinator(state, is_pending=True)
    if state in PREPARED:
        assert scene.initiate().error is CONCURRENT
        scene.complete()
        assert scene.current.state is completed(state)
    assert scene.entry.pending is None


def test_a_refused_change_leaves_everything_as_it_was() -> None:
    scene = ManualCoordinator()
    before = scene.current
    outcome = scene.coordinator.add("t", (ID, EPOCH), {ORDERS}, 0, NOW)
    assert outcome.change is not None
    scene.coordinator.refused(outcome.change)
    assert (scene.current, scene.entry.pending) == (before, None)
    fresh = scene.coordinator.initiate(Initiation("new", 1000), NOW)
    assert fresh.change is not None
    scene.coordinator.refused(fresh.change)
    assert scene.coordinator.find("new") is None


def test_a_refused_completion_stays_pending() -> None:
    scene = ManualCoordinator(State.ONGOING)
    scene.end()
    scene.coordinator.refused(scene.coordinator.complete(scene.entry, NOW))
    assert scene.entry.pending is State.COMPLETE_COMMIT
    scene.complete()
    assert scene.current.state is State.COMPLETE_COMMIT
