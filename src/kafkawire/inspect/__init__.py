"""The inspector: any frame, capture or log directory, explained.

Bytes to a tree, in which every byte belongs to one leaf: `explain_request`, `explain_response`, `explain_message`,
`explain_records`, or `explain_anything` where it is not known what they are; `parse_hex` takes what people paste.

Files to Arrow tables, whose columns `SCHEMAS` tells: `read_captures`, `read_directories`. Tables to incidents:
`find_incidents`, within `Thresholds`.

>>> from kafkawire.inspect import explain_request, parse_hex
>>> frame = parse_hex("00 00 00 0a 00 12 00 00 00 00 00 07 ff ff")
>>> explain_request(frame).title
'ApiVersionsRequest v0'
>>> [leaf.path for leaf in explain_request(frame).space.leaves()][:3]
['size', 'header.request_api_key', 'header.request_api_version']

Names are loaded when they are first used: who explains a frame does not wait for Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.loading import load_when_asked

if TYPE_CHECKING:
    from kafkawire.inspect.capture import Reading, read_captures
    from kafkawire.inspect.diagnose import Finding, Thresholds
    from kafkawire.inspect.diagnose import diagnose as find_incidents
    from kafkawire.inspect.directories import read_directories
    from kafkawire.inspect.explain import (
        Explanation,
        explain_message,
        explain_records,
        explain_request,
        explain_response,
    )
    from kafkawire.inspect.guess import explain_anything
    from kafkawire.inspect.sources.hex import parse_hex
    from kafkawire.inspect.tables import SCHEMAS
    from kafkawire.inspect.topics import TopicNames

__all__ = [
    "SCHEMAS",
    "Explanation",
    "Finding",
    "Reading",
    "Thresholds",
    "TopicNames",
    "explain_anything",
    "explain_message",
    "explain_records",
    "explain_request",
    "explain_response",
    "find_incidents",
    "parse_hex",
    "read_captures",
    "read_directories",
]

_HOMES: Final = {
    "SCHEMAS": "tables",
    "Explanation": "explain",
    "Finding": "diagnose",
    "Reading": "capture",
    "Thresholds": "diagnose",
    "TopicNames": "topics",
    "explain_anything": "guess",
    "explain_message": "explain",
    "explain_records": "explain",
    "explain_request": "explain",
    "explain_response": "explain",
    # The function is `diagnose` in its own package, which has the name here.
    "find_incidents": "diagnose:diagnose",
    "parse_hex": "sources.hex",
    "read_captures": "capture",
    "read_directories": "directories",
}

if not TYPE_CHECKING:  # a checker that saw it would take any name for one of ours
    __getattr__ = load_when_asked(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
