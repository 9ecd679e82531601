"""Wireshark's dissector, as a second opinion on captures."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FIELDS = (
    *("frame.number", "tcp.srcport", "tcp.dstport", "kafka.len", "kafka.correlation_id", "kafka.request_key"),
    *("kafka.request.version", "kafka.response_key", "kafka.response.version", "kafka.request_frame"),
)


class TsharkFrame(NamedTuple):
    """The fields that tshark prints for one packet that ends one frame of Kafka; None where it does not say."""

    packet: int
    from_port: int
    to_port: int
    size: int
    correlation: int
    request: tuple[int, int] | None
    response: tuple[int, int] | None
    request_packet: int | None


class Tshark:
    """tshark and capinfos, which come together."""

    def __init__(self) -> None:
        missing = [tool for tool in ("tshark", "capinfos") if shutil.which(tool) is None]
        if missing:
            pytest.fail(f"these tests compare with Wireshark's tools; not on the PATH: {', '.join(missing)}")

    def frames(self, path: Path, port: int = 9092, *options: str) -> list[TsharkFrame]:
        """Every packet of a capture in which tshark sees one frame of Kafka's end."""
        wanted = [word for field in _FIELDS for word in ("-e", field)]
        decoding = ["-d", f"tcp.port=={port},kafka", *options, "-Y", "kafka.correlation_id", "-T", "fields"]
        text = self._run("tshark", "-r", str(path), *decoding, *wanted)
        return [frame for line in text.splitlines() for frame in _parse(line)]

    def describe(self, path: Path) -> dict[str, str]:
        """The output of capinfos for a capture file."""
        lines = self._run("capinfos", "-M", str(path)).splitlines()
        return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}

    def _run(self, *command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout


def _parse(line: str) -> Iterator[TsharkFrame]:
    columns = line.split("\t")
    packet, from_port, to_port = map(int, columns[:3])
    sizes, correlations = columns[3].split(","), columns[4].split(",")
    if len(sizes) > 1:  # several frames end here, and columns do not say which of them a key belongs to
        for size, correlation in zip(sizes, correlations, strict=True):
            yield TsharkFrame(packet, from_port, to_port, int(size), int(correlation), None, None, None)
        return
    asked, answered = _pair(columns[5], columns[6]), _pair(columns[7], columns[8])
    before = int(columns[9]) if columns[9] else None
    yield TsharkFrame(packet, from_port, to_port, int(sizes[0]), int(correlations[0]), asked, answered, before)


def _pair(key: str, version: str) -> tuple[int, int] | None:
    return (int(key), int(version)) if key and version else None
