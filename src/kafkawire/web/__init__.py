"""The page: bytes, captures, log directories and brokers in the browser, served from this machine.

`PageServer` serves a `Workspace`, which holds the inputs of the start and those that were dropped on the page. The
commands use both; nothing here is a public interface yet.

Names are loaded on first use. Arrow is not imported before a view needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire._lazy import load_when_asked

if TYPE_CHECKING:
    from kafkawire.web._broker.source import BrokerSource
    from kafkawire.web._bytes.document import Document, Origin
    from kafkawire.web._bytes.opening import document_of_file
    from kafkawire.web._captures.source import CaptureSource
    from kafkawire.web._export.html_file import html_of_findings, html_of_frames
    from kafkawire.web._live.source import LiveSource
    from kafkawire.web._live.watch import BrokerWatch, ProxyWatch
    from kafkawire.web._logs.source import LogSource
    from kafkawire.web._runs.source import RunSource
    from kafkawire.web._server.running import PageServer
    from kafkawire.web._server.workspace import PageOptions, Workspace

__all__: list[str] = []

_HOMES: dict[str, str] = {}

# For other packages of kafkawire; not part of the public interface.
_SHARED = {
    "BrokerWatch": "_live.watch",
    "LiveSource": "_live.source",
    "ProxyWatch": "_live.watch",
    "BrokerSource": "_broker.source",
    "CaptureSource": "_captures.source",
    "Document": "_bytes.document",
    "Origin": "_bytes.document",
    "LogSource": "_logs.source",
    "RunSource": "_runs.source",
    "PageOptions": "_server.workspace",
    "PageServer": "_server.running",
    "document_of_file": "_bytes.opening",
    "html_of_findings": "_export.html_file",
    "html_of_frames": "_export.html_file",
    "Workspace": "_server.workspace",
}

if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__ = load_when_asked(__name__, _HOMES | _SHARED)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
