"""The part of rich in `kafkawire._rich` is whole: every module that it imports at once is there."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kafkawire

FOLDER = Path(kafkawire.__file__).with_name("_rich")
MODULES = sorted(path for path in FOLDER.rglob("*.py") if "windows" not in path.name and "win32" not in path.name)
LEFT_OUT = {"_inspect", "json", "rule", "scope", "status", "traceback"}
"""Imported by functions that kafkawire does not call: rules, status lines, tracebacks, JSON for people."""


def test_modules_need_no_other_library() -> None:
    parts = [("kafkawire", *path.relative_to(FOLDER.parent).with_suffix("").parts) for path in MODULES]
    names = [".".join(each).removesuffix(".__init__") for each in parts]
    program = f"""
import importlib, sys
sys.path = [each for each in sys.path if not each.endswith("site-packages")]
sys.path.insert(0, {str(FOLDER.parents[1])!r})
for name in {names!r}:
    importlib.import_module(name)
print([name for name in ("rich", "pygments", "markdown_it") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_functions_import_only_modules_that_are_there_or_known_to_be_left_out() -> None:
    imported: set[str] = set()
    for path in MODULES:
        tree = ast.parse(path.read_text("utf-8"))
        scripts = [
            node
            for node in tree.body
            if (isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)) or "TYPE_CHECKING" in ast.dump(node)
        ]
        skipped = {id(inner) for node in scripts for inner in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and id(node) not in skipped:
                module = node.module or ""
                if module.startswith("kafkawire._rich."):
                    imported.add(module.split(".")[2])
                elif node.level and path.parent == FOLDER:
                    imported.add(module.partition(".")[0])
    there = {path.stem for path in FOLDER.iterdir()}
    assert imported - there - {""} == LEFT_OUT


@pytest.mark.parametrize("version", ["", "9.0.0", "99", "x"])
def test_widths_of_characters_are_known_for_every_version_of_unicode(version: str) -> None:
    program = "from kafkawire._rich.cells import cell_len; print(cell_len('日本'))"
    environment = {**os.environ, "UNICODE_VERSION": version}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "4\n"
