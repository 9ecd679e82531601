"""`kafkawire decode`: any input, any dress, whole and broken."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from kafkawire.cli.main import main
from kafkawire.messages import FetchResponse, HeartbeatResponse, MetadataRequest
from kafkawire.records import BatchBuilder
from kafkawire.wire import encode_request, encode_response

if TYPE_CHECKING:
    from pathlib import Path

REQUEST = encode_request(MetadataRequest(topics=None), version=4, correlation_id=7, client_id="demo")
RESPONSE = encode_response(HeartbeatResponse(error_code=27), api_key=12, version=1, correlation_id=7)
Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    "words",
    [
        [REQUEST.hex()],
        REQUEST.hex(" ").split(),
        ["0x" + REQUEST.hex()],
        [REQUEST.hex(":")],
        ["".join(f"\\x{byte:02x}" for byte in REQUEST)],
        [f"00000000: {REQUEST.hex(' ', 2)}"],
    ],
)
def test_hex_in_any_dress(words: list[str], capsys: Captured) -> None:
    assert main(["decode", *words]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("MetadataRequest v4, ")
    assert '"demo"' in printed.out
    assert printed.err == "kafkawire: taken as a request\n"


@pytest.mark.parametrize("raw", [True, False])
def test_files_and_standard_input_raw_and_hex(
    raw: bool, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = REQUEST if raw else REQUEST.hex(" ").encode()
    (tmp_path / "frame").write_bytes(content)
    assert main(["decode", str(tmp_path / "frame")]) == 0
    from_file = capsys.readouterr().out
    for words in (["-"], []):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert main(["decode", *words]) == 0
        assert capsys.readouterr().out == from_file
    assert "correlation_id" in from_file


def test_a_guessed_format_prints_the_same_as_a_given_one(capsys: Captured) -> None:
    main(["decode", REQUEST.hex()])
    guessed = capsys.readouterr()
    main(["decode", REQUEST.hex(), "--request"])
    told = capsys.readouterr()
    assert guessed.out == told.out
    assert told.err == ""


@pytest.mark.parametrize("api", ["Heartbeat", "heartbeat", "12"])
def test_a_response_needs_its_api_and_version(api: str, capsys: Captured) -> None:
    assert main(["decode", RESPONSE.hex(), "--response", "--api", api, "--version", "1"]) == 0
    assert "27 (REBALANCE_IN_PROGRESS)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "hint", "shown"),
    [
        (RESPONSE.hex(), "perhaps a response; use --response --api NAME --version N", "correlation_id  int32"),
        ("ffffffff0003", "not a known request", "expected a frame of -1 bytes, found 2"),
        ("0000000a00630000 00000007 ffff", "perhaps a response", "expected the key of an API, found 99"),
        ("0000000c 0012 0000 00000001 0003 6d65", "perhaps a response", "if header.client_id had a length of 2"),
        ("7fffffff0001000c00000001", "not a known request", "1 (Fetch)"),
        ("00000000", "one frame, but not a known request", "expected 2 more bytes, found 0"),
        ("00", "these 1 bytes are not a known request", "expected 2 more bytes, found 1"),
        ("474554202f20485454502f312e31", "this looks like HTTP on a Kafka port", "1195725856"),
        ("160301020001", "this looks like TLS on a plaintext port", "369295618"),
    ],
)
def test_bytes_that_nothing_recognises_have_a_tree_with_faults(
    data: str, hint: str, shown: str, capsys: Captured
) -> None:
    assert main(["decode", data]) == 1
    printed = capsys.readouterr()
    assert hint in printed.err
    assert shown in printed.out
    assert "^ expected" in printed.out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([RESPONSE.hex(), "--response"], "use --response --api NAME --version N"),
        ([RESPONSE.hex(), "--response", "--api", "Heartbeat"], "--version N"),
        ([RESPONSE.hex(), "--response", "--api", "Heartbeet", "--version", "1"], "did you mean Heartbeat?"),
        ([RESPONSE.hex(), "--api", "Heartbeat"], "--api needs --response"),
        ([RESPONSE.hex(), "--version", "1"], "--version needs"),
        ([RESPONSE.hex(), "--message", "HeartbeatResponse"], "expected a version of 0-4, found none"),
        ([RESPONSE.hex(), "--message", "HeartbeatRespons"], "did you mean HeartbeatResponse?"),
        (["xyz"], "'x' is not a hex digit"),
        (["frames/one.bin"], "frames/one.bin is not a file and not hex"),
        (["000"], "bytes need pairs"),
    ],
)
def test_a_wrong_call_says_what_to_do(words: list[str], complaint: str, capsys: Captured) -> None:
    assert main(["decode", *words]) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.out == ""


def test_malformed_input_prints_what_could_be_read_and_fails(capsys: Captured) -> None:
    assert main(["decode", REQUEST[:-3].hex()]) == 1
    printed = capsys.readouterr().out
    assert '"demo"' in printed
    assert f"fault in body.topics: expected 4 more bytes, found 2 at offset {len(REQUEST) - 5}" in printed
    assert f"fault in size: expected a frame of {len(REQUEST) - 4} bytes, found {len(REQUEST) - 7}" in printed


def test_a_response_of_another_version_says_which_would_fit(capsys: Captured) -> None:
    assert main(["decode", RESPONSE.hex(), "--response", "--api", "Heartbeat", "--version", "0"]) == 1
    assert capsys.readouterr().err == "kafkawire: decodes without a fault as version 1, 2, 3\n"


def test_several_frames_are_printed_one_after_the_other(capsys: Captured) -> None:
    assert main(["decode", (REQUEST * 2).hex()]) == 0
    printed = capsys.readouterr()
    assert "frame 1 at offset 0: MetadataRequest v4" in printed.out
    assert f"frame 2 at offset {len(REQUEST)}: MetadataRequest v4" in printed.out
    assert printed.err == "kafkawire: taken as 2 requests\n"


def test_json_is_one_object_a_frame(capsys: Captured) -> None:
    assert main(["decode", "--json", (REQUEST + REQUEST[:-1]).hex()]) == 1
    whole, cut = map(json.loads, capsys.readouterr().out.splitlines())
    assert whole["faults"] == []
    assert [fault["path"] for fault in cut["faults"]] == ["size", "body.allow_auto_topic_creation"]


def test_a_bare_message(capsys: Captured) -> None:
    assert main(["decode", "--message", "HeartbeatResponse", "--version", "0", "001b"]) == 0
    assert "REBALANCE_IN_PROGRESS" in capsys.readouterr().out


def test_a_message_that_says_its_version_itself(capsys: Captured) -> None:
    assert main(["decode", "--message", "ConsumerProtocolSubscription", "0000 00000001 0001 61 ffffffff"]) == 0
    assert '["a"]' in capsys.readouterr().out


def test_a_record_of_the_metadata_log_in_its_frame(capsys: Captured) -> None:
    record = "01 02 00 02 61 00000000000000000000000000000005 00"
    assert main(["decode", "--message", "topicrecord", record]) == 0
    assert "AAAAAAAAAAAAAAAAAAAABQ" in capsys.readouterr().out
    assert main(["decode", "--message", "FeatureLevelRecord", record]) == 1
    assert "expected a record in the frame of its log" in capsys.readouterr().out


def test_record_batches_with_their_unpacked_records(capsys: Captured) -> None:
    builder = BatchBuilder(compression="gzip")
    builder.append(b"\x00\x02\x00\x01g", None)
    data = builder.build()
    assert main(["decode", data.hex()]) == 0
    assert capsys.readouterr().err == "kafkawire: taken as record batches\n"
    assert main(["decode", data.hex(), "--records", "--topic", "__consumer_offsets"]) == 0
    assert "GroupMetadataKey" in capsys.readouterr().out


def test_record_batches_inside_a_fetch_response(capsys: Captured) -> None:
    builder = BatchBuilder(compression="lz4")
    builder.append(None, b"hello")
    partition = FetchResponse.PartitionData(records=builder.build())
    topic = FetchResponse.FetchableTopicResponse(topic="t", partitions=[partition])
    frame = encode_response(FetchResponse(responses=[topic]), api_key=1, version=12, correlation_id=1)
    assert main(["decode", frame.hex(), "--response", "--api", "Fetch", "--version", "12"]) == 0
    assert 'b"hello"' in capsys.readouterr().out


def test_text_from_the_frame_cannot_steer_the_terminal(capsys: Captured) -> None:
    frame = encode_request(MetadataRequest(topics=None), version=4, correlation_id=7, client_id="\x1b[2J")
    assert main(["decode", frame.hex()]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("magic", ["0a0d0d0a", "d4c3b2a1", "1f8b0800", "fd377a585a00"])
def test_a_capture_is_refused_with_what_was_expected(magic: str, tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "traffic"
    path.write_bytes(bytes.fromhex(magic) + bytes(40))
    assert main(["decode", str(path)]) == 2
    assert "expected hex or the bytes of a frame" in capsys.readouterr().err
