"""`kafkawire configs`: show and change the configs of topics, brokers, groups and client metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import add_client_options, client_config, pair
from kafkawire.cli._support.topic_names import find_topics, is_pattern, split_names

if TYPE_CHECKING:
    import argparse

    from kafkawire.client.blocking import Admin

HELP = "show and change the configs of topics, brokers, groups and client metrics"
EXAMPLES = (
    "kafkawire configs describe topic orders",
    "kafkawire configs set topic orders retention.ms=3600000",
    "kafkawire configs unset topic 'orders,test-*' retention.ms",
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
            help="topic, list of topics with commas or pattern; group, subscription, or id of a broker (empty for all)",
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
    kind = ResourceType[args.kind.upper().replace("-", "_")]
    changes: dict[str, str | None] = {}
    if args.verb == "set":
        changes = dict(pair(text, "configs set") for text in args.changes)
    elif args.verb == "unset":
        changes = dict.fromkeys(args.changes)
    with Admin(client_config(args)) as admin:
        names = _topics(admin, args.name) if kind is ResourceType.TOPIC else [args.name]
        resources = [ConfigResource(kind, name) for name in names]
        if changes:
            for resource in resources:
                admin.alter_configs(resource, changes)
            return 0
        found = admin.describe_configs(resources)
    rows = [
        (resource.name, entry.name, entry.value, entry.source.name.lower(), entry.is_read_only)
        for resource in resources
        for entry in sorted(found[resource].values(), key=lambda each: each.name)
        if args.all or not entry.is_default
    ]
    columns = (args.kind, "name", "value", "source", "read_only")
    several = int(len(resources) == 1)  # the name of the only resource is not repeated in each row
    output.print_rows(columns[several:], (row[several:] for row in rows), as_json=args.json)
    return 0


def _topics(admin: Admin, text: str) -> list[str]:
    """The topics of a name, a list or a pattern; the broker itself refuses a name without a topic."""
    if not any(is_pattern(name) for name in split_names([text])):
        return split_names([text])
    return [topic.name for topic in find_topics(admin, [text])]


def _list(args: argparse.Namespace) -> int:
    from kafkawire.client import ResourceType
    from kafkawire.client.blocking import Admin

    kinds = [] if args.kind is None else [ResourceType[args.kind.upper().replace("-", "_")]]
    with Admin(client_config(args)) as admin:
        found = admin.list_config_resources(kinds)
    rows = [(resource.type.name.lower().replace("_", "-"), resource.name) for resource in found]
    output.print_rows(("kind", "name"), sorted(rows), as_json=args.json)
    return 0
