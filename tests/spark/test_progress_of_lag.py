"""The lag of streams, from the progress that Spark reports."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from kafkawire.spark import behind_latest, describe_sources, lag_of


def progress(*sources: tuple[Any, Any]) -> Any:
    made = [SimpleNamespace(endOffset=json.dumps(end), latestOffset=json.dumps(latest)) for end, latest in sources]
    return SimpleNamespace(sources=made)


def test_the_metrics_are_those_of_the_connector() -> None:
    found = progress(({"a": {"0": 5, "1": 7}}, {"a": {"0": 10, "1": 7}}), ({"b": {"0": 1}}, {"b": {"0": 3}}))
    assert lag_of(found) == {"a": {0: 5, 1: 0}, "b": {0: 2}}
    assert behind_latest(found) == {
        "minOffsetsBehindLatest": 0,
        "maxOffsetsBehindLatest": 5,
        "avgOffsetsBehindLatest": 7 / 3,
    }


def test_sources_of_other_formats_have_no_lag() -> None:
    assert behind_latest(progress((7, 8), ("x", None))) == {}


def test_sources_are_described_in_words() -> None:
    ours = ({"b": {"0": 1}, "a": {"0": 5, "1": 7}, "@start": {"a": {"0": 0}}}, {"a": {"0": 10}})
    assert describe_sources(progress(ours, (7, 8), ("x", None))) == ["kafkawire: a (2 partitions), b (1 partition)"]
    assert describe_sources(progress((None, None))) == []
