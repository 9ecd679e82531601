"""The choice between the two forms of a hot loop: compiled, or its Python twin.

Rules:
- A twin pair is a compiled module and a Python module with the same public functions.
- KAFKAWIRE_IMPL=python|compiled chooses. If it is unset, the compiled form is used if it was built, else Python.
- TWINS names every pair, because an installed package has no sources of native modules to look for.
- If KAFKAWIRE_IMPL=compiled and the module cannot be imported, the error names it and the cause.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zipimport import zipimporter

from kafkawire._extras import missing_extra
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from types import ModuleType

VARIABLE = "KAFKAWIRE_IMPL"
TWINS: Final = (
    "kafkawire._codec._engine",
    "kafkawire.client._produce._filling",
    "kafkawire.inspect._capture._cut_files",
    "kafkawire.inspect._capture._walk",
    "kafkawire.inspect._tables._bodies",
    "kafkawire.inspect._tables._json_lines",
    "kafkawire.inspect._tables._partition_columns",
    "kafkawire.records._kernel._consumer_records",
    "kafkawire.records._kernel._decode",
    "kafkawire.records._kernel._decompression",
    "kafkawire.records._kernel._encode",
    "kafkawire.records._kernel._kernel",
    "kafkawire.records._kernel._payload",
)
"""The compiled module of every pair, built or not."""


class ImplementationError(KafkaWireError, ImportError):
    """The form that KAFKAWIRE_IMPL requires is not installed."""


def load(compiled: str, python: str) -> ModuleType:
    """Import one module of a twin pair, by KAFKAWIRE_IMPL.

    >>> load("kafkawire.no_such_module", "kafkawire.exceptions").__name__
    'kafkawire.exceptions'
    """
    wish = os.environ.get(VARIABLE, "")
    if wish not in ("", "python", "compiled"):
        raise ImplementationError(f"{VARIABLE}={wish}: expected 'python' or 'compiled'")
    if wish != "python":
        try:
            return import_module(compiled)
        except ImportError as error:
            if wish == "compiled" and missing_extra(error, compiled) is None:
                raise ImplementationError(
                    f"{VARIABLE}=compiled, but {compiled} cannot be imported ({error}). "
                    "Install a C compiler and reinstall with KAFKAWIRE_BUILD=compiled to see why it does not build."
                ) from error
    return import_module(python)


def describe() -> str:
    """The active form as text for people: compiled, or Python and the reason."""
    if os.environ.get(VARIABLE) == "python":
        return f"python, slower, as {VARIABLE} asks"
    if isinstance(globals().get("__loader__"), zipimporter):
        return (
            f"python, slower: {Path(__file__).parents[1].name} is a zip, and Python imports no native module from one"
        )
    missing = [name for name in TWINS if find_spec(name) is None]
    if not missing:
        return "compiled"
    if len(missing) == len(TWINS):
        return "python, slower: the native modules were not built; with a C compiler, install again"
    return f"compiled, but slower in Python: {', '.join(missing)}"
