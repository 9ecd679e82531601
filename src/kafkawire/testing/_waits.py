"""The calls by which a test waits for what clients do.

Rules:
- They look after every request, and at least every LOOK_SECONDS, because some changes have no request.
- A wait that takes too long raises an error that says what was found. A wait for nothing is a mistake, and so is a name
  of a state that groups do not have.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import api as api_named
from kafkawire.testing._orders import check_choice, check_count, check_filter, check_seconds
from kafkawire.testing._requests import RequestFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from kafkawire.broker import Broker
    from kafkawire.records import Record
    from kafkawire.testing._fault_calls import Where
    from kafkawire.testing._faults import Faults
    from kafkawire.testing._requests import RecordedRequest

T = TypeVar("T")
WAIT_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 0.05
STATES: Final = (
    *("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"),
    *("Assigning", "Reconciling", "NotReady"),
)
"""The states of groups of every type."""


class WaitTimeoutError(KafkaWireError, TimeoutError):
    """The state that a test waits for was not reached in time."""


class WaitCalls(Protocol):
    """The calls that wait."""

    broker: Broker
    _faults: Faults

    @property
    def requests(self) -> Sequence[RecordedRequest]:
        """The requests of clients."""

    def call(self, work: Callable[[], T]) -> T:
        """Run a function on the broker's loop."""

    def records(self, topic: str, partition: int | None = None) -> list[Record]:
        """The records of a topic."""

    def wait_for_requests(
        self, api: str, count: int = 1, *, timeout: float = WAIT_SECONDS, **where: Unpack[Where]
    ) -> list[RecordedRequest]:
        """Wait until clients have sent so many requests of an API; returns them, oldest first."""
        name, selected = api_named(api).name, RequestFilter(**where)
        check_count("count", count)
        check_filter(name, selected, self._faults.broker_ids)

        def found() -> list[RecordedRequest]:
            name_of = self._faults.name_of
            return [each for each in self.requests if each.api == name and selected.fits(each, name_of)]

        return self._wait(found, lambda requests: len(requests) >= count, timeout, f"{count} requests of {name}")

    def wait_for_records(
        self, topic: str, count: int = 1, *, partition: int | None = None, timeout: float = WAIT_SECONDS
    ) -> list[Record]:
        """Wait until a topic, or a partition of it, has so many records; returns them. The topic may not exist yet."""
        check_count("count", count)

        def found() -> list[Record]:
            exists = self.call(lambda: topic in self.broker.node.topics)
            return self.records(topic, partition) if exists else []

        return self._wait(found, lambda records: len(records) >= count, timeout, f"{count} records in {topic!r}")

    def wait_for_group(
        self, group: str, *, members: int = 1, state: str = "Stable", timeout: float = WAIT_SECONDS
    ) -> None:
        """Wait until a group has so many members and a state, such as Stable or Empty. It may be of any type."""
        check_choice("state", state, STATES)

        def found() -> list[str]:
            there = self.broker.node.groups.find(group)
            return [] if there is None else [there.state.value, *there.members]

        def fits(seen: list[str]) -> bool:
            return len(seen) == members + 1 and seen[0].lower() == state.lower()

        self._wait(
            lambda: self.call(found),
            fits,
            timeout,
            f"group {group!r} in state {state} with {members} members",
        )

    def _wait(self, look: Callable[[], list[T]], fits: Callable[[list[T]], bool], timeout: float, what: str) -> list[T]:
        check_seconds(timeout)
        end = monotonic() + timeout
        while not fits(seen := look()):
            left = end - monotonic()
            if left <= 0:
                shown = ", ".join(map(str, seen[:3])) if seen else "nothing"
                raise WaitTimeoutError(f"expected {what} within {timeout} s, found {len(seen)}: {shown}")
            with self._faults.changed:
                self._faults.changed.wait(min(left, LOOK_SECONDS))
        return seen
