"""The frames of exchanges as packets of a pcapng file, for other tools.

Rules:
- The bytes, times and addresses are those of the source. The TCP headers are synthetic, so gaps and resent packets
  of a capture are not in the file.
- Frames are written in the order of time. A frame that the source lacks is left out.
"""

from __future__ import annotations

import struct
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable


class Sent(NamedTuple):
    """A frame: when it was sent in nanoseconds, by which side, and its bytes without their size."""

    time: int
    from_client: bool
    frame: bytes


class HasFrames(Protocol):
    """A source of exchanges."""

    def endpoints(self, conn_id: int) -> tuple[str, str]:
        """The addresses of the client and of the broker."""

    def sent(self, conn_id: int, seq: int) -> list[Sent]:
        """The frames of an exchange that the source has."""


def write_frames(file: IO[bytes], source: HasFrames, rows: Iterable[dict[str, Any]]) -> None:
    """Write the frames of exchanges."""
    from kafkawire.inspect import Recording

    places = [(sent.time, row["conn_id"], row["seq"], at) for row in rows for at, sent in _frames(source, row)]
    recording: Any = Recording(file)  # type: ignore[arg-type]  # a temporary file is one for bytes
    known: dict[int, Any] = {}
    for time, conn_id, seq, at in sorted(places):
        if conn_id not in known:
            known[conn_id] = recording.connection(*map(_endpoint, source.endpoints(conn_id)))
            known[conn_id].open(time)
        sent = source.sent(conn_id, seq)[at]
        known[conn_id].sent(struct.pack(">i", len(sent.frame)) + sent.frame, time, from_client=sent.from_client)


def _frames(source: HasFrames, row: dict[str, Any]) -> Iterable[tuple[int, Sent]]:
    return enumerate(source.sent(row["conn_id"], row["seq"]))


def _endpoint(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)
