"""The values that complete an argument: choices, names known to the cluster, settings.

Rules:
- The metavar or destination of an argument determines what its value is.
- The cluster is that of -b, -X and -F of the same line. It has `SECONDS` to answer.
- A list with commas is completed at its last name.
- Names that a line of a terminal cannot show, with control characters, are left out. At most `MOST` values are offered.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from kafkawire.cli._support.clients import add_client_options, client_config
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from kafkawire.cli._support.completion.place import Place
    from kafkawire.client import Admin, ConfigEntry

SECONDS: Final = 1.0
MOST: Final = 1000
_Answer = TypeVar("_Answer")
Values = list[tuple[str, str]]
"""Values with a description each."""


class CompletionError(KafkaWireError):
    """Values cannot be found, because the cluster does not answer in time."""


def find_values(place: Place, command: str) -> tuple[Values, bool]:
    """The values that complete the word at the cursor, and whether names of files do so too."""
    if place.options:
        return [each for each in place.options if each[0].startswith(place.prefix)], False
    found: Values = []
    files = False
    for action in place.values:
        values, wants_files = _values_of(action, place, command)
        found += values
        files |= wants_files
    shown = (each for each in found if each[0].isprintable())
    return [(place.attached + value, " ".join(words.split())) for value, words in shown][:MOST], files


def _values_of(action: argparse.Action, place: Place, command: str) -> tuple[Values, bool]:
    if isinstance(action, argparse._SubParsersAction):
        words = {each.dest: each.help or "" for each in action._choices_actions}
        return _fitting(((name, words.get(name, "")) for name in action.choices), place.prefix), False
    if action.choices is not None:
        return _fitting(((str(each), "") for each in action.choices), place.prefix), False
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if action.type is Path or any(each in metavar for each in ("FILE", "DIR", "CAPTURE", "PATH")):
        return [], True
    if metavar.startswith("TOPIC") and place.given.get("verb") == ["create"]:
        return [], False
    if metavar.startswith("TOPIC"):
        return _listed(place, lambda admin: admin.list_topics(internal=place.prefix.startswith("_"))), False
    if metavar == "GROUP" or action.dest == "group":
        return _asked(place, _groups), False
    if metavar == "TRANSACTIONAL-ID":
        return _asked(place, _transactional_ids), False
    if command == "configs" and metavar:
        return (_resources(place) if action.dest == "name" else _settings(place, metavar)), False
    if metavar == "NAME=VALUE":
        return _assignments(action, place, command), False
    if command == "errors":
        from kafkawire.messages.errors import ErrorCode

        return _fitting(((code.name, "") for code in ErrorCode), place.prefix.upper()), False
    if metavar in ("NAME|KEY", "API", "NAME"):
        from kafkawire.messages import apis

        return _fitting(((each.name, f"key {each.key}") for each in apis()), place.prefix), False
    return [], False


def _fitting(values: Iterable[tuple[str, str]], prefix: str) -> Values:
    return [each for each in values if each[0].startswith(prefix)]


def _listed(place: Place, ask: Callable[[Admin], Awaitable[list[str]]]) -> Values:
    """Names of a list with commas: those before the last stay as they are."""
    start = place.prefix.rpartition(",")[0]
    before = f"{start}," if start else ""
    given = set(start.split(","))
    names = _ask(place, ask)
    return _fitting(((before + name, "topic") for name in sorted(names) if name not in given), place.prefix)


def _asked(place: Place, ask: Callable[[Admin], Awaitable[Values]]) -> Values:
    return _fitting(sorted(_ask(place, ask)), place.prefix)


async def _groups(admin: Admin) -> Values:
    return [(each.group_id, f"{each.type} group, {each.state}") for each in await admin.list_groups()]


async def _transactional_ids(admin: Admin) -> Values:
    return [(each.transactional_id, each.state) for each in await admin.list_transactions()]


async def _brokers(admin: Admin) -> Values:
    described = await admin.describe_cluster()
    return [(str(each.id), f"{each.host}:{each.port}") for each in described.nodes]


def _resources(place: Place) -> Values:
    kind = place.given.get("kind", [""])[0]
    if kind == "topic":
        return _listed(place, lambda admin: admin.list_topics(internal=True))
    if kind == "group":
        return _asked(place, _groups)
    return _asked(place, _brokers) if kind in ("broker", "broker-logger") else []


def _settings(place: Place, metavar: str) -> Values:
    kind, name = (place.given.get(each, [""])[0] for each in ("kind", "name"))
    entries = _ask(place, lambda admin: _entries(admin, kind, name))
    if metavar == "NAME":
        own = [each for each in entries if not each.is_default]
        return _fitting(((each.name, each.value or "") for each in own), place.prefix)
    return _assigned(entries, place.prefix)


def _assignments(action: argparse.Action, place: Place, command: str) -> Values:
    if action.dest == "options":
        from dataclasses import fields

        from kafkawire.client.options import ClientOptions

        names = (each.name.replace("_", ".") for each in fields(ClientOptions) if each.name != "ssl_context")
        return _fitting(((f"{name}=", "option of the client") for name in names), place.prefix)
    if command == "topics":
        return _assigned(_ask(place, _entries_of_any_topic), place.prefix)
    if command == "serve":
        from kafkawire.broker import setting_keys

        return _fitting(((f"{each.name}=", each.doc) for each in setting_keys("broker").values()), place.prefix)
    return []


def _assigned(entries: Iterable[ConfigEntry], prefix: str) -> Values:
    """`name=` of settings that can be changed; after it, the values of a boolean, or the value that it has."""
    name, equals, _ = prefix.partition("=")
    if not equals:
        return _fitting(((f"{each.name}=", each.value or "") for each in entries if not each.is_read_only), prefix)
    found = [each.value or "" for each in entries if each.name == name]
    values = ["false", "true"] if found and found[0] in ("false", "true") else [each for each in found if each]
    return _fitting(((f"{name}={value}", "") for value in values), prefix)


async def _entries(admin: Admin, kind: str, name: str) -> list[ConfigEntry]:
    from kafkawire.client import ConfigResource, ResourceType

    resource = ConfigResource(ResourceType[kind.upper().replace("-", "_")], name)
    found = (await admin.describe_configs([resource]))[resource]
    return sorted(found.values(), key=lambda each: each.name)


async def _entries_of_any_topic(admin: Admin) -> list[ConfigEntry]:
    names = await admin.list_topics(internal=True)
    return await _entries(admin, "topic", names[0]) if names else []


def _ask(place: Place, ask: Callable[[Admin], Awaitable[_Answer]]) -> _Answer:
    from kafkawire.client import Admin

    parser = argparse.ArgumentParser()
    add_client_options(parser)
    args = parser.parse_args([])
    args.bootstrap = place.given.get("bootstrap", [args.bootstrap])[-1]
    args.options = place.given.get("options", [])
    args.options_file = place.given.get("options_file", [None])[-1]

    async def run() -> _Answer:
        async with Admin(client_config(args)) as admin:
            return await ask(admin)

    try:
        return asyncio.run(asyncio.wait_for(run(), SECONDS))
    except TimeoutError:
        raise CompletionError(f"{args.bootstrap} did not answer in {SECONDS:g} s") from None
