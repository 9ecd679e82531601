"""Which form of a hot loop is in use: the compiled one, or its Python twin.

Rules:
- A twin pair is a compiled module and a Python module with the same public functions.
- KAFKAWIRE_IMPL=python|compiled chooses; unset means compiled where it was built, else Python.
- A demand for the compiled form that cannot be met is an error that says what was tried.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from types import ModuleType

VARIABLE = "KAFKAWIRE_IMPL"
_failures: dict[str, str] = {}


class ImplementationError(KafkaWireError, ImportError):
    """The form asked for by KAFKAWIRE_IMPL is not there."""


def load(compiled: str, python: str) -> ModuleType:
    """Import one module of a twin pair, as the environment asks.

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
            _failures[compiled] = str(error)
            if wish == "compiled":
                raise ImplementationError(
                    f"{VARIABLE}=compiled, but {compiled} cannot be imported ({error}). "
                    "Install a C compiler and reinstall with KAFKAWIRE_BUILD=compiled to see why it does not build."
                ) from error
    return import_module(python)


def describe() -> str:
    """Say which form of each twin is in use, for people: 'compiled', or 'python' and why."""
    forms = {"codec": ("kafkawire.codec._engine", "kafkawire.codec.engine")}
    forms["records"] = ("kafkawire.records._kernel", "kafkawire.records.kernel")
    parts = []
    for name, (compiled, python) in forms.items():
        form = "compiled" if load(compiled, python).__name__ == compiled else "python"
        reason = f", {_failures[compiled]}" if form == "python" and compiled in _failures else ""
        slower = " (slower" + reason + ")" if form == "python" else ""
        parts.append(f"{name} {form}{slower}")
    return ", ".join(parts)
