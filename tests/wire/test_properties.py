"""Properties files as Java's `Properties.load` reads them."""

from __future__ import annotations

import pytest

from kafkawire.wire.properties import PropertiesError, parse_properties


@pytest.mark.parametrize(("text", "expected"), [
    ("a=1\nb=2", {"a": "1", "b": "2"}),
    ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
    ("  a =  1  \n\t\n  # b=2\n! c=3", {"a": "1"}),
    ("a: 1\nb 2\nc\t=\t3", {"a": "1", "b": "2", "c": "3"}),
    ("a=b=c:d", {"a": "b=c:d"}),
    ("a=\nb=", {"a": "", "b": ""}),
    ("a=1\na=2", {"a": "2"}),
    ("a=one \\\n    two", {"a": "one two"}),
    ("a=one\\\\\nb=2", {"a": "one\\", "b": "2"}),
    ("a=one\\\n# two", {"a": "one# two"}),
    ("a=one\\", {"a": "one"}),
    ("a\\=b=1\na\\ c=2", {"a=b": "1", "a c": "2"}),
    ("a=\\u00e9\\u0041\\t.\\n.\\q", {"a": "éA\t.\n.q"}),
    ('x=password="a\\\\"b\\\\\\\\";', {"x": 'password="a\\"b\\\\";'}),
    ("path=C\\:\\\\keys", {"path": "C:\\keys"}),
    ("", {}),
])  # fmt: skip
def test_a_file_is_read_as_by_java(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text, "file") == expected


def test_a_line_without_a_value_is_an_error_that_does_not_show_it() -> None:
    with pytest.raises(PropertiesError, match=r"^file, line 3: expected name=value") as refused:
        parse_properties("a=1\n\nMIIEvSECRET", "file")
    assert "SECRET" not in str(refused.value)
