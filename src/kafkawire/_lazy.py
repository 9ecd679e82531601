"""Public names that are loaded on first use, so that a program imports only the modules that it needs.

Rules:
- A package maps each name to its module: "module", or "module:name" if the name differs there.
- A name whose module needs an extra that is not installed raises a MissingExtraError.
- Type checkers must not see the result, because they would accept any name.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from kafkawire._extras import naming_extras

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def load_when_asked(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A package's `__getattr__`.

    >>> load_when_asked("kafkawire.records", {"from_arrow": "arrow"})("from_arrow").__module__
    'kafkawire.records.arrow'
    """

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, called = home.partition(":")
        with naming_extras(f"{package}.{name}"):
            found: object = getattr(import_module(f"{package}.{module}"), called or name)
        setattr(sys.modules[package], name, found)
        return found

    return load
