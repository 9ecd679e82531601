"""The workspace: what one page looks at, and the only owner of its state.

Rules:
- Sources are the inputs of the command line and the files that were dropped on the page. A file is read only if its
  path was given at the start, or if it was uploaded.
- Uploads are files of a temporary directory that ends with the workspace.
- Documents are kept for a while, the latest MOST_DOCUMENTS and at most MOST_BYTES of them.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from kafkawire.web._server.problems import missing

if TYPE_CHECKING:
    from kafkawire.web._bytes.document import Document

MOST_DOCUMENTS: Final = 64
MOST_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class PageOptions:
    """The rights of the page: change a broker, and offer downloads."""

    write: bool = False
    export: bool = True


@dataclass(slots=True)
class Upload:
    """A file that was dropped on the page."""

    path: Path
    name: str
    size: int = 0


@dataclass(slots=True)
class Workspace:
    """The sources, uploads and documents of one page."""

    options: PageOptions = field(default_factory=PageOptions)
    sources: dict[str, Any] = field(default_factory=dict)
    start: str = ""
    """The view that the page opens first, as the part of the address behind `#`."""
    given: Document | None = None
    """The document of the command line, which the view `#/bytes/given` shows."""
    _documents: OrderedDict[str, Document] = field(default_factory=OrderedDict)
    _uploads: dict[str, Upload] = field(default_factory=dict)
    _folder: Path | None = None
    _lock: Lock = field(default_factory=Lock)

    def add_source(self, source: Any) -> str:
        """Add a source; returns its name, such as `c1`."""
        with self._lock:
            name = f"{source.letter}{1 + sum(each.letter == source.letter for each in self.sources.values())}"
            self.sources[name] = source
            return name

    def source(self, name: str, kind: type[Any]) -> Any:
        """A source of a kind."""
        found = self.sources.get(name)
        if not isinstance(found, kind):
            raise missing(f"the source {name}")
        return found

    def keep(self, document: Document) -> str:
        """Keep a document; returns its name. The oldest ones make room."""
        name = secrets.token_hex(6)
        with self._lock:
            self._documents[name] = document
            size = sum(len(each) for kept in self._documents.values() for each in kept.buffers)
            while len(self._documents) > 1 and (len(self._documents) > MOST_DOCUMENTS or size > MOST_BYTES):
                _, dropped = self._documents.popitem(last=False)
                size -= sum(map(len, dropped.buffers))
        return name

    def document(self, name: str) -> Document:
        """A document that is kept."""
        with self._lock:
            found = self._documents.get(name)
            if found is None:
                raise missing("this document")
            self._documents.move_to_end(name)
            return found

    def new_upload(self, name: str) -> tuple[str, Upload]:
        """A file to write an upload to, and its name for later requests."""
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="kafkawire-page-"))
            key = secrets.token_hex(8)
            suffix = "".join(each for each in Path(name).suffixes[-2:] if each[1:].isalnum())
            upload = Upload(self._folder / f"{key}{suffix}", name)
            self._uploads[key] = upload
            return key, upload

    def upload(self, key: str) -> Upload:
        """An upload that is kept."""
        found = self._uploads.get(key)
        if found is None:
            raise missing("the uploaded file")
        return found

    def drop_upload(self, key: str) -> None:
        """Remove an upload and its file."""
        upload = self._uploads.pop(key, None)
        if upload is not None:
            upload.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the sources and remove the uploads."""
        for source in self.sources.values():
            if hasattr(source, "close"):
                source.close()
        self.sources.clear()
        self._documents.clear()
        self._uploads.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
