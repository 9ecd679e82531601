"""The routes of faults that the page sets on the embedded broker: fail, delay, close, lose the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.routing import Route

from kafkawire.web._live.source import LiveSource
from kafkawire.web._server.answers import answer
from kafkawire.web._server.problems import Problem
from kafkawire.web._server.requests import body_of, field_in, workspace_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from kafkawire.testing import FaultCalls

KINDS: Final = ("fail", "delay", "close", "lose")


def waiting(request: Request) -> Response:
    """The faults that no request met yet."""
    return answer({"waiting": _faults(request).unused_faults})


async def order(request: Request) -> Response:
    """Order a fault for the next requests of an API."""
    faults, body = _faults(request), await body_of(request)
    kind, api = field_in(body, "kind", str, ""), field_in(body, "api", str, "")
    times, nth = field_in(body, "times", int, 1), field_in(body, "nth", int, 1)
    where: dict[str, Any] = {
        name: body[name] for name in ("topic", "client_id", "group") if isinstance(body.get(name), str) and body[name]
    }
    if kind == "fail":
        faults.fail_next(api, field_in(body, "error", str, ""), times, nth=nth, **where)
    elif kind == "delay":
        seconds = body.get("seconds")
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds <= 3600:
            raise Problem("seconds: expected 0 to 3600")
        faults.delay_next(api, float(seconds), times, nth=nth, **where)
    elif kind == "close":
        faults.close_next(api, times, nth=nth, **where)
    elif kind == "lose":
        faults.lose_answer_next(api, times, nth=nth, **where)
    else:
        raise Problem(f"kind: expected one of {', '.join(KINDS)}, found {kind[:40]!r}", status=400)
    return answer({"waiting": faults.unused_faults})


async def clear(request: Request) -> Response:
    """Forget the faults that no request met."""
    _faults(request).clear_faults()
    return answer({"waiting": []})


def _faults(request: Request) -> FaultCalls:
    source: LiveSource = workspace_of(request).source(request.path_params["id"], LiveSource)
    if source.faults is None:
        raise Problem("faults can be set only on a broker of kafkawire: kafkawire serve --ui", status=404)
    return source.faults


ROUTES: Final = [
    Route("/api/faults/{id}", waiting),
    Route("/api/faults/{id}", order, methods=["POST"]),
    Route("/api/faults/{id}/clear", clear, methods=["POST"]),
]
