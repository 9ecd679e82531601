"""Bytes explained as the caller asks for it: as a request, a response, a message, record batches, or by a guess.

Rules:
- Without a kind, the bytes are requests or record batches if they look like it. `note` says what they were taken for.
- A response needs its API and its version, because it contains neither.
- The repair of damaged bytes reads them in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from kafkawire.inspect._explain.explain import (
    Explanation,
    explain_message,
    explain_records,
    explain_request,
    explain_response,
)
from kafkawire.inspect._explain.guess import (
    UnknownBytesError,
    explain_anything,
    explain_requests,
    explain_responses,
    explain_unrecognised,
)
from kafkawire.inspect._explain.repair import Repair, find_repair
from kafkawire.messages import message_names

if TYPE_CHECKING:
    from kafkawire._codec.engine import Buffer

Kind = Literal["", "request", "response", "message", "records"]


@dataclass(frozen=True, slots=True)
class Asked:
    """How to read bytes; an empty kind lets the bytes decide."""

    kind: Kind = ""
    api: str = ""
    version: int | None = None
    message: str = ""
    topic: str | None = None

    @property
    def which(self) -> int | str:
        """The API by key or by name."""
        return int(self.api) if self.api.isdecimal() else self.api


@dataclass(frozen=True, slots=True)
class Explained:
    """The trees, and for what the bytes were taken. They are `unknown` if nothing recognised them."""

    trees: list[Explanation]
    note: str = ""
    unknown: bool = False


def explain_as(data: Buffer, asked: Asked) -> Explained:
    """The trees of bytes; an unknown API, message or version raises its error.

    >>> explain_as(bytes.fromhex("0000000a 0012 0000 00000007 ffff"), Asked()).note
    'taken as a request'
    """
    if asked.kind == "response":
        return Explained(explain_responses(data, asked.which, asked.version or 0))
    if asked.kind == "message":
        exact = {each.lower(): each for each in message_names()}.get(asked.message.lower(), asked.message)
        return Explained([explain_message(data, exact, asked.version)])
    if asked.kind == "records":
        return Explained([explain_records(data, topic=asked.topic)])
    if asked.kind == "request":
        return Explained(explain_requests(data, asked.version))
    try:
        trees = explain_anything(data)
    except UnknownBytesError as error:
        return Explained(explain_unrecognised(data), str(error), unknown=True)
    what = "record batches" if trees[0].kind == "records" else "a request"
    return Explained(trees, f"taken as {len(trees)} requests" if len(trees) > 1 else f"taken as {what}")


def repair_as(explanation: Explanation, asked: Asked) -> Repair | None:
    """The length that would make a damaged request, response or message parse."""
    if explanation.whole or explanation.kind == "records" or next(explanation.space.faults(), None) is None:
        return None
    children = explanation.space.root.children()
    sized = bool(children) and children[0].name == "size"
    if explanation.kind == "request":
        return find_repair(explanation, partial(explain_request, sized=sized, version=asked.version))
    if explanation.kind == "response" and asked.kind == "response":
        version = asked.version or 0
        return find_repair(explanation, lambda data: explain_response(data, asked.which, version, sized=sized))
    if explanation.kind != "message" or explanation.version < 0:
        return None
    return find_repair(explanation, lambda data: explain_message(data, explanation.message, explanation.version))
