"""The examples in the docstrings of the layer run and hold."""

from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

from kafkawire import records

pytestmark = pytest.mark.twin


@pytest.mark.parametrize("name", [module.name for module in iter_modules(records.__path__) if module.name[0] != "_"])
def test_examples(name: str) -> None:
    assert doctest.testmod(import_module(f"kafkawire.records.{name}")).failed == 0
