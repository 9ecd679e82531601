"""Kafka's generated classes in a process of Java, and the same work by ours."""

from __future__ import annotations

import io
import json
import shutil
import struct
import subprocess
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
from tests.interop.apache_kafka import HEAP
from tests.interop.definitions.jars import BUILD, HERE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.interop.definitions.jars import Jars

_HEAD: Final = struct.Struct(">hh?i")
_SIZE: Final = struct.Struct(">i")
_RESULT: Final = struct.Struct(">?i")


class Refused(str):
    """The text of an exception."""

    __slots__ = ()


Outcome = bytes | Refused


class Answer(NamedTuple):
    """The results for one sample: `json` and `from_json` are empty for a class without a converter."""

    encoded: Outcome
    json: Outcome
    from_json: Outcome
    other_version: Outcome


class KafkaCodec:
    """One process with the classes of some jars."""

    def __init__(self, jars: Jars, log: Path) -> None:
        for program in ("java", "javac"):
            if shutil.which(program) is None:
                pytest.fail(f"Kafka's classes run in Java; not on the PATH: {program} (a JDK, 17 or newer)")
        self.jars = jars
        classes, source = BUILD / f"{jars.folder.name}-classes", HERE / "java" / "Codec.java"
        command = ["javac", "-d", str(classes), "-cp", f"{jars.folder}/*", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        self._log = log
        command = ["java", *HEAP, "-cp", f"{classes}:{jars.folder}/*", "Codec"]
        with log.open("wb") as errors:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout

    def convert(
        self, name: str, version: int, other: int, samples: Sequence[tuple[bytes, dict[str, Any]]]
    ) -> list[Answer]:
        """The results of Kafka's class for samples of one version, as bytes and as JSON."""
        self._ask(self.jars.classes[name])
        request = io.BytesIO()
        request.write(_HEAD.pack(version, other, name in self.jars.converters, len(samples)))
        for data, obj in samples:
            text = json.dumps(obj).encode()
            request.write(_SIZE.pack(len(data)) + data + _SIZE.pack(len(text)) + text)
        self._in.write(request.getvalue())
        self._in.flush()
        return [Answer(*(self._result() for _ in Answer._fields)) for _ in samples]

    def errors(self) -> list[dict[str, Any]]:
        """All error codes of Kafka."""
        self._ask("errors")
        self._in.flush()
        rows: list[dict[str, Any]] = json.loads(self._result())
        return rows

    def close(self) -> None:
        self._in.close()
        try:
            self._process.wait(20)
        finally:
            self._process.kill()
            self._process.wait()
            self._out.close()

    def _ask(self, name: str) -> None:
        self._in.write(struct.pack(">H", len(name)) + name.encode())

    def _result(self) -> Outcome:
        is_refused, size = _RESULT.unpack(self._read(_RESULT.size))
        data = self._read(size)
        return Refused(data.decode(errors="replace")) if is_refused else data

    def _read(self, size: int) -> bytes:
        data = self._out.read(size)
        assert len(data) == size, f"the process ended: {self._log.read_text()[-2000:]}"
        return data
