"""The nodes of a tree have the descriptions of their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkawire.cli.main import main
from kafkawire.inspect import explain_records, explain_request, render_json
from kafkawire.messages import FetchRequest
from kafkawire.records import BatchBuilder, Codec
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect import Explanation
    from kafkawire.inspect._explain.tree import Node, Space

_FRAMES = {"", "header", "body", "size", "records", "tagged_fields"}


def undescribed(space: Space) -> Iterator[str]:
    def walk(node: Node, path: str) -> Iterator[str]:
        for child in node.children():
            place = f"{path}.{child.name}"
            if not child.description and not child.framing and child.name not in _FRAMES and child.name[0] != "[":
                yield place
            yield from walk(child, place)
            if child.inner is not None:
                yield from walk(child.inner.root, f"{place}>")

    return walk(space.root, "")


def batch(magic: int, codec: Codec) -> Explanation:
    builder = BatchBuilder(magic=magic, compression=codec)
    headers = [("trace", b"1")] if magic == 2 else []
    builder.append(b"key", b"value", 1_700_000_000_000, headers)
    builder.append(None, b"other", 1_700_000_000_001)
    return explain_records(builder.build())


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_every_field_of_a_batch_and_its_records_is_described(magic: int, codec: Codec) -> None:
    assert list(undescribed(batch(magic, codec).space)) == []


def test_every_field_of_a_request_is_described_in_the_tree() -> None:
    partition = FetchRequest.FetchPartition(partition=3, fetch_offset=7)
    request = FetchRequest(topics=[FetchRequest.FetchTopic(topic="orders", partitions=[partition])])
    explained = explain_request(encode_request(request, version=12, correlation_id=1, client_id="me"))
    assert list(undescribed(explained.space)) == []
    assert '"description": "Offset to read from"' in str(render_json(explained)).replace("'", '"')


def test_descriptions_are_printed_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    frame = "0000000c001200000000000100026d65"
    assert main(["decode", frame]) == 0
    assert "#" not in capsys.readouterr().out
    for option in ("--describe", "--tree"):
        assert main(["decode", option, frame]) == 0
        assert "# Number that connects a response with its request" in capsys.readouterr().out
