"""Hex as people paste it: packets with their headers, tables, arrows, comments and placeholders."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import pytest
from tests.inspect.captures import Conversation
from tests.inspect.sample_messages import fetch, fetched

from kafkawire.cli.main import main
from kafkawire.inspect import HexError, parse_hex
from kafkawire.messages import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.inspect.captures import Packet

Captured = pytest.CaptureFixture[str]
FRAME = bytes.fromhex("0000000c001200000000000100026d65")


def ip(packet: Packet) -> bytes:
    def address(host: str) -> bytes:
        return bytes(map(int, host.split(".")))

    tcp = struct.pack(
        ">HHIIBBHHH", packet.source[1], packet.target[1], packet.sequence, 0, 5 << 4, packet.flags, 1000, 0, 0
    )
    head = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(packet.payload), packet.identity, 0, 64, 6, 0)
    return head + address(packet.source[0]) + address(packet.target[0]) + tcp + packet.payload


def tcpdump(packets: list[Packet], *, text: bool = False, link: bytes = b"") -> str:
    lines = []
    for number, packet in enumerate(packets):
        lines.append(
            f"10:15:{number:02}.000000 IP 10.0.0.1.50000 > 10.0.0.9.9092: Flags [P.], length {len(packet.payload)}"
        )
        data = link + ip(packet)
        for at in range(0, len(data), 16):
            row = data[at : at + 16]
            shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
            lines.append(f"\t0x{at:04x}:  {row.hex(' ', 2)}" + (f"  {shown}" if text else ""))
    return "\n".join(lines)


ETHERNET = bytes(12) + b"\x08\x00"
COOKED = bytes(14) + b"\x08\x00"


def tshark(packets: list[Packet], *, summaries: bool = False) -> str:
    blocks = []
    for number, packet in enumerate(packets, 1):
        data = ETHERNET + ip(packet)
        rows = [f"    {number}   0.00{number} 10.0.0.1 → 10.0.0.9 TCP 74 50000 → 9092 [PSH, ACK]"] if summaries else []
        for at in range(0, len(data), 16):
            row = data[at : at + 16]
            shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
            rows.append(f"{at:04x}  {row.hex(' '):47}   {shown}")
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks) + "\n"


DRESSES: dict[str, Callable[[list[Packet]], str]] = {
    "tcpdump -x": tcpdump,
    "tcpdump -X": lambda packets: tcpdump(packets, text=True),
    "tcpdump -xx": lambda packets: tcpdump(packets, link=ETHERNET),
    "tcpdump -i any -xx": lambda packets: tcpdump(packets, link=COOKED),
    "tshark -x": tshark,
    "tshark -x -P": lambda packets: tshark(packets, summaries=True),
}


def conversation() -> Conversation:
    talk = Conversation(segment=40).open()
    talk.exchange(ApiVersionsRequest(client_software_name="x", client_software_version="1"), ApiVersionsResponse(), 3)
    talk.exchange(fetch(0, -1, (0, 5)), fetched(0, (0, 9, b"")), 11)
    return talk


@pytest.mark.parametrize("dress", DRESSES)
def test_packets_are_reassembled_and_their_frames_explained(dress: str, tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "dump.txt"
    path.write_text(DRESSES[dress](conversation().packets))
    assert main(["decode", str(path), "--json"]) == 0
    printed = capsys.readouterr()
    found = [json.loads(line) for line in printed.out.splitlines()]
    assert [each["message"] for each in found] == [
        "ApiVersionsRequest",
        "ApiVersionsResponse",
        "FetchRequest",
        "FetchResponse",
    ]
    assert "packets" in printed.err


@pytest.mark.parametrize("dress", DRESSES)
def test_packets_out_of_order_and_sent_twice_are_put_right(dress: str, tmp_path: Path, capsys: Captured) -> None:
    packets = conversation().packets
    first = next(number for number, packet in enumerate(packets) if packet.payload)
    packets = [*packets[:first], packets[first + 1], packets[first], packets[first], *packets[first + 2 :]]
    path = tmp_path / "dump.txt"
    path.write_text(DRESSES[dress](packets))
    assert main(["decode", str(path), "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_one_packet_with_one_request(tmp_path: Path, capsys: Captured) -> None:
    talk = Conversation().open()
    talk.request(MetadataRequest(topics=None), 4)
    (packet,) = [packet for packet in talk.packets if packet.payload]
    path = tmp_path / "dump.txt"
    path.write_text(tcpdump([packet]))
    assert main(["decode", str(path)]) == 0
    assert capsys.readouterr().out.startswith("MetadataRequest v4")


def test_packets_whose_request_is_missing_are_read_with_the_options(tmp_path: Path, capsys: Captured) -> None:
    talk = conversation()
    answers = [packet for packet in talk.packets if packet.payload and packet.source[1] == 9092]
    path = tmp_path / "dump.txt"
    path.write_text(tcpdump(answers[-2:]))
    assert main(["decode", str(path), "--response", "--api", "Fetch", "--version", "11"]) == 0
    assert capsys.readouterr().out.startswith("FetchResponse v11")


def test_bytes_that_only_begin_like_a_packet_stay_bytes() -> None:
    assert parse_hex("00000000: 4500 0034 0000 4000") == bytes.fromhex("4500003400004000")


@pytest.mark.parametrize(
    "text",
    [
        "Idx | Hex         | ASCII\n----+-------------+------\n00  | 00 00 00 0c | ....\n04  | 00 12 00 00 | ....\n"
        "08  | 00 00 00 01 | ....\n0c  | 00 02 6d 65 | ..me\n",
        "| offset | hex | text |\n|---|---|---|\n| 0x00 | 00 00 00 0c 00 12 00 00 | ........ |\n"
        "| 0x08 | 00 00 00 01 00 02 6d 65 | ......me |\n",
        "00 00 00 0c -> size\n00 12 -> ApiVersions\n00 00 -> version\n00 00 00 01 -> correlation\n00 02 6d 65 -> 'me'",
        "00 00 00 0c → size, 12\n00 12 ← key\n00 00 <- version\n00 00 00 01 => correlation\n00 02 6d 65 -- client id",
        "00 00 00 0c   ; size\n00 12 00 00   ; header\n00 00 00 01\n00 02 6d 65   = client id",
        "size: 00 00 00 0c\nkey: 00 12\nversion: 00 00\ncorrelation id: 00 00 00 01\nclient: 00 02 6d 65",
    ],
)
def test_tables_arrows_and_comments_of_articles(text: str) -> None:
    assert parse_hex(text) == FRAME


def test_placeholders_are_holes_that_the_tree_shows(capsys: Captured) -> None:
    assert main(["decode", "0000000c 0012 0000 XX XX XX XX 0002 6d65", "--request"]) == 0
    printed = capsys.readouterr()
    (line,) = [each for each in printed.out.splitlines() if "correlation_id" in each]
    assert "?? ?? ?? ??" in line
    assert "placeholder" in line
    (line,) = [each for each in printed.out.splitlines() if "client_id" in each]
    assert "placeholder" not in line
    assert main(["decode", "0000000c 0012 0000 ???????? 0002 6d65", "--request", "--json"]) == 0
    header = json.loads(capsys.readouterr().out)["tree"][1]["children"]
    (field,) = [each for each in header if each["name"] == "correlation_id"]
    assert (field["value"], field["bytes"]) == (None, "????????")


@pytest.mark.parametrize("dots", ["...", "…", ".. ..", "[...]"])
def test_what_is_left_out_has_the_length_that_the_size_gives(dots: str, capsys: Captured) -> None:
    request = encode_request(MetadataRequest(topics=None), version=4, correlation_id=7, client_id="a" * 30)
    text = f"{request[:14].hex(' ')} {dots} {request[-5:].hex(' ')}"
    if dots == ".. ..":
        assert len(parse_hex(text)) == 14 + 2 + 5
        return
    assert len(parse_hex(text)) == len(request)
    main(["decode", text, "--request"])
    assert "placeholder" in capsys.readouterr().out


def test_what_is_left_out_without_a_size_is_an_error() -> None:
    with pytest.raises(HexError, match="how many bytes"):
        parse_hex("6d 65 ... 6d 65")


@pytest.mark.parametrize("text", ["00 0g", "hello | world", "size -> 12", "00 12 this is prose", "XX", "... ..."])
def test_what_is_not_hex_is_still_refused(text: str) -> None:
    with pytest.raises(HexError):
        parse_hex(text)


@pytest.mark.parametrize(
    "text", ["0000000c00120000...00026d65", "0000000c00120000[…]00026d65", "0000000c 00120000... 00026d65"]
)
def test_dots_between_digits_are_left_out_bytes(text: str, capsys: Captured) -> None:
    assert main(["decode", text]) == 0
    printed = capsys.readouterr().out
    assert "?? ?? ?? ??    correlation_id" in printed
    assert '"me"' in printed


@pytest.mark.parametrize("size", ["XX XX XX XX", "????????"])
def test_a_placeholder_for_the_size_has_the_size_of_the_frame(size: str, capsys: Captured) -> None:
    assert main(["decode", f"{size} 0012 0000 00000001 0002 6d65"]) == 0
    printed = capsys.readouterr().out
    assert "?? ?? ?? ??  size" in printed
    assert "18 (ApiVersions)" in printed
    assert '"me"' in printed


def test_dots_do_not_make_text_hex() -> None:
    for text in ("0000000c0012...me", "00...zz", "0000000c...0"):
        with pytest.raises(HexError):
            parse_hex(text)


@pytest.mark.parametrize(
    "text",
    [
        "[0, 0, 0, 12, 0, 18, 0, 0, 0, 0, 0, 1, 0, 2, 109, 101]",
        "[0 0 0 12 0 18 0 0 0 0 0 1 0 2 109 101]",
        "0, 0, 0, 12, 0, 18, 0, 0, 0, 0, 0, 1, 0, 2, 109, 101",
        "[\n" + "".join(f"    {byte},\n" for byte in FRAME) + "]",
        "byte[] frame = new byte[] { 0, 0, 0, 12, // size\n 0, 18, 0, 0, 0, 0, 0, 1, 0, 2, 109, 101 };",
        "[]byte{0, 0, 0, 12, 0, 18, 0, 0, 0, 0, 0, 1, 0, 2, 109, 101}",
        "bytearray([0, 0, 0, 12, 0, 18, 0, 0, 0, 0, 0, 1, 0, 2, 109, 101])",
        "Uint8Array(16) [ 0, 0, 0, 12, 0, 18, 0, 0, 0, 0, 0, 1, 0, 2, 109, 101 ]",
        '{"type":"Buffer","data":[0,0,0,12,0,18,0,0,0,0,0,1,0,2,109,101]}',
        "[0, 0, 0, 12, 0, 18, 0, 0]\n[0, 0, 0, 1, 0, 2, 109, 101]",
    ],
)
def test_arrays_of_decimal_numbers(text: str) -> None:
    assert parse_hex(text) == FRAME


def test_signed_bytes_of_java() -> None:
    assert parse_hex("[0, 18, -1, -128, 127]") == bytes([0, 18, 255, 128, 127])


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("[00, 12, 00, 01]", "00120001"),
        ("[10, 20, 30]", "102030"),
        ("10, 20", "1020"),
        ("{0x00, 0x12}", "0012"),
        ("123\n456", "123456"),
        ("[1000, 2000]", "10002000"),
    ],
)
def test_what_can_be_hex_is_not_read_as_decimal(text: str, data: str) -> None:
    assert parse_hex(text).hex() == data


@pytest.mark.parametrize("text", ["100, 2000", "[00, 1, 2]", "1 2 3", "[1, 2, c]"])
def test_what_is_neither_hex_nor_decimal_is_refused(text: str) -> None:
    with pytest.raises(HexError, match="hex digits"):
        parse_hex(text)


def test_a_number_that_is_no_byte_is_named() -> None:
    with pytest.raises(HexError, match="line 2, column 4: 300 is not a byte"):
        parse_hex("[0,\n0, 300]")


@pytest.mark.parametrize(
    "words",
    [
        "<correlation id>",
        "[correlation_id]",
        "<Correlation ID: 4 bytes>",
        "[4 bytes]",
        "<four bytes>",
        "(4 bytes omitted)",
        "... 4 bytes ...",
        "... 4 more bytes",
        "<snip>",
        "[cut]",
        "__ __ __ __",
        "NNNNNNNN",
        "nn nn nn nn",
    ],
)
def test_words_in_place_of_bytes_are_holes(words: str, capsys: Captured) -> None:
    assert main(["decode", f"0000000c 0012 0000 {words} 0002 6d65"]) == 0
    printed = capsys.readouterr().out
    assert "?? ?? ?? ??    correlation_id" in printed
    assert '"me"' in printed


def test_a_word_of_unknown_length_without_a_size_is_an_error(capsys: Captured) -> None:
    assert main(["decode", "0012 <client id>"]) == 2
    assert "how many bytes are left out here? Write [N bytes]" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["0012 [words", "0012 words]", "0012 <0g>", "0012 (client id) 6d65", "[99999999 bytes] 00"]
)
def test_words_that_are_no_placeholder_are_still_refused(text: str) -> None:
    with pytest.raises(HexError):
        parse_hex(text)


def test_a_placeholder_for_the_api_leaves_the_body(capsys: Captured) -> None:
    assert main(["decode", "0000000f XXXX 0004 00000001 0002 6d65 010203"]) == 1
    printed = capsys.readouterr().out
    assert "Produce" not in printed
    assert "01 02 03     body" in printed
    assert "expected the key of an API, found a placeholder" in printed


def test_a_placeholder_for_the_version_has_the_highest_version_that_fits(capsys: Captured) -> None:
    request = encode_request(MetadataRequest(topics=None), version=12, correlation_id=7, client_id="me")
    text = f"{request[:6].hex()} XXXX {request[8:].hex()}"
    assert main(["decode", text]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("MetadataRequest v13")
    assert "the version is a placeholder; the bytes fit 11, 12, 13, and are read as 13" in printed.err
    assert main(["decode", text, "--request", "--version", "12"]) == 1
    assert main(["decode", f"00000012 0003 XXXX {request[8:].hex()}ff"]) == 1
    assert "fit no version" in capsys.readouterr().err
