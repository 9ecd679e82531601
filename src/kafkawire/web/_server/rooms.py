"""Rooms: groups of routes whose modules are imported when one of them is first asked for."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.routing import BaseRoute, Match

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


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
