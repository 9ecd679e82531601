"""The parts of a request of the page: its JSON body, its query, and the workspace it is about.

Rules:
- A field of the wrong kind is a Problem that names the field. Numbers of queries are decimal digits, within 64 bits.
- A text that is not Unicode, such as half of a surrogate pair, is refused. It could not be written to a broker.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kafkawire.web._server.problems import Problem, missing

if TYPE_CHECKING:
    from starlette.requests import Request

    from kafkawire.web._server.workspace import Workspace

T = TypeVar("T")
_WORDS = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "an object"}


def workspace_of(request: Request) -> Workspace:
    return cast("Workspace", request.app.state.workspace)


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object of the body."""
    data = await request.body() or b"{}"
    try:
        body = json.loads(data)
        if b"\\u" in data:
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Problem(f"the body is not JSON: {error}", status=400) from error
    if not isinstance(body, dict):
        raise Problem("the body must be a JSON object", status=400)
    return body


def field_in(body: dict[str, Any], name: str, kind: type[T], default: T) -> T:
    """A field of the body, or its default if it is absent or null."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Problem(f"{name}: expected {_WORDS.get(kind, kind.__name__)}, found {value!r:.60}", status=400)
    return value


def number_in(request: Request, name: str, default: int = 0) -> int:
    """A number of the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    found = whole_number(text.removeprefix("-"))
    if found is None:
        raise Problem(f"{name}: expected a whole number, found {text[:40]!r}", status=400)
    return -found if text[:1] == "-" else found


def whole_number(text: str, most: int = (1 << 63) - 1) -> int | None:
    """The number that decimal digits say; None for other texts, and for larger numbers.

    >>> whole_number("17"), whole_number("-1"), whole_number("9" * 5000)
    (17, None, None)
    """
    found = int(text) if text.isdecimal() and len(text) <= len(str(most)) else most + 1
    return found if found <= most else None


def exchange_named(text: str) -> tuple[int, int] | None:
    """The connection of an exchange and its number there, from a text such as `0/17`.

    >>> exchange_named("0/17"), exchange_named("17")
    ((0, 17), None)
    """
    connection, _, number = text.partition("/")
    found = whole_number(connection, (1 << 23) - 1), whole_number(number, (1 << 40) - 1)
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def partition_in(request: Request) -> int:
    """The partition of the path."""
    found = whole_number(request.path_params["partition"], (1 << 31) - 1)
    if found is None:
        raise missing("this partition")
    return found


def text_in(request: Request, name: str, default: str = "") -> str:
    """A text of the query."""
    return request.query_params.get(name, default)
