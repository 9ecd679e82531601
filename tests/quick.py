"""The inner loop: the tests of what changed, within a time budget. `make quick`, or `python -m tests.quick`.

Rules:
- Changed files are those of the working tree and of the commits since `main`; without any, the codec and wire tests
  run.
- The tests of a changed module run first, then those of its folder, then those that take seconds each: on Spark, of
  examples, with kills. A changed test runs itself.
- No test starts after BUDGET seconds. A run that was cut short says how many tests it left out.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import chain
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT: Final = Path(__file__).parents[1]
BUDGET: Final = 20.0
LAST: Final = ("tests/examples/", "tests/packaging/test_wheel", "tests/torture/", "tests/crash/", "tests/demo/")
"""Single tests there take seconds: one that starts just before the end would take the run far past it."""
WITHOUT_CHANGES: Final = ("tests/codec", "tests/wire")
BY_NAME: Final = {
    "pyproject.toml": "tests/packaging",
    "setup.py": "tests/packaging",
    "CHANGELOG.md": "tests/packaging",
    "README.md": "tests/test_examples.py",
    "Makefile": "tests/test_quick.py",
    "mkdocs.yml": "tests/test_pages.py",
}
BY_FOLDER: Final = {
    "schemas": "tests/messages",
    "tools": "tests/messages",
    "docs": "tests/test_pages.py",
    "examples": "tests/examples",
}


def changed_files() -> list[str]:
    """Paths that differ from `main`, or from the last commit where there is no such branch."""
    base = _git("merge-base", "HEAD", "main") or ["HEAD"]
    return sorted({*_git("diff", "--name-only", base[0]), *_git("ls-files", "--others", "--exclude-standard")})


def chosen_tests(changed: Iterable[str], root: Path = ROOT) -> list[str]:
    """The tests of changed files: the nearest first, each once.

    >>> chosen_tests(["src/kafkawire/log/storage/files.py"])
    ['tests/log/test_files.py', 'tests/log']
    """
    near: dict[str, None] = {}
    far: dict[str, None] = {}
    for path in map(PurePosixPath, changed):
        for test in _nearest(path, root):
            near.setdefault(test)
        folder = _folder(path)
        if folder and (root / folder).exists():
            far.setdefault(folder)
    return list(near | far)


def _nearest(path: PurePosixPath, root: Path) -> Iterator[str]:
    if path.parts[:1] == ("tests",) and path.name.startswith("test_") and (root / path).exists():
        yield str(path)
    elif path.parts[:2] == ("src", "kafkawire"):
        layer = path.parts[2].lstrip("_") if len(path.parts) > 3 else ""
        for test in sorted((root / "tests" / layer).rglob(f"test_{path.stem.lstrip('_')}.py")):
            yield test.relative_to(root).as_posix()


def _folder(path: PurePosixPath) -> str | None:
    first, *rest = path.parts
    if first in BY_FOLDER:
        return BY_FOLDER[first]
    if first == "tests" and rest and not path.name.startswith("test_"):
        return str(path.parent) if len(rest) > 1 else None
    if path.parts[:2] == ("src", "kafkawire"):
        if "schemas" in path.parts:
            return BY_FOLDER["schemas"]
        return f"tests/{path.parts[2].lstrip('_')}" if len(path.parts) > 3 else "tests/test_implementation.py"
    return BY_NAME.get(path.name) if len(path.parts) == 1 else None


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, text=True, capture_output=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


class Budget:
    """Stops a run of pytest when its time is over."""

    def __init__(self, seconds: float, first: Sequence[str] = ()) -> None:
        self._seconds = seconds
        self._first = tuple(path for path in first if path.endswith(".py"))
        self._ends = monotonic() + seconds
        self._left = 0
        self.is_over = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        from tests.conftest import ON_SPARK  # here, because pytest rewrites the package before it is imported

        slow = (*chain(*ON_SPARK.values()), *LAST)
        items.sort(key=lambda item: (item.nodeid.startswith(slow), not item.nodeid.startswith(self._first)))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._left = len(session.items)

    def pytest_runtest_logfinish(self) -> None:
        self._left -= 1

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if nextitem is not None and monotonic() > self._ends:
            self.is_over = item.session.testsfailed == 0
            item.session.shouldstop = f"{self._seconds:g} s are over, {self._left - 1} tests were left out: `make test`"


def main() -> int:
    chosen = chosen_tests(changed_files()) or list(WITHOUT_CHANGES)
    sys.stdout.write(f"quick: {' '.join(chosen)}\n")
    sys.stdout.flush()
    budget = Budget(BUDGET, chosen)
    code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", *chosen], plugins=[budget])
    return 0 if code == pytest.ExitCode.INTERRUPTED and budget.is_over else code


if __name__ == "__main__":
    sys.exit(main())
