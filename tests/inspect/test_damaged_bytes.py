"""Damaged bytes: the best tree up to the fault and after it, what was expected, and what would fit."""

from __future__ import annotations

import json
import random
import struct
from typing import TYPE_CHECKING, Any

import pytest
from tests.inspect.sample_messages import batch, fetch, fetched, produce
from tests.inspect.test_newer_clients import frame
from tests.messages.samples import random_message

from kafkawire.cli.main import main
from kafkawire.inspect import explain_anything, explain_records, explain_requests
from kafkawire.inspect._explain.repair import MOST_BYTES, find_repair
from kafkawire.messages import Api, HeartbeatRequest, MetadataRequest, apis, message_class
from kafkawire.wire import encode_request, encode_response

if TYPE_CHECKING:
    from kafkawire.inspect import Explanation

Captured = pytest.CaptureFixture[str]
BATCH = batch(b"first", b"second", b"third", base_offset=7)
METADATA = encode_request(
    MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="orders")]),
    version=4,
    correlation_id=7,
    client_id="demo",
)


def decoded(capsys: Captured, data: bytes, *options: str) -> tuple[int, str, str]:
    code = main(["decode", data.hex(), *options])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize("options", [(), ("--records",)])
def test_a_truncated_batch_shows_its_header_and_its_records_up_to_the_cut(
    capsys: Captured, options: tuple[str, ...]
) -> None:
    code, out, _ = decoded(capsys, BATCH[:-4], *options)
    assert code == 1
    assert "base_offset" in out
    assert "record_count" in out
    assert "first" in out
    assert "second" in out
    assert f"expected {len(BATCH)} bytes, found {len(BATCH) - 4}" in out


@pytest.mark.parametrize("size", range(1, len(BATCH)))
def test_every_cut_of_a_batch_has_a_fault_and_covers_its_bytes(size: int) -> None:
    explained = explain_records(BATCH[:size])
    assert list(explained.space.faults())
    covered(explained, size)


@pytest.mark.parametrize("magic", [0, 1])
def test_a_truncated_message_of_an_old_format_is_a_fault(magic: int) -> None:
    old = batch(b"value", magic=magic)
    for size in range(1, len(old)):
        explained = explain_records(old[:size])
        assert list(explained.space.faults())
        covered(explained, size)


def covered(explained: Explanation, size: int) -> None:
    position = 0
    for leaf in explained.space.leaves():
        assert leaf.offset == position
        position += leaf.length
    assert position == size


def test_a_batch_with_a_wrong_checksum_is_guessed_and_shown(capsys: Captured) -> None:
    damaged = bytearray(BATCH)
    damaged[-2] ^= 1
    code, out, err = decoded(capsys, bytes(damaged))
    assert code == 1
    assert "first" in out
    assert "fault in [0].crc" in out
    assert "taken as record batches" in err


def test_batches_after_an_impossible_one_are_found_again(capsys: Captured) -> None:
    broken = bytearray(BATCH)
    struct.pack_into(">i", broken, 8, 5)
    code, out, _ = decoded(capsys, BATCH + bytes(broken) + BATCH, "--records")
    assert code == 1
    assert out.count("record_count") == 2
    assert "a batch length of at least" in out
    struct.pack_into(">i", broken, 8, 5_000)
    code, out, _ = decoded(capsys, BATCH + bytes(broken) + BATCH, "--records")
    assert code == 1
    assert out.count("record_count") == 2


def test_a_partial_batch_at_the_end_of_a_fetch_is_not_a_fault(capsys: Captured) -> None:
    answer = encode_response(fetched(0, (0, 10, BATCH + BATCH[:30])), api_key=1, version=11, correlation_id=7)
    code, out, _ = decoded(capsys, answer, "--response", "--api", "Fetch", "--version", "11")
    assert code == 0
    assert "readers drop it" in out


def test_an_unknown_version_of_a_short_frame_is_not_taken_for_a_produce(capsys: Captured) -> None:
    data = frame(3, 99, 1, b"", None)
    assert len(data) == 4 + 11
    for each in (data, frame(3, 99, 1, b"\0\0", None)[:17]):
        code, out, _ = decoded(capsys, each)
        assert code == 1
        assert out.startswith("MetadataRequest v99")
        assert "expected a version of MetadataRequest (0-13), found version 99" in out


def test_an_unknown_api_has_its_header(capsys: Captured) -> None:
    code, out, _ = decoded(capsys, frame(500, 3, 9))
    assert code == 1
    for part in ("500", "correlation_id", '"app"', "expected the key of an API, found 500"):
        assert part in out


def wrong_length(data: bytes, at: int, form: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(form, changed, at, value)
    return bytes(changed)


NAME_AT = METADATA.index(b"orders") - 2
TOPICS_AT = NAME_AT - 4


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (wrong_length(METADATA, NAME_AT, ">h", 60), "if body.topics[0].name had a length of 6, the rest would parse"),
        (wrong_length(METADATA, NAME_AT, ">h", 5), "if body.topics[0].name had a length of 6, the rest would parse"),
        (wrong_length(METADATA, TOPICS_AT, ">i", 3), "if body.topics had 1 element, the rest would parse"),
        (wrong_length(METADATA, TOPICS_AT, ">i", 70_000), "if body.topics had 1 element, the rest would parse"),
        (wrong_length(METADATA, 12, ">h", 90), "if header.client_id had a length of 4, the rest would parse"),
    ],
)
def test_a_wrong_length_is_found_and_the_rest_is_shown(capsys: Captured, data: bytes, hint: str) -> None:
    code, out, _ = decoded(capsys, data, "--request")
    assert code == 1
    assert hint in out
    assert '"orders"' in out
    assert "allow_auto_topic_creation" in out
    code, out, _ = decoded(capsys, data, "--request", "--json")
    printed = json.loads(out)
    assert printed["faults"]
    assert printed["repair"]["text"] == hint
    assert printed["repair"]["tree"]


def test_a_compact_length_is_found_too(capsys: Captured) -> None:
    data = bytearray(
        encode_request(
            MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="orders")]),
            version=12,
            correlation_id=7,
            client_id="demo",
        )
    )
    at = data.index(b"orders") - 1
    data[at] = 60
    code, out, _ = decoded(capsys, bytes(data))
    assert code == 1
    assert "if body.topics[0].name had a length of 6, the rest would parse" in out


def test_no_repair_is_made_up(capsys: Captured) -> None:
    _, out, _ = decoded(capsys, METADATA[:-3], "--request")
    assert "the rest would parse" not in out
    _, out, _ = decoded(capsys, METADATA, "--request")
    assert "the rest would parse" not in out


@pytest.mark.parametrize("seed", range(60))
def test_any_damage_has_a_tree_that_covers_every_byte(seed: int) -> None:
    chance = random.Random(seed)
    whole = chance.choice(
        (
            METADATA,
            encode_request(produce(BATCH), version=chance.choice((3, 9)), correlation_id=1, client_id="demo"),
            encode_request(fetch(0, -1, (0, 5)), version=11, correlation_id=1, client_id="demo"),
            BATCH * 3,
        )
    )
    data = bytearray(whole)
    for _ in range(chance.randrange(1, 4)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    data = data[: chance.randrange(1, len(data) + 1)]
    for explained in explain_requests(bytes(data)):
        assert explained.space.root.length >= 0
    covered(explain_records(bytes(data)), len(data))


@pytest.mark.parametrize("which", apis(), ids=lambda which: which.name)
def test_damaged_frames_of_every_api_have_a_tree_and_exit_with_1(which: Api, capsys: Captured) -> None:
    dice = random.Random(which.key)
    for number in range(5):
        version = dice.choice(list(which.versions))
        if number % 2:
            message = random_message(message_class(f"{which.name}Response"), version, dice)
            data = bytearray(encode_response(message, api_key=which.key, version=version, correlation_id=number))
            options = [("--response", "--api", which.name, "--version", str(version)), ()][number == 3]
        else:
            message = random_message(message_class(f"{which.name}Request"), version, dice)
            data = bytearray(encode_request(message, version=version, correlation_id=number, client_id="app"))
            options = [("--request",), ()][number == 4]
        if number < 2:
            data = data[: dice.randrange(1, len(data))]
        else:
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        code, out, _ = decoded(capsys, bytes(data), *options)
        assert out
        assert code == ("fault in" in out), data.hex()
        assert code or number, "a truncated request has a fault"


def test_what_looks_like_nothing_has_a_tree_with_faults(capsys: Captured) -> None:
    assert decoded(capsys, bytes(range(200, 240)))[0] == 1


def test_a_large_damaged_frame_is_answered_in_bounded_time() -> None:
    topics: list[Any] = [MetadataRequest.MetadataRequestTopic(name=f"topic-{number}") for number in range(20_000)]
    data = bytearray(encode_request(MetadataRequest(topics=topics), version=4, correlation_id=1, client_id="demo"))
    struct.pack_into(">h", data, data.index(b"topic-19999") - 2, 30_000)
    (explained,) = explain_anything(bytes(data))
    assert not explained.whole
    tried: list[int] = []

    def explain(changed: bytes) -> Explanation:
        tried.append(len(changed))
        return explained

    assert find_repair(explained, explain) is None
    assert sum(tried) <= MOST_BYTES


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0000000d 0003 0063 00000001 0003 616263", '"abc"'),
        ("0000000d 0003 0063 00000001 00ff", "correlation_id"),
        ("0003 0063 0000", "request_api_version"),
        ("0000000000000000 00000040 00000000 02", "batch_length"),
        ("0000000000000000 00000040 00000000 02 12345678 0000 00000000", "attributes"),
    ],
)
def test_short_remains_have_a_tree_without_options(text: str, found: str, capsys: Captured) -> None:
    assert main(["decode", text]) == 1
    assert found in capsys.readouterr().out


@pytest.mark.parametrize("stated", [0, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
def test_of_several_lengths_the_one_with_readable_strings_is_shown(stated: int) -> None:
    message = HeartbeatRequest(group_id="grp", generation_id=3, member_id="m")
    data = bytearray(encode_request(message, version=3, correlation_id=1, client_id="c"))
    data[data.find(b"grp") - 1] = stated
    (explained,) = explain_requests(bytes(data))
    assert not explained.whole
    found = find_repair(explained, lambda changed: explain_requests(changed)[0])
    assert found is not None
    assert (found.path, found.length) == ("body.group_id", 3)
