"""The jars with Kafka's message definitions and the classes generated from them.

Rules:
- `clients` and `modules` have the newest releases, each with the classes that its own release needs. `removed` has the
  versions that they no longer have.
- A definition is a JSON file in its jar. Kafka's parser allows comments and trailing commas in it.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

from tests.interop.maven import fetch_jars

HERE: Final = Path(__file__).parent
BUILD: Final = HERE.parents[2] / "build" / "interop" / "definitions"
_TEXT: Final = r'"(?:\\.|[^"\\])*"'
_COMMENT: Final = re.compile(rf"({_TEXT})|//[^\n]*|/\*[\s\S]*?\*/")
_TRAILING_COMMA: Final = re.compile(rf"({_TEXT})|,(?=\s*[\]}}])")
_DEFINITION: Final = re.compile(r"(^|/)(message|metadata)/\w+\.json$")
_CONVERTER: Final = "JsonConverter"


class Jars:
    """The jars of one pom: definitions and class names by message, without those of the jars that only support them."""

    def __init__(self, name: str, *, support: str = "") -> None:
        self.folder = BUILD / name
        fetch_jars(HERE / f"{name}_pom.xml", self.folder, f"Kafka's message definitions ({name})")
        self.definitions: dict[str, dict[str, Any]] = {}
        self.classes: dict[str, str] = {}
        self.converters: set[str] = set()
        for jar in sorted(self.folder.glob("kafka-*.jar")):
            if not support or not jar.name.startswith(support):
                self._read(jar)

    def _read(self, jar: Path) -> None:
        with ZipFile(jar) as packed:
            names = packed.namelist()
            found = [parse_definition(packed.read(name).decode()) for name in names if _DEFINITION.search(name)]
        compiled = {name.removesuffix(".class").replace("/", ".") for name in names if name.endswith(".class")}
        for definition in found:
            name = definition["name"]
            assert name not in self.definitions, f"{jar.name}: {name} is also in another jar of {self.folder}"
            self.definitions[name] = definition
            simple = name + ("Data" if definition["type"] in ("request", "response", "header") else "")
            of_name = sorted(each for each in compiled if each.endswith(f".{simple}"))
            with_converter = [each for each in of_name if each + _CONVERTER in compiled]
            if of_name:
                self.classes[name] = (with_converter or of_name)[0]
            if with_converter:
                self.converters.add(name)


@cache
def clients() -> Jars:
    """The newest release of kafka-clients."""
    return Jars("clients")


@cache
def modules() -> Jars:
    """The newest release of the server's modules."""
    return Jars("modules", support="kafka-clients")


@cache
def removed() -> Jars:
    """Releases with messages and versions that the newest ones do not have."""
    return Jars("removed")


@cache
def newest_definitions() -> dict[str, dict[str, Any]]:
    """All definitions of the newest releases."""
    assert not clients().definitions.keys() & modules().definitions.keys()
    return {**clients().definitions, **modules().definitions}


def parse_definition(text: str) -> dict[str, Any]:
    """A definition as Kafka's generator reads it.

    >>> parse_definition('{"name": "//x", // not JSON' + chr(10) + '"fields": [],}')
    {'name': '//x', 'fields': []}
    """
    for pattern in (_COMMENT, _TRAILING_COMMA):
        text = pattern.sub(lambda found: found[1] or "", text)
    found: dict[str, Any] = json.loads(text)
    return found
