"""Parse the options of data sources over files.

Rules:
- Spark passes keys in any case. An unknown option raises an error.
- The properties that a catalogue table adds to the options are ignored.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A catalogue table passes its own properties with the options.
_OF_SPARK: Final = re.compile(r"path|paths|owner|provider|comment|location|external|is_managed_location|option\..*")
_UNITS: Final = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def known_options(given: Mapping[str, str], names: Sequence[str], source: str) -> dict[str, str]:
    """The options with keys in lower case; raises if the format does not have one of them."""
    options = {key.lower(): value for key, value in given.items()}
    known = {name.lower() for name in names}
    unknown = sorted(key for key in options if key not in known and not _OF_SPARK.fullmatch(key))
    if unknown:
        raise SourceOptionError(f"{source} has no option {', '.join(unknown)}; it has {', '.join(names)}")
    return options


def paths_of(options: Mapping[str, str], source: str, example: str) -> tuple[str, ...]:
    """The path or paths of `load`."""
    if "paths" in options:
        try:
            paths = tuple(json.loads(options["paths"]))
        except (ValueError, TypeError):
            paths = ()
        if not paths or not all(isinstance(path, str) for path in paths):
            raise SourceOptionError(f"paths is {options['paths']!r}, expected a JSON list of paths")
        return paths
    if not options.get("path"):
        raise SourceOptionError(f'{source} needs a path, as in .load("{example}")')
    return (options["path"],)


def choice(name: str, value: str, choices: Sequence[str]) -> str:
    """One of some words."""
    if value not in choices:
        raise SourceOptionError(f"{name} is {value!r}, expected {', '.join(choices)}")
    return value


def flag(name: str, value: str) -> bool:
    """True or false."""
    return choice(name, value.lower(), ("true", "false")) == "true"


def size(name: str, value: str) -> int:
    """A number of at least 1, optionally with a unit.

    >>> size("maxPartitionBytes", "64m")
    67108864
    """
    match = re.fullmatch(r"(\d{1,18})\s*([kmg]?)b?", value.strip().lower())
    number = int(match[1]) * _UNITS[match[2]] if match else 0
    if not number:
        raise SourceOptionError(f"{name} is {value!r}, expected a number of at least 1, such as 67108864 or 64m")
    return number
