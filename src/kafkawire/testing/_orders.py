"""The faults that a test orders, and the checks of what it asks for.

Rules:
- A mistake of the test raises at the call. So does an order that no request can meet, such as a group of a Produce.
- An error is a name, a code, or an exception. The classes of other clients are known by their code: `errno` in
  kafka-python and aiokafka, `code()` in confluent-kafka.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import Message, api, apis
from kafkawire.messages.errors import ErrorCode, KafkaError, code_for, error
from kafkawire.testing._requests import RequestFilter, names_in_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

PARTITIONED: Final = frozenset(
    {"DeleteRecords", "DescribeProducers", "Fetch", "ListOffsets", "OffsetForLeaderEpoch", "Produce"}
)
METADATA: Final = "Metadata"


class ImpossibleOrderError(KafkaWireError):
    """A test ordered a fault that can never occur."""


class UnusedFaultError(KafkaWireError, AssertionError):
    """A test ordered a fault that no request met."""


@dataclass(slots=True, eq=False)
class Order:
    """A fault for some requests, or for one topic of them."""

    what: str
    where: RequestFilter = field(default_factory=RequestFilter)
    skip: int = 0
    """The number of requests that the fault leaves alone first."""
    left: int = 1
    """The number of requests that it still waits for."""
    error: int = 0
    seconds: float = 0.0
    closes: bool = False
    loses: bool = False
    answer: Message | Callable[[Any], Message | None] | None = None
    is_used: bool = False
    """Whether a request met it; of a fault for several requests, whether any did."""
    waits: bool = False
    """Whether it applies to the next request that names the topic, or to any, whichever comes first."""

    def concerns(self, topic: str, partition: int) -> bool:
        return self.where.topic in (None, topic) and self.where.partition in (None, partition)


def code_of(wanted: object) -> int:
    """The code of an error by number, name, exception or class of exceptions."""
    code = _find_code(wanted)
    if code == ErrorCode.NONE:
        raise ImpossibleOrderError(f"the error {wanted!r} means success; leave the fault out, or use reply_next")
    if code not in set(ErrorCode):
        raise ImpossibleOrderError(f"the error {wanted!r}: expected a code of Kafka, {_range()}, or -1")
    return code


def _find_code(wanted: object) -> int:
    if isinstance(wanted, type) and issubclass(wanted, KafkaError) and "CODE" in vars(wanted):
        wanted = cast("Callable[[], KafkaError]", wanted)()
    if isinstance(wanted, KafkaError):
        return int(code_for(wanted))
    if isinstance(wanted, (int, str)) and not isinstance(wanted, bool):
        return int(error(wanted))
    of_others = getattr(wanted, "errno", None)
    told = getattr(wanted, "code", None)
    if of_others is None and callable(told) and not isinstance(wanted, type):
        of_others = told()
    if not isinstance(of_others, int):
        raise ImpossibleOrderError(f"the error {wanted!r}: expected a name, a code, or an exception of Kafka")
    return of_others


def _range() -> str:
    return f"1 to {max(ErrorCode)}"


def check_seconds(given: object) -> None:
    """Refuse a delay that is none."""
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given < math.inf:
        raise ImpossibleOrderError(f"a delay of {given!r}: expected seconds, a finite number from 0 on")


def check_count(what: str, given: object) -> None:
    """Refuse a number of requests or records that is none."""
    if not is_whole(given, 1):
        raise ImpossibleOrderError(f"{what}={given!r}: expected a whole number from 1 on")


def is_whole(given: object, least: int) -> bool:
    """Whether this is a whole number, and not a boolean, from the least on."""
    return isinstance(given, int) and not isinstance(given, bool) and given >= least


def check_answer(name: str, answer: object) -> Message:
    """The answer of a test to an API; anything else is refused."""
    expected = f"{name}Response"
    if not isinstance(answer, Message) or type(answer).__name__ != expected:
        found = f"the class {answer.__name__}" if isinstance(answer, type) else f"type {type(answer).__name__}"
        raise ImpossibleOrderError(f"an answer to {name} of {found}: expected an instance of {expected}")
    return answer


def check_choice(what: str, given: object, choices: Collection[str]) -> None:
    """Refuse a name that is none of the choices, in any case of letters."""
    if isinstance(given, str) and given.lower() in {each.lower() for each in choices}:
        return
    near = get_close_matches(str(given), choices, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise ImpossibleOrderError(f"{what} {given!r}: expected one of {', '.join(sorted(choices))}{hint}")


def check_filter(name: str, where: RequestFilter, brokers: Collection[int]) -> None:
    """Refuse a filter that selects no request of an API."""
    for what, text in (("topic", where.topic), ("group", where.group), ("client_id", where.client_id)):
        if text is not None and not isinstance(text, str):
            raise ImpossibleOrderError(f"{what}={text!r}: expected text")
    partition, broker = where.partition, where.broker
    if partition is not None and not is_whole(partition, 0):
        raise ImpossibleOrderError(f"partition={partition!r}: expected a whole number from 0 on")
    if broker is not None and broker not in brokers:
        raise ImpossibleOrderError(f"broker={broker!r}: expected one of {', '.join(map(str, brokers))}")
    named = names_in_schema(name)
    for what, filtered in (("topic", where.topic), ("partition", where.partition), ("group", where.group)):
        if filtered is not None and what not in named:
            raise ImpossibleOrderError(f"{name} requests name no {what}: expected one of {', '.join(_apis_with(what))}")


def check_failure(name: str, where: RequestFilter) -> None:
    """Refuse an error for one topic of an API that answers no topic with an error of its own."""
    if where.partition is not None and (where.topic is None or name == METADATA):
        raise ImpossibleOrderError(
            f"{name} for partition {where.partition}: expected a topic, and an API of partitions"
        )
    able = PARTITIONED | {METADATA}
    if where.topic is not None and name not in able:
        raise ImpossibleOrderError(f"{name} cannot fail for one topic, only {', '.join(sorted(able))} can")


@cache
def _apis_with(what: str) -> Iterable[str]:
    from kafkawire.broker import served_apis

    return sorted(each.name for each in apis() if each.key in served_apis() and what in names_in_schema(each.name))


def check_served(name: str) -> None:
    """Refuse an API that the broker does not serve."""
    from kafkawire.broker import served_apis

    if api(name).key not in served_apis():
        raise ImpossibleOrderError(f"{name} is not served by this broker")
