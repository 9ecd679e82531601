"""The application: routes, static files, uploads, and how errors are answered.

Rules:
- Each package of a view has its routes. It is imported at its first request, so that the server listens at once.
- Static files come from the package (`static.py`). The page itself has no data in it.
"""

from __future__ import annotations

import logging
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route

from kafkawire import __version__
from kafkawire.exceptions import KafkaWireError
from kafkawire.web._server.answers import answer
from kafkawire.web._server.problems import Problem
from kafkawire.web._server.requests import workspace_of
from kafkawire.web._server.static import ROUTES as STATIC
from kafkawire.web._server.uploads import ROUTES as UPLOADS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from kafkawire.web._server.workspace import Workspace

_log = logging.getLogger("kafkawire.web")


class Room(BaseRoute):
    """The routes below a path, from the `ROUTES` of modules of this package."""

    def __init__(self, prefixes: tuple[str, ...], *modules: str) -> None:
        self._prefixes, self._modules = prefixes, modules

    @cached_property
    def _routes(self) -> list[BaseRoute]:
        return [route for name in self._modules for route in import_module(f"kafkawire.web.{name}").ROUTES]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether one of the routes fits; it is kept in the scope."""
        partial: tuple[Match, dict[str, Any]] = (Match.NONE, {})
        if scope["type"] == "http" and scope["path"].startswith(self._prefixes):
            for route in self._routes:
                match, child = route.matches(scope)
                if match is Match.FULL:
                    return match, {**child, "room": route}
                if match is Match.PARTIAL and partial[0] is Match.NONE:
                    partial = (match, {**child, "room": route})
        return partial

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the route that fits answer."""
        await scope["room"].handle(scope, receive, send)


async def about(request: Request) -> Response:
    """This server in short: its version, its sources, and what it may do."""
    workspace = workspace_of(request)
    return answer(
        {
            "version": __version__,
            "start": workspace.start,
            "write": workspace.options.write,
            "export": workspace.options.export,
            "given": workspace.given is not None,
            "sources": [{"id": name, **source.about()} for name, source in workspace.sources.items()],
        }
    )


def problem(_: Request, error: Exception) -> Response:
    """An error as JSON."""
    if isinstance(error, Problem):
        shown: dict[str, Any] = {"error": str(error)}
        if error.column is not None:
            shown["column"] = error.column
        return answer(shown, error.status)
    return answer({"error": str(error)}, 422)


def not_found(_: Request, error: Exception) -> Response:
    """An unknown path."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    return answer({"error": "there is nothing at this address"}, status)


def defect(_: Request, error: Exception) -> Response:
    """An error that is not the user's. The log has its trace."""
    _log.error("the page failed: %s", error, exc_info=error)
    return answer(
        {"error": f"this is a defect of kafkawire: {type(error).__name__}; the terminal has the details"}, 500
    )


def application(workspace: Workspace) -> Starlette:
    """The application of a workspace, without its guard."""
    app = Starlette(
        routes=[
            *STATIC,
            Route("/api/about", about),
            *UPLOADS,
            Room(("/api/bytes",), "_bytes.routes"),
            Room(("/api/protocol",), "_protocol.routes"),
            Room(("/api/captures", "/api/exchanges"), "_captures.routes"),
            Room(("/api/logs",), "_logs.routes"),
            Room(("/api/runs",), "_runs.routes"),
            Room(("/api/faults",), "_live.routes"),
            Room(("/api/brokers",), "_broker.listing", "_broker.message_routes", "_broker.writes"),
        ],
        exception_handlers={
            KafkaWireError: problem,
            OSError: problem,
            HTTPException: not_found,
            Exception: defect,
        },
    )
    app.state.workspace = workspace
    return app
