"""Every example in a docstring or on a page runs and prints what it says."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest
import tools.generate

import kafkawire
from kafkawire._native import TWINS

pytestmark = pytest.mark.twin

LEFT_OUT = ("kafkawire.spark.", "kafkawire.__main__", "tools.generate.__main__", *TWINS)
MODULES = sorted(
    module.name
    for package in (kafkawire, tools.generate)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.startswith(LEFT_OUT)
)
PAGES = sorted(page for page in (Path(__file__).parents[1] / "docs").rglob("*.md") if ">>> " in page.read_text())


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name: str) -> None:
    found = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert found.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_on_pages_hold(page: Path) -> None:
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted > 0
    assert found.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for name in MODULES for test in finder.find(import_module(name)) if test.examples]
    assert len(examples) > 40
