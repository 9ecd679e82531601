"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import kafkawire

pytestmark = pytest.mark.twin

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(kafkawire.__path__, "kafkawire.")
    if not module.name.rpartition(".")[2].startswith("_") and not module.name.startswith("kafkawire.spark.")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name: str) -> None:
    found = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert found.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for name in MODULES for test in finder.find(import_module(name)) if test.examples]
    assert len(examples) > 40
