"""Private modules stay private where import-linter does not look: in examples, and where modules are loaded by name."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tools.contracts import is_breach

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
LOADERS = {"load", "import_module"}
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
MODULES = sorted(SOURCES.rglob("*.py"))


def imports(source: str) -> Iterator[str]:
    """Every module that a file may import, and every name that it takes out of one."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{each.name}" for each in names)


def loads(source: str) -> Iterator[str]:
    """Every module that a file loads by its name."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=arguments) if called in LOADERS:
                values = (each.value for each in arguments if isinstance(each, ast.Constant))
                yield from (value for value in values if isinstance(value, str))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.name))
def test_examples_import_public_modules_only(path: Path) -> None:
    found = imports(path.read_text(encoding="utf-8"))
    assert [name for name in found if name.startswith("kafkawire") and is_breach("examples", name)] == []


def test_modules_loaded_by_name_are_the_packages_own() -> None:
    found = [
        (name_of(path), loaded)
        for path in MODULES
        for loaded in loads(path.read_text(encoding="utf-8"))
        if loaded.startswith("kafkawire.")
    ]
    assert len(found) >= 8
    assert [pair for pair in found if is_breach(*pair)] == []


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
