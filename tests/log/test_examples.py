"""The examples in the log's documentation run."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import kafkawire.log

MODULES = sorted(path.stem for path in Path(kafkawire.log.__file__).parent.glob("[a-z]*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(import_module(f"kafkawire.log.{name}")).failed == 0
