"""`-v` and `-vv` of the commands that connect to a cluster."""

from __future__ import annotations

import io
import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from kafkawire.cli.main import main

if TYPE_CHECKING:
    from tests.client.topics import Topics

_LINE = re.compile(r"\d\d:\d\d:\d\d\.\d{3} \[\d+\] 127\.0\.0\.1:\d+ [<>] (\w+) v\d+ #\d+ \d+ bytes( \d+\.\d ms( .+)?)?")


def traced(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main([*arguments]) == 0
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("arguments", "api"),
    [
        (["produce", "traced-Produce"], "Produce"),
        (["consume", "traced-Fetch", "-o", "beginning", "-c", "1"], "Fetch"),
        (["topics", "list"], "Metadata"),
        (["groups", "list"], "ListGroups"),
        (["configs", "describe", "topic", "traced-DescribeConfigs"], "DescribeConfigs"),
        (["cluster"], "DescribeCluster"),
        (["transactions", "list"], "ListTransactions"),
    ],
)
def test_a_line_is_printed_for_each_request_and_response(
    arguments: list[str],
    api: str,
    broker: Topics,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker.create_topic(f"traced-{api}")
    broker.fill(f"traced-{api}", 1)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"x\n"), isatty=lambda: False))
    lines = traced(capsys, *arguments, "-b", broker.bootstrap, "-v")
    found = [_LINE.fullmatch(each) for each in lines if " x connection ended" not in each]
    assert all(found), [line for line, match in zip(lines, found, strict=False) if not match]
    assert [match[1] for match in found if match].count(api) >= 2


@pytest.mark.parametrize("letters", ["-vv", "-vvv", "-vvvv"])
def test_more_letters_print_the_bytes_and_fields(
    letters: str, broker: Topics, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = traced(capsys, "groups", "list", "-b", broker.bootstrap, letters)
    assert any(re.fullmatch(r"     +\d+  01 +states_filter +compact \[\]string +none", each) for each in lines)
    assert any(re.fullmatch(r"     +\d+  00 00 +api_key +int16 +0 \(Produce\)", each) for each in lines)


def test_the_option_of_the_client_overrides_the_letters(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    lines = traced(capsys, "topics", "list", "-b", broker.bootstrap, "-v", "-X", "trace=json")
    assert {json.loads(each)["kind"] for each in lines} == {"request", "response", "closed"}
