"""Settings as they are given at start: a file, the environment, the command line.

Rules:
- Later sources override earlier ones: file, then KAFKA_* variables, then command line.
- Variables are named by the rule of Kafka's Docker image: KAFKA_ and the name in capitals, '_' for '.', '__' for '_',
  '___' for '-'. Variables of that image that are not settings are ignored.
- An unknown name logs a warning that suggests the closest known name. It is never an error, as in Kafka.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kafkawire.messages.errors import InvalidConfigError
from kafkawire.wire.properties import PropertiesError, parse_properties

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PREFIX: Final = "KAFKA_"
NO_SETTINGS: Final = frozenset(
    {"KAFKA_HEAP_OPTS", "KAFKA_OPTS", "KAFKA_JVM_PERFORMANCE_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_JMX_OPTS", "KAFKA_HOME"}
)
_UNDERSCORES: Final = re.compile("_+")
_STANDS_FOR: Final = {1: ".", 2: "_", 3: "-"}


def setting_name(variable: str) -> str:
    """The setting that a KAFKA_* variable names.

    >>> setting_name("KAFKA_NUM_PARTITIONS"), setting_name("KAFKA_A__B___C_D")
    ('num.partitions', 'a_b-c.d')
    """
    text = variable.removeprefix(PREFIX).lower()
    return _UNDERSCORES.sub(lambda found: _STANDS_FOR.get(len(found[0]), found[0]), text)


def from_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The settings in KAFKA_* variables."""
    return {
        setting_name(name): value
        for name, value in variables.items()
        if name.startswith(PREFIX) and name not in NO_SETTINGS
    }


def from_file(path: Path) -> dict[str, str]:
    """The settings in a properties file."""
    try:
        return parse_properties(path.read_text(encoding="utf-8"), str(path))
    except PropertiesError as error:
        raise InvalidConfigError(str(error)) from None


def from_pairs(pairs: list[str]) -> dict[str, str]:
    """The settings in name=value arguments.

    >>> from_pairs(["num.partitions=3"])
    {'num.partitions': '3'}
    """
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InvalidConfigError(f"expected name=value, found {pair!r}")
        found[name.strip()] = value.strip()
    return found
