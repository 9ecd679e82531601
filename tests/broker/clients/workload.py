"""Records of every kind that clients send."""

from __future__ import annotations

from typing import NamedTuple

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
START = 1_700_000_000_000


class Sent(NamedTuple):
    """A record as clients see it."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]
    timestamp: int


def workload() -> list[Sent]:
    """Keys or none, null and empty values, headers, timestamps, one value of 900 KB."""
    plain = [Sent(b"key %d" % n, b"value %d" % n * 10, [], START + n) for n in range(50)]
    return [
        *plain,
        Sent(None, b"no key", [], START + 100),
        Sent(b"no value", None, [], START + 101),
        Sent(b"", b"", [], START + 102),
        Sent(b"headers", b"v", [("a", b"1"), ("a", b"2"), ("empty", b"")], START + 103),
        Sent(b"large", b"x" * 900_000, [], START + 104),
    ]
