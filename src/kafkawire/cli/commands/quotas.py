"""`kafkawire quotas`: list, set and remove quotas of users, client ids and addresses.

Rules:
- An entity is named by `--user`, `--client-id` or both, or by `--ip`; `--user-default` and the like name the default.
- `set` takes KEY=VALUE, `remove` takes keys. Other quotas of the entity stay.
- `list` without an entity lists all. With one it lists the entities that have exactly these types and names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import add_client_options, client_config
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse

HELP = "list, set and remove quotas of clients"
EXAMPLES = (
    "kafkawire quotas list",
    "kafkawire quotas set --user alice producer_byte_rate=1048576",
    "kafkawire quotas set --user-default --client-id app request_percentage=50",
    "kafkawire quotas set --ip-default connection_creation_rate=10",
    "kafkawire quotas remove --user alice producer_byte_rate",
)
_TYPES = ("user", "client-id", "ip")
_COLUMNS = ("entity", "key", "value")


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, words, values in (
        ("list", "list the quotas of the named entity, or all", ""),
        ("set", "set quotas of an entity", "KEY=VALUE"),
        ("remove", "remove quotas of an entity", "KEY"),
    ):
        verb = verbs.add_parser(name, help=words, description=words)
        for kind in _TYPES:
            group = verb.add_mutually_exclusive_group()
            group.add_argument(f"--{kind}", metavar="NAME", help=f"the {kind} of this name")
            group.add_argument(
                f"--{kind}-default", action="store_true", help=f"every {kind} without a quota of its own"
            )
        if values:
            verb.add_argument("values", nargs="+", metavar=values)
        output.add_json_option(verb)
        add_client_options(verb)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client import quota_entity_text
    from kafkawire.client.blocking import Admin

    entity = _entity(args)
    if args.verb != "list":
        if not entity:
            raise UsageError(f"quotas {args.verb}: name an entity, such as --user alice")
        values = _values(args)
        with Admin(client_config(args)) as admin:
            admin.alter_client_quotas([(entity, values)])
        return 0
    with Admin(client_config(args)) as admin:
        found = admin.describe_client_quotas(entity, strict=bool(entity))
    rows = [
        (quota_entity_text(each.entity), key, f"{value:g}" if value < 1e6 else f"{value:.0f}")
        for each in found
        for key, value in each.values.items()
    ]
    output.print_rows(_COLUMNS, rows, as_json=args.json)
    return 0


def _entity(args: argparse.Namespace) -> dict[str, str | None]:
    entity: dict[str, str | None] = {}
    for kind in _TYPES:
        attribute = kind.replace("-", "_")
        if getattr(args, f"{attribute}_default"):
            entity[kind] = None
        elif getattr(args, attribute) is not None:
            entity[kind] = getattr(args, attribute)
    return entity


def _values(args: argparse.Namespace) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for each in args.values:
        key, equals, text = each.partition("=")
        if args.verb == "remove":
            if equals:
                raise UsageError(f"quotas remove: expected a key, found {each!r}")
            values[key] = None
            continue
        try:
            values[key] = float(text)
        except ValueError:
            raise UsageError(f"quotas set: expected KEY=NUMBER, found {each!r}") from None
    return values
