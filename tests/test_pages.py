"""The pages of the documentation name what exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src" / "kafkawire"
DESIGN: Final = sorted((ROOT / "docs" / "design").glob("*.md"))
DEVELOPERS: Final = [*DESIGN, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
DEFINED: Final = re.compile(r"(?:^|\s)(?:def|class) (\w+)|^\s*(?:self\.)?(\w+)\s*(?::[^=\n]+)?=", re.MULTILINE)
CODE: Final = re.compile(r"`([^`\n]+)`")
MODULE: Final = re.compile(r"[\w/-]+/?\w+\.py")
NAME: Final = re.compile(r"[A-Z]\w*[a-z]\w*(?:\.\w+)?|[a-z]+(?:_[a-z]+)+")
# Names of settings, modes and files that are not Python's.
NOT_OURS: Final = {"read_committed", "pyspark_kafkawire", "build_ext", "my_command", "kafka_broker"}


@pytest.fixture(scope="module")
def names() -> set[str]:
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for groups in DEFINED.findall(path.read_text("utf-8")):
            found.update(groups)
    return found


@pytest.mark.parametrize("page", DEVELOPERS, ids=lambda page: page.stem)
def test_every_module_on_a_page_exists(page: Path) -> None:
    modules = {code for code in CODE.findall(page.read_text("utf-8")) if MODULE.fullmatch(code) and "/" in code}
    assert [name for name in sorted(modules) if not (SOURCE / name).exists() and not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", DESIGN, ids=lambda page: page.stem)
def test_every_name_on_a_design_page_is_defined(page: Path, names: set[str]) -> None:
    written = {code for code in CODE.findall(page.read_text("utf-8")) if NAME.fullmatch(code)} - NOT_OURS
    unknown = [name for name in sorted(written) if not set(name.split(".")) <= names]
    assert unknown == []


def test_the_journeys_name_something() -> None:
    for page in DESIGN:
        if page.stem == "index":
            continue
        assert len(CODE.findall(page.read_text("utf-8"))) > 5


def test_every_page_has_a_place_on_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if page not in site and not page.startswith("protocol/api/")] == []


def test_every_example_is_on_the_page_of_examples() -> None:
    page = (ROOT / "docs" / "guides" / "examples.md").read_text("utf-8")
    programs = [path.name for path in (ROOT / "examples").iterdir() if not path.name.startswith(("_", "."))]
    assert [name for name in programs if f"`{name}" not in page] == []
