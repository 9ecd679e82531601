"""The form of the hot loops that runs, and how it is reported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from kafkawire import _native as implementation


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_every_native_module_has_its_python_twin_beside_it() -> None:
    assert "kafkawire._codec._engine" in implementation.TWINS
    for name in implementation.TWINS:
        package, _, module = name.rpartition(".")
        assert find_spec(f"{package}.{module.removeprefix('_')}") is not None


def test_every_native_source_is_named() -> None:
    package = Path(implementation.__file__).parent
    sources = (path.relative_to(package.parent).with_suffix("") for path in package.rglob("_*.pyx"))
    assert sorted(".".join(path.parts) for path in sources) == sorted(implementation.TWINS)


def test_an_installed_package_without_native_modules_says_so(tmp_path: Path) -> None:
    left_out = shutil.ignore_patterns("*.pyx", "*.pxd", "*.pxi", "*.h", "*.c", "*.so", "*.pyd", "__pycache__")
    shutil.copytree(Path(implementation.__file__).parent, tmp_path / "kafkawire", ignore=left_out)
    told = run("from kafkawire.cli.main import main; main(['--version'])", PYTHONPATH=str(tmp_path))
    assert "(python, slower: the native modules were not built; with a C compiler, install again)" in told.stdout


def test_the_python_form_is_had_by_asking() -> None:
    done = run("import kafkawire._codec as c; print(c.engine.__name__)", KAFKAWIRE_IMPL="python")
    assert done.stdout == "kafkawire._codec.engine\n"
    told = run("from kafkawire._native import describe; print(describe())", KAFKAWIRE_IMPL="python")
    assert told.stdout == "python, slower, as KAFKAWIRE_IMPL asks\n"


def test_a_form_that_does_not_exist_is_refused_by_name() -> None:
    done = run("import kafkawire._codec", KAFKAWIRE_IMPL="rust")
    assert "KAFKAWIRE_IMPL=rust: expected 'python' or 'compiled'" in done.stderr


def test_a_demand_for_a_module_that_was_not_built_says_how_to_build_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKAWIRE_IMPL", "compiled")
    with pytest.raises(implementation.ImplementationError, match="KAFKAWIRE_BUILD=compiled"):
        implementation.load("kafkawire._absent", "kafkawire.exceptions")


def test_a_package_in_a_zip_says_that_its_native_modules_are_not_used(tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "kafkawire"), "zip", Path(implementation.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {archive!r}); from kafkawire.cli.main import main; main(['--version'])"
    told = run(code, PYTHONPATH=archive)
    assert "(python, slower: kafkawire.zip is a zip, and Python imports no native module from one)" in told.stdout
