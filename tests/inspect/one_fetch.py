"""The smallest capture with records: one fetch of one batch with two records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.inspect.captures import Conversation, write_pcap
from tests.inspect.sample_messages import batch, fetch, fetched

if TYPE_CHECKING:
    from pathlib import Path

TIME = 1_700_000_000_000


def write_one_fetch(folder: Path) -> Path:
    """The file of such a capture; its records have the log's append time TIME."""
    talk = Conversation().open()
    records = batch(b"a", b"b", base_offset=5, append_timestamp=TIME)
    talk.exchange(fetch(0, -1, (0, 5)), fetched(0, (0, 7, records)), 11)
    path = folder / "x.pcap"
    path.write_bytes(write_pcap(talk.packets))
    return path
