"""The files of the page, kept in memory: read and packed once, when they are first asked for.

Rules:
- The style is one sheet: that of all documents, and the sheets of STYLES.
- The page names the modules that its start needs, and those that they import. The browser asks for all of them at once.
- Only files that are below the directory at the first request are served.
"""

from __future__ import annotations

import gzip
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from kafkawire._look.document import icon_svg, style_css

if TYPE_CHECKING:
    from starlette.requests import Request

_STATIC: Final = Path(__file__).parents[1] / "static"
_KINDS: Final = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}
STYLES: Final = ("app/page.css", "components/lists.css", "components/bytes.css", "components/charts.css")
_FIRST: Final = ("app/main.js", "views/start.js")
_IMPORT: Final = re.compile(r'^(?:import|export) [^"]*? from "([^"]+)";', re.MULTILINE)
_LEAST: Final = 400


class Prepared(NamedTuple):
    """A file as it is sent: its kind, its bytes, and its packed bytes, which are empty if packing gains nothing."""

    kind: str
    data: bytes
    packed: bytes


async def page(request: Request) -> Response:
    """The page."""
    return _answer(request, _page())


async def style(request: Request) -> Response:
    """The style sheet of the page."""
    return _answer(request, _style())


async def icon(request: Request) -> Response:
    """The icon of the page."""
    return _answer(request, _icon())


async def file(request: Request) -> Response:
    """A module, an icon or a licence."""
    name = request.path_params["name"]
    if name not in _names():
        raise HTTPException(404)
    return _answer(request, _file(name))


def imported(name: str) -> list[str]:
    """The modules that a module imports when it is loaded, itself first, by their names below `static`."""
    found = [name]
    for each in found:
        text = (_STATIC / each).read_text("utf-8")
        targets = [_target(each, target) for target in _IMPORT.findall(text)]
        found += [target for target in dict.fromkeys(targets) if target not in found]
    return found


def _target(importer: str, target: str) -> str:
    place = _STATIC / target.removeprefix("/static/") if target[0] == "/" else (_STATIC / importer).parent / target
    return place.resolve().relative_to(_STATIC).as_posix()


@cache
def _names() -> frozenset[str]:
    return frozenset(each.relative_to(_STATIC).as_posix() for each in _STATIC.rglob("*") if each.is_file())


@cache
def _page() -> Prepared:
    names = dict.fromkeys(name for first in _FIRST for name in imported(first))
    links = "".join(f'<link rel="modulepreload" href="/static/{name}">\n' for name in names)
    text = (_STATIC / "index.html").read_text("utf-8")
    return _prepared(".html", text.replace("</head>", f"{links}</head>").encode())


@cache
def _style() -> Prepared:
    sheets = [style_css(), *((_STATIC / name).read_text("utf-8") for name in STYLES)]
    return _prepared(".css", "\n".join(sheets).encode())


@cache
def _icon() -> Prepared:
    return _prepared(".svg", icon_svg().encode())


@cache
def _file(name: str) -> Prepared:
    return _prepared(Path(name).suffix, (_STATIC / name).read_bytes())


def _prepared(suffix: str, data: bytes) -> Prepared:
    packed = gzip.compress(data, 9, mtime=0) if len(data) >= _LEAST else b""
    return Prepared(_KINDS.get(suffix, "text/plain"), data, packed)


def _answer(request: Request, prepared: Prepared) -> Response:
    takes = "gzip" in request.headers.get("accept-encoding", "")
    if takes and prepared.packed:
        headers = {"content-encoding": "gzip", "vary": "accept-encoding"}
        return Response(prepared.packed, media_type=prepared.kind, headers=headers)
    return Response(prepared.data, media_type=prepared.kind)


ROUTES: Final = [
    Route("/", page),
    Route("/style.css", style),
    Route("/icon.svg", icon),
    Route("/static/{name:path}", file),
]
