"""The rules of the front end, and that the check finds what breaks them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from tools.frontend import STATIC, faults

if TYPE_CHECKING:
    from pathlib import Path


def test_the_front_end_keeps_its_rules() -> None:
    assert list(faults()) == []


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("app/x.js", "element.innerHTML = name;", "innerHTML"),
        ("app/x.js", "eval(name)", "eval("),
        ("app/x.js", "\n" * 301, "301 lines"),
        ("app/x.js", "a" * 180_001, "expected at most 180000"),
        ("app/x.css", "@import url(//fonts.example.com/a.css)", "another host"),
        ("vendor/extra.js", "", "not in vendored.json"),
        ("vendor/preact-htm.js", "changed", "SHA-256"),
    ],
)
def test_what_breaks_a_rule_is_found(tmp_path: Path, file: str, text: str, words: str) -> None:
    copy = tmp_path / "static"
    shutil.copytree(STATIC, copy)
    (copy / file).write_text(text)
    assert any(words in each for each in faults(copy))
