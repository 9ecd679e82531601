"""The frames in the packets of a hex dump, explained.

Rules:
- Requests and responses are matched as in a capture, so that a response has the version of its request.
- A response whose request is not in the dump has no tree. `payload` has its bytes, for a caller that knows its API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kafkawire.inspect._capture.connections import open_capture, read_connections
from kafkawire.inspect._tables.read import Reading, header_tables
from kafkawire.inspect._tables.selection import explain_exchange, in_order_of_time

if TYPE_CHECKING:
    from kafkawire.inspect._explain.explain import Explanation
    from kafkawire.inspect._tables.exchanges import Conversation


class DumpedPackets:
    """The connections in a capture that was made from a dump."""

    def __init__(self, pcap: bytes) -> None:
        data = np.frombuffer(pcap, np.uint8)
        found = read_connections(["dump"], lambda path: open_capture(path, mapped=lambda _: data))
        self.packets = sum(file.packets for file in found.files)
        self._talks: list[Conversation] = [each.talk for each in found.found]

    @property
    def payload(self) -> bytes:
        """The bytes of all streams, each reassembled, those of clients first."""
        streams = [
            frames.stream
            for talk in self._talks
            for frames in (talk.connection.requests, talk.connection.responses)
            if len(frames.stream.starts)
        ]
        return b"".join(
            bytes(stream.read(start, end - start)) for stream in streams for _, _, start, end in stream.chunks()
        )

    def explain(self) -> list[Explanation]:
        """The trees of all exchanges, in order."""
        tables = header_tables(self._talks)
        reading = Reading(tables, self._talks, [])
        rows = in_order_of_time(tables["exchanges"]).select(["conn_id", "seq"]).to_pylist()
        return [each for row in rows for each in explain_exchange(reading, row["conn_id"], row["seq"])]
