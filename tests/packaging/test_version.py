"""The version is written in one place, and everything else derives from it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import kafkawire

ROOT = Path(__file__).parents[2]


def test_pyproject_takes_the_version_from_the_package() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" not in settings["project"]
    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "kafkawire.__version__"}


def test_the_changelog_has_this_version_as_its_latest() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    released = [heading.split()[0] for heading in headings if heading != "Unreleased"]
    assert released[0] == kafkawire.__version__
