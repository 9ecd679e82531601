"""Programs of Apache Kafka's other modules: Streams, Connect, MirrorMaker, and transactional Java programs.

Rules:
- The jars are fetched once, into build/interop/programs, and again only when the pom or a release has changed.
- A program is a process of its own, which tests kill. Its output is in a file that failures quote.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.interop.drivers import CLIENT_JARS
from tests.interop.maven import BUILD, fetch_jars
from tests.interop.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

HERE: Final = Path(__file__).parent
CLIENTS_POM: Final = HERE.parent / "clients_pom.xml"
JARS: Final = BUILD / "programs"
CLASSES: Final = BUILD / "programs-java"
HEAP: Final = ("-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


def compile_programs() -> None:
    """Fetch the jars and compile the Java sources beside this module, unless both are up to date."""
    fetch_jars(HERE / "pom.xml", JARS, "Kafka Streams and Kafka Connect")
    sources = sorted((HERE / "java").glob("*.java"))
    made = CLASSES / "WordCount.class"
    if made.exists() and made.stat().st_mtime > max(source.stat().st_mtime for source in sources):
        return
    command = ["javac", "-d", str(CLASSES), "-cp", f"{JARS}/*", *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def newest_clients() -> Path:
    """The jars of the newest clients, which are newer than those of the other modules."""
    fetch_jars(CLIENTS_POM, CLIENT_JARS, "Apache Kafka's clients")
    return CLIENT_JARS


class Program:
    """One running class with a main method, from the jars of the programs or from others."""

    def __init__(self, main: str, arguments: Iterable[str], log: Path, jars: Path = JARS) -> None:
        self._log = log
        command = ["java", *HEAP, "-cp", f"{CLASSES}:{jars}/*", main, *arguments]
        with log.open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def output(self) -> str:
        return self._log.read_text()

    def await_output(self, text: str, seconds: float = 90) -> None:
        """Wait until the program has written a text."""

        def found() -> bool:
            assert self._process.poll() is None, f"the program ended: {self.output[-3000:]}"
            return text in self.output

        until(found, seconds)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGTERM, and wait."""
        self._process.terminate()
        self._process.wait(60)
