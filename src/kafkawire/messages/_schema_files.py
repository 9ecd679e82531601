"""The directory of the schemas: beside the modules, or extracted from the archive that the modules are imported from.

Rules:
- `spark-submit --py-files` puts an archive on the path of a worker. The extracted files are removed when the process
  ends.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

_PACKAGE: Final = Path(__file__).parent.parent
_taken_out: list[TemporaryDirectory[str]] = []


def find_schemas(package: Path = _PACKAGE) -> Path:
    """The directory of the schemas that belong to a package."""
    folder = package / "schemas"
    if folder.is_dir():
        return folder
    archive = next((path for path in package.parents if path.is_file()), None)
    return folder if archive is None else _take_out(archive, folder.relative_to(archive).as_posix())


def _take_out(archive: Path, folder: str) -> Path:
    from tempfile import TemporaryDirectory  # most processes need neither of these
    from zipfile import ZipFile

    place = TemporaryDirectory(prefix="kafkawire-schemas-")
    _taken_out.append(place)
    with ZipFile(archive) as packed:
        packed.extractall(place.name, [name for name in packed.namelist() if name.startswith(f"{folder}/")])
    return Path(place.name) / folder


SCHEMAS: Final = find_schemas()
