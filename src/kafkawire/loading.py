"""Public names that are loaded when they are first asked for, so that a program pays only for what it uses.

Rules:
- A package says in which of its modules each name lives: "module", or "module:name" where the name differs there.
- Checkers must not see the result: they would take any name for one of the package's.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def load_when_asked(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A package's `__getattr__`.

    >>> load_when_asked("kafkawire.records", {"from_arrow": "rows"})("from_arrow").__module__
    'kafkawire.records.rows'
    """

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, called = home.partition(":")
        found: object = getattr(import_module(f"{package}.{module}"), called or name)
        setattr(sys.modules[package], name, found)
        return found

    return load
