"""The installed files are those of the tree."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "kafkawire"
MADE = {".c", ".so", ".pyd", ".pyc"}
NATIVE_SOURCES = {".pyx", ".pxd", ".pxi", ".h"}


def test_every_file_that_is_not_python_is_named_as_data_of_the_package() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    named = {path for pattern in settings["package-data"]["kafkawire"] for path in SOURCE.glob(pattern)}
    there = {path for path in SOURCE.rglob("*") if path.is_file() and path.suffix not in {*MADE, ".py"}}
    assert {path for path in there - named if path.suffix not in NATIVE_SOURCES} == set()


def test_sources_of_native_modules_are_in_the_source_distribution_but_not_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert {f"*{suffix}" for suffix in NATIVE_SOURCES} <= set(settings["exclude-package-data"]["*"])
    sources = (ROOT / "MANIFEST.in").read_text().split()
    assert {f"*{suffix}" for suffix in NATIVE_SOURCES} <= set(sources)
