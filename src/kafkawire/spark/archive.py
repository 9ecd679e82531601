"""An archive with kafkawire, its native modules and its libraries, for executors that have none: `--archives`.

`python -m kafkawire.spark.archive kafkawire.tar.gz`, then

    spark-submit --archives kafkawire.tar.gz#kafkawire --conf spark.pyspark.python=./kafkawire/bin/python job.py

Rules:
- Spark unpacks the archive beside each executor. `bin/python` in it is a script that puts the packages of the archive
  before those of the executor's own Python, and starts that Python.
- The executor needs a Python of the same version and platform as this one. The script looks for it under its name
  (python3.11) on the PATH, and at KAFKAWIRE_PYTHON.
- It contains kafkawire with the extras arrow, codecs and values, as far as they are installed here, and what they
  require. PySpark is not in it: Spark brings its own.
- `--py-files` cannot do this: Python imports no native module from a zip, and the Python form is ten times slower.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tarfile
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from kafkawire._extras import EXTRAS
from kafkawire.spark.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PACKED: Final = ("arrow", "codecs", "values")
_OURS: Final = ("kafkawire", "pyspark_kafkawire", "pyspark_kafkawire_segments", "pyspark_kafkawire_captures")
_LEFT_OUT: Final = re.compile(r"(^|/)(__pycache__|tests?|include)(/|$)|\.(c|pxd|pxi|h|a)$")
_NAME: Final = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*")
_SCRIPT: Final = """\
#!/bin/sh
# Starts the Python of this machine with the packages of this archive.
here=$(cd "$(dirname "$0")/.." && pwd)
PYTHONPATH="$here/lib${{PYTHONPATH:+:$PYTHONPATH}}"
export PYTHONPATH
exec "${{KAFKAWIRE_PYTHON:-{python}}}" "$@"
"""


def write_archive(file: Path) -> list[str]:
    """Write the archive; returns the names of the packages in it.

    >>> write_archive(Path("kafkawire.tar.gz"))  # doctest: +SKIP
    ['kafkawire', 'cramjam', ...]
    """
    names = list(_distributions())
    draft = file.with_name(f"{file.name}.new")
    with tarfile.open(draft, "w:gz", compresslevel=6) as archive:
        _add_text(archive, "bin/python", _SCRIPT.format(python=f"python{sys.version_info[0]}.{sys.version_info[1]}"))
        for module in _OURS:
            spec = find_spec(module)
            if spec is None or spec.origin is None or not Path(spec.origin).is_file():
                raise SessionError(f"{module} is not a directory with files here, so it cannot be packed")
            for path, name in _files_below(Path(spec.origin).parent):
                archive.add(path, f"lib/{module}/{name}")
        for each in names:
            for found in distribution(each).files or ():
                path = Path(str(found.locate()))
                inside = PurePosixPath(found.as_posix())
                if ".." not in inside.parts and path.is_file() and not _LEFT_OUT.search(str(inside)):
                    archive.add(path, f"lib/{inside}")
    draft.replace(file)
    return ["kafkawire", *names]


def _files_below(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not _LEFT_OUT.search(name):
            yield path, name


def _distributions() -> Iterator[str]:
    """The installed libraries of the packed extras, and the libraries that they require."""
    waiting = [library for library, extra in EXTRAS.items() if extra in PACKED]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop(0)
        plain = re.sub(r"[-_.]+", "-", name).lower()
        if plain in seen:
            continue
        seen.add(plain)
        try:
            required = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        yield name
        for requirement in required:
            found = _NAME.match(requirement)
            if found and "extra ==" not in requirement:
                waiting.append(found[0])


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode()
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), 0o755
    archive.addfile(entry, io.BytesIO(data))


def main(arguments: Sequence[str]) -> int:
    """Write the archive that the arguments name."""
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m kafkawire.spark.archive", description=about)
    parser.add_argument("file", type=Path, help="the archive to write, such as kafkawire.tar.gz")
    file = parser.parse_args(arguments).file
    names = write_archive(file)
    sys.stdout.write(f"{file}: {file.stat().st_size >> 20} MiB, {len(names)} packages\n")
    sys.stdout.write(
        f"use: spark-submit --archives {file}#kafkawire --conf spark.pyspark.python=./kafkawire/bin/python ...\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
