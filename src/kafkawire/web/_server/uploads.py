"""Uploads: files that are dropped on the page, streamed to a temporary file.

Rules:
- A file is at most LARGEST_UPLOAD bytes. One that breaks off or is too long is removed at once.
- Its first bytes give its kind, never its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from starlette.routing import Route

from kafkawire.web._server.answers import answer
from kafkawire.web._server.requests import workspace_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LARGEST_UPLOAD: Final = 2 << 30
PATH: Final = "/api/uploads"
_CAPTURES: Final = (b"\xa1\xb2", b"\xd4\xc3", b"\x4d\x3c", b"\x0a\x0d\x0d\x0a", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


async def upload(request: Request) -> Response:
    """Keep a file; answers with its name for later requests, and what it seems to be."""
    workspace = workspace_of(request)
    key, kept = workspace.new_upload(unquote(request.headers.get("x-file-name", ""))[:200] or "file")
    head = b""
    try:
        with kept.path.open("xb") as file:
            async for chunk in request.stream():
                head = head or bytes(chunk[:4])
                file.write(chunk)
                kept.size += len(chunk)
    except BaseException:  # a client that is gone, too
        workspace.drop_upload(key)
        raise
    kind = "capture" if head.startswith(_CAPTURES) else "bytes"
    return answer({"upload": key, "name": kept.name, "size": kept.size, "kind": kind})


ROUTES: Final = [Route(PATH, upload, methods=["POST"])]
