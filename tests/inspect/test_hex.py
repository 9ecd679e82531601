"""Hex in any dress: what is read, and what is refused at which place."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkawire.inspect._hexdump.hex import HexError, parse_hex, raw_or_hex

# The text that dumps show beside these bytes holds '#', '|', '<', and words that look like hex.
FRAME = b"\x00\x00\x00?\x00\x12\x00\x03\x00\x00\x00\x07\x00\x0bface #| <a>\x00\x0fkafkawire-test\x060.1.0\x00" + bytes(
    range(0xD0, 0xE2)
)
SPARSE = b"\x00\x01" + bytes(100) + b"\xff\xfe\xfd"
SHORT = b"\x00\x1f\x00\x12"


def written_by_tools() -> dict[str, str]:
    """The dumps in dumps.txt, as real tools printed them; only tcpdump's and Wireshark's layouts were composed."""
    text = (Path(__file__).parent / "dumps.txt").read_text(encoding="utf-8")
    sections = (section.partition("\n")[::2] for section in text.split("=== ")[1:])
    return dict(sections)


DUMPS = written_by_tools()


class TestDumps:
    @pytest.mark.parametrize("tool", DUMPS)
    def test_is_read_whatever_tool_wrote_it(self, tool: str) -> None:
        assert parse_hex(DUMPS[tool]) == (SPARSE if tool.startswith("sparse") else FRAME)

    @pytest.mark.parametrize("tool", DUMPS)
    def test_line_ends_of_windows_and_indentation_do_not_matter(self, tool: str) -> None:
        indented = "".join(f"    {line}\r\n" for line in DUMPS[tool].splitlines())
        assert parse_hex(indented) == parse_hex(DUMPS[tool])

    @pytest.mark.parametrize("tool", ["xxd", "hexdump -C", "od -A x -t x1z", "tcpdump -X", "wireshark hex dump"])
    def test_each_line_can_stand_alone(self, tool: str) -> None:
        lines = [line for line in DUMPS[tool].splitlines() if len(line) > 10]
        assert b"".join(map(parse_hex, lines)) == FRAME

    @pytest.mark.parametrize(
        "tool", ["xxd", "xxd -g1", "hexdump -C", "hexdump", "od -t x1", "od -A x -t x2", "tcpdump -x"]
    )
    def test_a_lost_line_is_refused(self, tool: str) -> None:
        lines = DUMPS[tool].splitlines()
        del lines[2]
        with pytest.raises(HexError, match="16 bytes, but the next offset says 32"):
            parse_hex("\n".join(lines))

    def test_a_dump_may_begin_anywhere(self) -> None:
        assert parse_hex("\n".join(DUMPS["xxd"].splitlines()[1:])) == FRAME[16:]

    def test_offsets_that_begin_again_are_the_next_packet(self) -> None:
        assert parse_hex(DUMPS["tcpdump -x"] + DUMPS["tcpdump -x"]) == FRAME + FRAME

    def test_text_like_hex_is_not_read_as_hex(self) -> None:
        assert parse_hex("00000000: 6162 6364  abcd") == b"abcd"
        assert parse_hex("00000000: 6162 6364 abcd\n00000004: 65 e") == b"abcde"

    def test_a_word_dump_ends_where_its_last_offset_says(self) -> None:
        assert parse_hex("0000000 0201 0003\n0000003\n") == b"\x01\x02\x03"

    @pytest.mark.parametrize(
        "text",
        [
            "0000 00 1f 00 12",
            "0010   00 1f 00 12   ....",
            "00000000: 001f 0012 # the size, the key",
            "0x7ffe10:\t0x00\t0x1f\t0x00\t0x12",
            "# two lines\n0000  00 1f\n0002  00 12",
            "0000   00 1f 00 12   ····",
        ],
    )
    def test_other_layouts(self, text: str) -> None:
        assert parse_hex(text) == SHORT


class TestDigits:
    @pytest.mark.parametrize(
        "text",
        [
            "001f0012",
            "001F0012\n",
            "00 1f 00 12",
            "001f 0012",
            "00:1f:00:12",
            "00:1f:\n00:12",
            "00-1F-00-12",
            "00,1f,00,12",
            "0x001f0012",
            "0x00 0x1F 0X00 0x12",
            "0x0, 0x1f, 0x0, 0x12",
            "0x001f_0012",
            "'001f0012'",
            "[0x00, 0x1f, 0x00, 0x12]",
            "{0x00, 0x1f, 0x00, 0x12}",
            "[]byte{0x00, 0x1f, 0x00, 0x12}",
            "new byte[] {0x00, 0x1f, 0x00, (byte) 0x12};",
            "unsigned char x[] = {\n  0x00, 0x1f, // size\n  0x00, 0x12 /* key */\n};\nunsigned int x_len = 4;\n",
            "00 1f # size\n00 12 # key",
            "# a frame\n001f0012",
            "001\nf00\n12",
            "\ufeff00\u00a01f\u200b0012",
            "00 1f 00 12  |....|",
            "00 1f 00 12  >....<",
            "0012 # not 00",
        ],
    )
    def test_plain_digits_in_usual_dress(self, text: str) -> None:
        assert parse_hex(text) == (SHORT if "not" not in text else b"\x00\x12")

    def test_a_size_before_pairs_is_not_an_offset(self) -> None:
        assert parse_hex("0000001f 00 12") == b"\x00\x00\x00\x1f\x00\x12"


class TestEscapes:
    @pytest.mark.parametrize(
        ("text", "data"),
        [
            (r"\x00\x1f\x00\x12", SHORT),
            (r"\x00 \x1f, \x00 \x12", SHORT),
            ("\\x00\\x1f\n\\x00\\x12\n", SHORT),
            (r"\x001f0012", SHORT),
            (r"b'\x00\x1f\x00\x12'", SHORT),
            (r'"\x00\x1f\x00\x12"', SHORT),
            ('"\\x00\\x1f" \\\n"\\x00\\x12"', SHORT),
            (r"$'\x00\x1f\x00\x12'", SHORT),
            (r'const char x[] = "\x00\x1f\x00\x12";', SHORT),
            (r"bytearray(b'\x00\x1f\x00\x12')", SHORT),
            ("(b'\\x00\\x1f'\n b'\\x00\\x12')  # two halves", SHORT),
            (r"\x00\x05hello there", b"\x00\x05hello there"),
            (r"b'a\tb\n\\\'\x00'", b"a\tb\n\\'\x00"),
            (r'b"it\'s 001f"', b"it's 001f"),
            (r"'\000\37\x00\22'", SHORT),
            ("b'plain # text'", b"plain # text"),
        ],
    )
    def test_literals_and_escapes(self, text: str, data: bytes) -> None:
        assert parse_hex(text) == data

    @given(st.binary(min_size=1))
    def test_reads_what_python_prints(self, data: bytes) -> None:
        assert parse_hex(repr(data)) == data
        assert parse_hex(repr(bytearray(data))) == data


class TestBase64:
    @pytest.mark.parametrize(
        ("text", "data"),
        [
            ("AB8AEg==", SHORT),
            ("AAAAPwASAAMAAAAHAAtmYWNlICN8IDxhPgAPa2Fma2F3\naXJlLXRlc3QGMC4xLjAA0NHS09TV1tfY2drb3N3e3+Dh\n", FRAME),
        ],
    )
    def test_is_read_when_it_can_be_nothing_else(self, text: str, data: bytes) -> None:
        assert parse_hex(text) == data

    @pytest.mark.parametrize("text", ["0000001g", "000000zz0012", "nonsense", "AAAAPwA", "0O1f0012"])
    def test_hex_with_a_slip_is_not_taken_for_it(self, text: str) -> None:
        with pytest.raises(HexError, match="not a hex digit"):
            parse_hex(text)


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "line", "column", "problem"),
        [
            ("", 1, 1, "no hex found"),
            (" \n\t\n", 1, 1, "no hex found"),
            ("# only a comment", 1, 1, "no hex found"),
            ("00 1g", 1, 5, "'g' is not a hex digit"),
            ("00 1f\n00 12 zz", 2, 7, "'z' is not a hex digit"),
            ("0x00, 0xq1", 1, 9, "'q' is not a hex digit"),
            ("0x00, 0x", 1, 7, "0x without digits"),
            ("00 1f 001", 1, 7, "'001' has 3 hex digits; bytes need pairs of digits"),
            ("001f001", 1, 7, "7 hex digits in all; bytes need pairs of digits"),
            ("001f\n001", 2, 3, "7 hex digits in all; bytes need pairs of digits"),
            (r"\x00\xg1", 1, 5, r"'\\xg1' is neither an escape nor a printable ASCII character"),
            (r"b'\x00", 1, 2, "the string that begins here has no closing '"),
            ("b'a' 12", 1, 6, "expected a string in quotes, found '1'"),
            ("b'é'", 1, 3, "'é' is neither an escape nor a printable ASCII character"),
            ("00000000: 0000 zz1f", 1, 16, "expected hex digits, found 'zz1f'"),
            ("00000000: 0000 01f", 1, 16, "'01f' has 3 hex digits; bytes need pairs"),
            ("00000000: 00 01\n00000002: 0203\nnonsense", 3, 1, "expected an offset as on the other lines"),
            ("00000000: 00 01\n00000002: 02 03\n00000001: 00", 3, 1, "offset 00000001 follows 00000002"),
            ("0000: 00 01 02 03\n0002: 02 03", 1, 13, "found '02', but the next offset leaves room for 2 bytes"),
            ("0000: 00010203\n0002: 02 03", 1, 15, "the line has 4 bytes, but the next offset says 2"),
            ("0000: 00 01\n*\n0005: 00", 3, 1, "offset 0005 is not a whole number of lines"),
            ("*\n0000: 00 01", 1, 1, "expected an offset"),
            ("0000:\n0000:", 1, 6, "offsets, but no bytes beside them"),
        ],
    )
    def test_names_the_place_and_what_is_wrong(self, text: str, line: int, column: int, problem: str) -> None:
        with pytest.raises(HexError) as caught:
            parse_hex(text)
        assert (caught.value.line, caught.value.column) == (line, column)
        assert caught.value.problem.startswith(problem)
        assert str(caught.value).startswith(f"line {line}, column {column}: {problem}")

    def test_a_star_cannot_ask_for_more_memory_than_a_frame_may_have(self) -> None:
        with pytest.raises(HexError, match="too many to write out"):
            parse_hex("00000000: 00 01\n*\nfffffffe: 00")

    def test_an_offset_that_leaves_its_base_is_refused(self) -> None:
        lines = [f"{index * 2:07o} 00 01" for index in range(70)] + ["0000999 00 01"]
        with pytest.raises(HexError, match="expected an offset in base 8"):
            parse_hex("\n".join(lines))

    @given(st.text(alphabet="0aFgx:#*|>< \\'\"b{}/\n,=", max_size=60) | st.text(max_size=40))
    def test_any_text_is_bytes_or_a_refusal(self, text: str) -> None:
        with contextlib.suppress(HexError):
            parse_hex(text)

    @pytest.mark.timeout(60)
    @pytest.mark.parametrize(
        "text",
        ["/*" * 50_000, "00000000: " + "00  " * 50_000, "  >" * 50_000, "{" * 50_000, "b'" * 50_000, "0x" * 50_000],
        ids=lambda text: text[:12],
    )
    def test_no_text_takes_long(self, text: str) -> None:
        with contextlib.suppress(HexError):
            parse_hex(text)


class TestProperties:
    @given(st.binary(min_size=1), st.sampled_from(["", " ", ":", ", ", "-", "\n"]))
    def test_reads_digits_with_any_separator(self, data: bytes, separator: str) -> None:
        assert parse_hex(separator.join(f"{byte:02x}" for byte in data)) == data

    @given(st.binary(min_size=1), st.sampled_from([8, 16, 24]), st.sampled_from([1, 2, 4]))
    def test_reads_what_a_dump_prints(self, data: bytes, width: int, group: int) -> None:
        lines = []
        for start in range(0, len(data), width):
            row = data[start : start + width]
            groups = " ".join(row[at : at + group].hex() for at in range(0, len(row), group))
            text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
            lines.append(f"{start:08x}: {groups:<{width * 3}}  {text}")
        assert parse_hex("\n".join(lines)) == data


class TestRawOrHex:
    @pytest.mark.parametrize(
        "data",
        [b"001f0012", b"\xef\xbb\xbf001f0012", "00 1f 00 12\r\n".encode("utf-16"), b"00000000: 001f 0012  ....\n"],
    )
    def test_text_is_read_as_hex(self, data: bytes) -> None:
        assert raw_or_hex(data).data == SHORT

    @pytest.mark.parametrize("data", [SHORT, FRAME, b"\xff\xfe\x00", b"abc\x00", b"\x00", b"\xff\xff\xff\xff"])
    def test_binary_is_taken_as_it_is(self, data: bytes) -> None:
        assert raw_or_hex(data).data is data

    @pytest.mark.parametrize("data", [b"", b"hello", b'{"a": 1}'])
    def test_other_text_is_refused(self, data: bytes) -> None:
        with pytest.raises(HexError):
            raw_or_hex(data)
