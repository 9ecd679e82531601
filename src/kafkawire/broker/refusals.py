"""A response as a whole: the error codes in it, wherever its schema puts them, and how it is freed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire.codec.plan import LIST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.codec.plan import Shape
    from kafkawire.messages import Message

ERROR_CODE = "error_code"
FREED_AT_ONCE = 500


Path = tuple[str, ...]


def error_paths(shape: Shape) -> tuple[Path, ...]:
    """The ways through lists that lead to error codes."""
    return tuple(_find(shape))


def errors_at(paths: tuple[Path, ...], message: Message) -> list[int]:
    """Every code in a response that is not 0.

    >>> from kafkawire.messages import HeartbeatResponse
    >>> errors_at(error_paths(HeartbeatResponse.__shape__), HeartbeatResponse(error_code=25))
    [25]
    """
    found: list[int] = []
    for path in paths:
        holders: list[Any] = [message]
        for name in path:
            if len(holders) == 1:
                holders = getattr(holders[0], name) or []
            else:
                holders = [element for holder in holders for element in getattr(holder, name) or ()]
        found += [holder.error_code for holder in holders if holder.error_code]
    return found


def free(struct: Any) -> None:
    """Empty the lists of a response piece by piece, so that other threads run between; nobody may use it any more."""
    for slot in struct.__shape__.slots:
        if slot.shape is not None and slot.default_kind == LIST:
            elements = getattr(struct, slot.attribute)
            while elements:
                piece = elements[-FREED_AT_ONCE:]
                del elements[-FREED_AT_ONCE:]
                for each in piece:
                    free(each)


def _find(shape: Shape) -> Iterator[Path]:
    for slot in shape.slots:
        if slot.attribute == ERROR_CODE:
            yield ()
        elif slot.shape is not None and slot.default_kind == LIST:
            yield from ((slot.attribute, *rest) for rest in _find(slot.shape))
