"""The installed files are those of the tree."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "kafkawire"
MADE = {".c", ".so", ".pyd", ".pyc"}


def test_every_file_that_is_not_python_is_named_as_data_of_the_package() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    named = {path for pattern in settings["package-data"]["kafkawire"] for path in SOURCE.glob(pattern)}
    there = {path for path in SOURCE.rglob("*") if path.is_file() and path.suffix not in {*MADE, ".py"}}
    assert there - named == set()
