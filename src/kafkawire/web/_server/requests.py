"""The parts of a request of the page: its JSON body, its query, and the workspace it is about.

Rules:
- A field of the wrong kind is a Problem that names the field. Numbers of queries are decimal digits.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from starlette.requests import Request

    from kafkawire.web._server.workspace import Workspace

T = TypeVar("T")
_WORDS = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "an object"}


def workspace_of(request: Request) -> Workspace:
    return cast("Workspace", request.app.state.workspace)


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object of the body."""
    try:
        body = json.loads(await request.body() or b"{}")
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
    if not text.removeprefix("-").isdecimal() or len(text) > 19:
        raise Problem(f"{name}: expected a whole number, found {text[:40]!r}", status=400)
    return int(text)


def text_in(request: Request, name: str, default: str = "") -> str:
    """A text of the query."""
    return request.query_params.get(name, default)
