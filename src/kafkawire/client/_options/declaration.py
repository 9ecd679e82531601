"""How an option is declared: a field of a dataclass, with further names and a least value.

Rules:
- The name of the field is the Python keyword; with dots for underscores it is Kafka's name.
- A secret is left out of every `repr`, and errors do not contain its value.
"""

from __future__ import annotations

from dataclasses import Field, field, fields
from typing import Any, Final

ALSO: Final = "also"
LEAST: Final = "least"


def option(default: Any, *also: str, secret: bool = False, least: int | None = 0) -> Any:
    """Declare an option with these further names."""
    return field(default=default, metadata={ALSO: also, LEAST: least}, repr=not secret)


def names_of(kind: type) -> dict[str, str]:
    """The field of each name that an option of a kind of client has."""
    names = {}
    for each in fields(kind):
        for name in (each.name, each.name.replace("_", "."), *each.metadata.get(ALSO, ())):
            names[name] = each.name
    return names


def is_secret(declared: Field[Any]) -> bool:
    """Whether no text may contain the value of a field."""
    return not declared.repr
