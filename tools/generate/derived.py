"""Writes the files that derive from schemas, rules and comparing tests, or checks them: `python -m tools.generate`.

Rules:
- Run from the root of a checkout. `--check` changes nothing. It fails if a file is out of date, missing or left over,
  or if a schema is not formatted. `--format` formats the schemas.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kafkawire.messages._schema_files import SCHEMAS
from tools.generate import error_names
from tools.generate.reference import render_reference, render_supported, served_versions, vector_versions
from tools.generate.rules import render_rules
from tools.generate.schema_format import format_schema
from tools.generate.spark_options import render_spark_options
from tools.generate.stubs import render_stub

if TYPE_CHECKING:
    from collections.abc import Iterator


def generated(root: Path) -> Iterator[tuple[Path, str]]:
    """Every derived file and its text."""
    yield root / "src/kafkawire/messages/__init__.pyi", render_stub()
    yield root / "src/kafkawire/messages/_error_names.py", error_names.render()
    vectors = (root / "tests/vectors/messages.tsv").read_text(encoding="utf-8").splitlines()
    yield root / "SUPPORTED.md", render_supported(vector_versions(vectors), served_versions())
    for name, text in render_reference():
        yield root / "docs/protocol" / name, text
    page = root / "docs/inspect.md"
    yield page, render_rules(page.read_text(encoding="utf-8"))
    page = root / "docs/spark-topics.md"
    yield page, render_spark_options(page.read_text(encoding="utf-8"))


def schema_files() -> list[Path]:
    return sorted([*SCHEMAS.glob("api/*.api"), *SCHEMAS.glob("data/*/*.msg")])


def problems(root: Path) -> Iterator[str]:
    """One line per file that `make generate` or `make format` would change."""
    expected = dict(generated(root))
    for path, text in expected.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            yield f"{path.relative_to(root)} is out of date: run `make generate`"
    for path in (root / "docs/protocol").rglob("*.md"):
        if path not in expected:
            yield f"{path.relative_to(root)} is left over: delete it"
    for path in schema_files():
        text = path.read_text(encoding="utf-8")
        if format_schema(text, path.relative_to(SCHEMAS).as_posix()) != text:
            yield f"{path.relative_to(SCHEMAS)} is not formatted: run `make format`"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a file would change")
    parser.add_argument("--format", action="store_true", help="format the schemas")
    options = parser.parse_args(arguments)
    root = Path.cwd()
    if options.check:
        found = list(problems(root))
        sys.stderr.writelines(f"{problem}\n" for problem in found)
        return 1 if found else 0
    if options.format:
        for path in schema_files():
            path.write_text(format_schema(path.read_text(encoding="utf-8"), path.name), encoding="utf-8")
        return 0
    for path, text in generated(root):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0
