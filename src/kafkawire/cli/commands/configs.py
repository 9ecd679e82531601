"""`kafkawire configs`: show and change the configs of topics, brokers, groups and client metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import add_client_options, client_config, pair

if TYPE_CHECKING:
    import argparse

HELP = "show and change the configs of topics, brokers, groups and client metrics"
EXAMPLES = (
    "kafkawire configs describe topic orders",
    "kafkawire configs set topic orders retention.ms=3600000",
    "kafkawire configs unset topic orders retention.ms",
    "kafkawire configs describe broker 0 --all --json",
    "kafkawire configs set client-metrics lag metrics=org.apache.kafka.consumer. interval.ms=10000",
    "kafkawire configs list client-metrics",
)
_LIST = "list the resources that have configs, all of them or those of one kind"
_KINDS = ("topic", "broker", "broker-logger", "client-metrics", "group")


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    listing = verbs.add_parser("list", help=_LIST, description=_LIST)
    listing.add_argument("kind", nargs="?", choices=_KINDS, metavar="KIND", help=f"one of {', '.join(_KINDS)}")
    output.add_json_option(listing)
    add_client_options(listing)
    for name, words in (
        ("describe", "show the configs that are set, or all"),
        ("set", "set configs; others do not change"),
        ("unset", "reset configs to their defaults"),
    ):
        verb = verbs.add_parser(name, help=words, description=words)
        verb.add_argument("kind", choices=_KINDS, metavar="KIND", help=", ".join(_KINDS))
        verb.add_argument(
            "name",
            metavar="NAME",
            help="the name of the topic, group or subscription, or the id of the broker (empty for all brokers)",
        )
        if name == "describe":
            verb.add_argument("-a", "--all", action="store_true", help="show configs with default values too")
        elif name == "set":
            verb.add_argument("changes", nargs="+", metavar="NAME=VALUE")
        else:
            verb.add_argument("changes", nargs="+", metavar="NAME")
        output.add_json_option(verb)
        add_client_options(verb)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client import ConfigResource, ResourceType
    from kafkawire.client.blocking import Admin

    if args.verb == "list":
        return _list(args)
    resource = ConfigResource(ResourceType[args.kind.upper().replace("-", "_")], args.name)
    changes: dict[str, str | None] = {}
    if args.verb == "set":
        changes = dict(pair(text, "configs set") for text in args.changes)
    elif args.verb == "unset":
        changes = dict.fromkeys(args.changes)
    with Admin(client_config(args)) as admin:
        if changes:
            admin.alter_configs(resource, changes)
            return 0
        entries = admin.describe_configs([resource])[resource]
    rows = [
        (entry.name, entry.value, entry.source.name.lower(), entry.is_read_only)
        for entry in sorted(entries.values(), key=lambda each: each.name)
        if args.all or not entry.is_default
    ]
    output.print_rows(("name", "value", "source", "read_only"), rows, as_json=args.json)
    return 0


def _list(args: argparse.Namespace) -> int:
    from kafkawire.client import ResourceType
    from kafkawire.client.blocking import Admin

    kinds = [] if args.kind is None else [ResourceType[args.kind.upper().replace("-", "_")]]
    with Admin(client_config(args)) as admin:
        found = admin.list_config_resources(kinds)
    rows = [(resource.type.name.lower().replace("_", "-"), resource.name) for resource in found]
    output.print_rows(("kind", "name"), sorted(rows), as_json=args.json)
    return 0
