"""The error codes in a response, wherever its schema puts them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kafkawire.codec.plan import LIST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.codec.plan import Shape
    from kafkawire.messages import Message

ERROR_CODE = "error_code"


def error_codes(message: Message) -> Iterator[int]:
    """Every code in a response that is not 0.

    >>> from kafkawire.messages import HeartbeatResponse
    >>> list(error_codes(HeartbeatResponse(error_code=25)))
    [25]
    """
    for path in _paths(message.__shape__):
        holders: list[Any] = [message]
        for name in path:
            holders = [element for holder in holders for element in getattr(holder, name) or ()]
        for holder in holders:
            if holder.error_code:
                yield holder.error_code


@cache
def _paths(shape: Shape) -> tuple[tuple[str, ...], ...]:
    """The ways through lists that lead to error codes."""
    return tuple(_find(shape))


def _find(shape: Shape) -> Iterator[tuple[str, ...]]:
    for slot in shape.slots:
        if slot.attribute == ERROR_CODE:
            yield ()
        elif slot.shape is not None and slot.default_kind == LIST:
            yield from ((slot.attribute, *rest) for rest in _find(slot.shape))
