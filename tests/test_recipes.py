"""The outputs on the page "Debugging Kafka by hand" are those of its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.recipes import PAGE, steps, surroundings

if TYPE_CHECKING:
    import pytest


def test_every_command_prints_what_the_page_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    found = list(steps(PAGE.read_text(encoding="utf-8")))
    assert len(found) > 15
    with surroundings() as run:
        for step in found:
            assert run(step.command) == step.output, step.command
