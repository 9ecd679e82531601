"""The extras of the package: the libraries that only some parts need, and the error for a missing one.

Rules:
- The core needs none of them. A module that needs one imports it as usual.
- The public packages and the command line turn the failed import into a MissingExtraError. It contains the command that
  installs the extra.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kafkawire.exceptions import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXTRAS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("numpy", "pyarrow"), "arrow"),
    **dict.fromkeys(("cramjam", "fastcrc", "isal", "lz4", "zstandard"), "codecs"),
    **dict.fromkeys(("py4j", "pyspark"), "spark"),
    **dict.fromkeys(("fastavro", "jsonschema", "protobuf"), "values"),
    "cryptography": "security",
    "rich": "terminal",
    **dict.fromkeys(("starlette", "uvicorn"), "ui"),
    "uvloop": "server",
}
"""The extra that installs a library."""
_MODULES: Final[Mapping[str, str]] = {"google": "protobuf", "referencing": "jsonschema"}
"""The library that has a module of another name."""


def missing_extra(error: ImportError, user: str) -> MissingExtraError | None:
    """The error for `user`, which could not import a library of an extra; None if the library belongs to no extra.

    >>> str(missing_extra(ModuleNotFoundError(name="pyarrow.compute"), "read_captures"))
    "read_captures needs the library pyarrow, which is not installed: pip install 'kafkawire[arrow]'"
    """
    library = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    library = _MODULES.get(library, library)
    if library not in EXTRAS:
        return None
    words = f"{user} needs the library {library}, which is not installed: pip install 'kafkawire[{EXTRAS[library]}]'"
    return MissingExtraError(words, name=error.name)


@contextmanager
def naming_extras(user: str) -> Iterator[None]:
    """Raise a MissingExtraError if an import within the block fails for want of an extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        found = missing_extra(error, user)
        if found is None:
            raise
        raise found from error
