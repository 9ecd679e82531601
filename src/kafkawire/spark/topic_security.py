"""From `kafka.*` options to the client's: the prefix taken off, what is refused refused, Java's logins understood.

Rules:
- `kafka.sasl.jaas.config` is understood for the plain and SCRAM logins, which is what it is mostly used for; the user
  and password in it become the client's own options.
- Where servers are is the one option that must be there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX: Final = "kafka."
_JAAS: Final = re.compile(
    r"\s*[\w.]*(?:PlainLoginModule|ScramLoginModule)\s+required\s+(?P<pairs>(?:\w+\s*=\s*\"[^\"]*\"\s*)+);?\s*"
)
_PAIR: Final = re.compile(r"(\w+)\s*=\s*\"([^\"]*)\"")


def client_config(given: Mapping[str, str], refused: Mapping[str, str]) -> dict[str, str]:
    """The client's options out of Spark's.

    >>> client_config({"kafka.bootstrap.servers": "k:9092", "subscribe": "t"}, {})
    {'bootstrap.servers': 'k:9092'}
    """
    config = {}
    for key, value in given.items():
        name = key.lower()
        if not name.startswith(_PREFIX):
            continue
        name = name.removeprefix(_PREFIX)
        if name in refused:
            raise SourceOptionError(f"kafka.{name} cannot be set: {refused[name]}")
        if name == "sasl.jaas.config":
            config.update(_login(value))
        else:
            config[name] = value
    if not config.get("bootstrap.servers", "").strip():
        raise SourceOptionError("kafka.bootstrap.servers is missing, expected host:port with commas between several")
    return config


def _login(text: str) -> dict[str, str]:
    """User and password of a JAAS line; the text itself is a secret and in no error."""
    match = _JAAS.fullmatch(text)
    pairs = dict(_PAIR.findall(match["pairs"])) if match else {}
    if not {"username", "password"} <= pairs.keys():
        raise SourceOptionError(
            "kafka.sasl.jaas.config: expected PlainLoginModule or ScramLoginModule with a username and a password,"
            " which are also the options kafka.sasl.username and kafka.sasl.password"
        )
    return {"sasl.username": pairs["username"], "sasl.password": pairs["password"]}
