"""The calls by which a test looks at requests and orders faults.

Rules:
- The filters of all calls are the same: topic, partition, client id, group, and broker where there are several.
- `nth` counts the requests that the filters select, from the call on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from kafkawire.testing._faults import Faults
from kafkawire.testing._requests import RequestFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack
    from uuid import UUID

    from kafkawire.broker import Broker
    from kafkawire.messages import Message
    from kafkawire.messages.errors import KafkaError
    from kafkawire.testing._requests import RecordedRequest


class Where(TypedDict, total=False):
    """The filters of faults and waits."""

    topic: str
    partition: int
    client_id: str
    group: str
    broker: int


class FaultCalls:
    """The recorded requests and the faults of a broker."""

    def __init__(self, *, allow_unused_faults: bool = False) -> None:
        self._faults = Faults()
        self._allows_unused_faults = allow_unused_faults

    def attach(self, broker: Broker) -> None:
        """Let the faults apply to the requests of a broker."""

        def name_of(topic_id: UUID) -> str | None:
            topic = broker.node.topics.find_id(topic_id)
            return None if topic is None else topic.name

        self._faults.name_of = name_of
        broker.dispatcher.interceptor = self._faults.intercept
        broker.node.guard = self._faults.guard

    @property
    def requests(self) -> Sequence[RecordedRequest]:
        """The requests of clients, oldest first: the last 100 000, and at most 64 MiB of them."""
        return self._faults.requests

    @property
    def unused_faults(self) -> list[str]:
        """The faults that were ordered and that no request met yet, in words."""
        return self._faults.unused()

    def clear_faults(self) -> None:
        """Forget the faults that no request met."""
        self._faults.clear()

    def clear_requests(self) -> None:
        """Forget the recorded requests, so that later looks and waits count from here."""
        self._faults.clear_requests()

    def check_faults(self) -> None:
        """Raise an error for faults that no request met, and what a function of `reply_next` raised; forgets both.

        The broker calls it when it is left without an error, the fixtures at the end of a test.
        """
        if self._allows_unused_faults:
            self.clear_faults()
        self._faults.check()

    def fail_next(
        self,
        api: str,
        error: int | str | KafkaError | type[KafkaError],
        times: int = 1,
        *,
        nth: int = 1,
        topic: str | None = None,
        partition: int | None = None,
        client_id: str | None = None,
        group: str | None = None,
        broker: int | None = None,
    ) -> None:
        """Answer the next requests of an API with an error instead of serving them.

        The error is a name, a code, or an exception of `kafkawire.messages.errors`. With a topic, or a partition of it,
        only that part of the next requests that name it fails. A client id and a group select requests, too, and `nth`
        leaves the first of them alone: with nth=3, the third fails.
        """
        self._faults.fail(api, error, times, nth, RequestFilter(client_id, group, topic, partition, broker))

    def delay_next(self, api: str, seconds: float, times: int = 1, *, nth: int = 1, **where: Unpack[Where]) -> None:
        """Delay the next requests of an API; the filters are those of `fail_next`, over whole requests."""
        self._faults.delay(api, seconds, times, nth, RequestFilter(**where))

    def close_next(self, api: str, times: int = 1, *, nth: int = 1, **where: Unpack[Where]) -> None:
        """Close the connection of the next requests of an API instead of serving them."""
        self._faults.close(api, times, nth, RequestFilter(**where))

    def lose_answer_next(self, api: str, times: int = 1, *, nth: int = 1, **where: Unpack[Where]) -> None:
        """Serve the next requests of an API, and close their connections instead of answering.

        The client cannot know whether its request was served. An idempotent producer that sends its records again must
        not store them twice.
        """
        self._faults.close(api, times, nth, RequestFilter(**where), after_serving=True)

    def reply_next(
        self,
        api: str,
        answer: Message | Callable[[Any], Message | None],
        times: int = 1,
        *,
        nth: int = 1,
        **where: Unpack[Where],
    ) -> None:
        """Answer the next requests of an API with a message of the test instead of serving them.

        A function gets the request and returns the answer, or None to have the request served. It is called on the
        thread of the broker.
        """
        self._faults.reply(api, answer, times, nth, RequestFilter(**where))
