"""A small Schema Registry beside our broker, with the API of Confluent's.

`RegistryServer(broker)` listens for HTTP while it is started. Subjects, versions, ids and settings are in the topic
`_schemas` of the broker, in the form of Confluent's registry. So they survive restarts with the data of the broker.
It is for tests and development: there is one node, no authentication and no TLS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire._lazy import load_when_asked

if TYPE_CHECKING:
    from kafkawire.registry._server import DEFAULT_PORT, RegistryServer

__all__ = ["DEFAULT_PORT", "RegistryServer"]

_HOMES = {"DEFAULT_PORT": "_server", "RegistryServer": "_server"}

if not TYPE_CHECKING:  # a checker that saw it would accept any name
    __getattr__ = load_when_asked(__name__, _HOMES)
