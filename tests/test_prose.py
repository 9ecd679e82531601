"""The check of our prose finds each kind of fault, and only those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tools.prose import LONGEST, faults_of

if TYPE_CHECKING:
    from pathlib import Path

FAULTY = {
    "What may succeed later is sent again.": "relative clause",
    "Who waits is woken.": "relative clause",
    "The client is told of it.": "'told'",
    "A setting of the topic goes before that of the broker.": "'goes before'",
    "Indexes are made anew after a crash.": "'anew'",
    "This file is no capture.": "'is no'",
    "The reader returns a row a record.": "say per",
    "Nobody reads the file.": "the role",
    "The broker hands out producer ids.": "returns, assigns, sends",
    "word " * (LONGEST + 1): "words: split it",
}
SOUND = (
    "What is a batch?",
    "There is no socket below this layer, and the record is no longer read.",
    "The reader returns one row per record.",
    "`What` is a name here.",
)


@pytest.mark.parametrize(("sentence", "reason"), FAULTY.items())
def test_faults_are_found_in_pages_docstrings_comments_and_messages(tmp_path: Path, sentence: str, reason: str) -> None:
    page, module = tmp_path / "page.md", tmp_path / "module.py"
    page.write_text(f"# What is here\n\n- {sentence}\n", encoding="utf-8")
    module.write_text(f'"""{sentence}"""\n\n# {sentence}\nx = "{sentence}"\n', encoding="utf-8")
    assert [(fault.line, reason in fault.reason) for fault in faults_of(page)] == [(3, True)]
    assert sorted((fault.line, reason in fault.reason) for fault in faults_of(module)) == [
        (1, True),
        (3, True),
        (4, True),
    ]


@pytest.mark.parametrize("sentence", SOUND)
def test_sound_sentences_and_code_pass(tmp_path: Path, sentence: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{sentence}\n\n```\n{next(iter(FAULTY))}\n```\n", encoding="utf-8")
    assert list(faults_of(page)) == []
