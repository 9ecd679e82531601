"""The keys that sign bearer tokens: a JWKS from a file or an https URL.

Rules:
- The keys are read at the start, which fails without them, and again every jwks.endpoint.refresh.ms.
- A token with an unknown key id causes a read in a thread, at most one per QUIET_SECONDS. The token itself fails; the
  client's next one may succeed, because keys rotate.
- A read that fails is logged, and the keys stay as they are.
- A URL is https, file, or http for an address of this machine.
"""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from kafkawire.broker._ops.event_log import log_event
from kafkawire.messages.errors import InvalidConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

QUIET_SECONDS: Final = 60.0
TIMEOUT_SECONDS: Final = 10.0
LARGEST: Final = 1024 * 1024
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")


class KeySet:
    """The keys of a JWKS by their id."""

    def __init__(self, url: str, refresh_ms: int, setting: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("https", "file") and not (parts.scheme == "http" and parts.hostname in _LOCAL):
            raise InvalidConfigError(f"{setting}: expected a URL with https or file, found {url!r}")
        self._url = url
        self._refresh = refresh_ms / 1000
        self._lock = threading.Lock()
        try:
            self._keys = _read(url)
        except (OSError, ValueError) as error:
            raise InvalidConfigError(f"{setting}: {url} cannot be read: {_why(error)}") from error
        self._read_at = self._asked_at = monotonic()

    def find(self, key_id: str) -> Mapping[str, Any] | None:
        """The key with an id; without an id the only key there is."""
        now = monotonic()
        found = self._keys.get(key_id) if key_id else next(iter(self._keys.values())) if len(self._keys) == 1 else None
        is_old = self._refresh > 0 and now - self._read_at >= self._refresh
        if (found is None and now - self._asked_at >= QUIET_SECONDS) or is_old:
            self._asked_at = self._read_at = now
            threading.Thread(target=self.read, name="kafkawire JWKS", daemon=True).start()
        return found

    def read(self) -> None:
        """Read the keys again; they stay as they are if that fails."""
        with self._lock:
            try:
                self._keys = _read(self._url)
            except (OSError, ValueError) as error:
                log_event("JWKS kept", level=logging.WARNING, url=self._url, reason=_why(error))


def _read(url: str) -> dict[str, Mapping[str, Any]]:
    parts = urlsplit(url)
    if parts.scheme == "file":
        with Path(unquote(parts.path)).open("rb") as file:
            content = file.read(LARGEST + 1)
    else:
        from urllib.request import urlopen  # few brokers need it, and it imports half of the standard library

        with urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
            content = answer.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"more than {LARGEST} bytes")
    found = json.loads(content)
    keys = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(keys, list) or not all(isinstance(key, dict) for key in keys) or not keys:
        raise ValueError("expected an object with a list of keys")
    return {str(key.get("kid", number)): key for number, key in enumerate(keys)}


def _why(error: Exception) -> str:
    from urllib.error import URLError

    reason = error.reason if isinstance(error, URLError) else error
    return str(getattr(reason, "strerror", None) or reason)
