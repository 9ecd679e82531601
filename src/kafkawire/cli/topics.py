"""`kafkawire topics`: list, describe, create, grow and delete topics, and show where they begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire.cli import output
from kafkawire.cli.clients import add_client_options, client_config, pair
from kafkawire.messages.uuids import uuid_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from kafkawire.client import TopicInfo
    from kafkawire.client.blocking import Admin

HELP = "list, describe, create, grow and delete topics"
EXAMPLES = (
    "kafkawire topics list",
    "kafkawire topics create orders -p 3 -c retention.ms=86400000",
    "kafkawire topics describe orders",
    "kafkawire topics offsets orders --json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, words, names in (
        ("list", "the topics there are", None),
        ("describe", "partitions, leaders and replicas", "*"),
        ("create", "make topics", "+"),
        ("grow", "give a topic more partitions", "+"),
        ("delete", "remove topics with all their records", "+"),
        ("offsets", "the first and the next offset of each partition", "+"),
    ):
        verb = verbs.add_parser(name, help=words, description=words)
        if names is not None:
            verb.add_argument("topics", nargs=names, metavar="TOPIC")
        if name == "list":
            verb.add_argument("--internal", action="store_true", help="Kafka's own topics too")
        if name in ("create", "grow"):
            verb.add_argument(
                "-p", "--partitions", type=int, default=-1, required=name == "grow", help="how many partitions in all"
            )
        if name == "create":
            verb.add_argument("-r", "--replication-factor", type=int, default=-1, help="how many replicas")
            verb.add_argument("-c", dest="configs", action="append", default=[], metavar="NAME=VALUE", help="a config")
            verb.add_argument("--dry-run", action="store_true", help="only check whether it could be done")
        output.add_json_option(verb)
        add_client_options(verb)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client.blocking import Admin

    with Admin(client_config(args)) as admin:
        if args.verb == "list":
            rows = _summaries(admin.describe_topics(), internal=args.internal)
            output.print_rows(("topic", "partitions", "replicas", "id"), rows, as_json=args.json)
        elif args.verb == "describe":
            found = admin.describe_topics(args.topics or None)
            columns = ("topic", "partition", "leader", "epoch", "replicas", "isr", "offline")
            output.print_rows(columns, _partitions(found), as_json=args.json)
        elif args.verb == "offsets":
            _print_offsets(admin, args.topics, as_json=args.json)
        elif args.verb == "create":
            _create(admin, args)
        elif args.verb == "grow":
            admin.create_partitions(dict.fromkeys(args.topics, args.partitions))
        else:
            admin.delete_topics(args.topics)
    return 0


def _create(admin: Admin, args: argparse.Namespace) -> None:
    from kafkawire.client import NewTopic

    configs: dict[str, str | None] = dict(pair(text, "-c") for text in args.configs)
    made = [
        NewTopic(
            name=name,
            num_partitions=args.partitions,
            replication_factor=args.replication_factor,
            topic_configs=configs,
        )
        for name in args.topics
    ]
    admin.create_topics(made, validate_only=args.dry_run)


def _summaries(topics: Iterable[TopicInfo], *, internal: bool) -> list[tuple[Any, ...]]:
    return [
        (topic.name, len(topic.partitions), _replicas(topic), uuid_text(topic.id))
        for topic in topics
        if internal or not topic.is_internal
    ]


def _replicas(topic: TopicInfo) -> int:
    return max((len(each.replicas) for each in topic.partitions.values()), default=0)


def _partitions(topics: Iterable[TopicInfo]) -> list[tuple[Any, ...]]:
    return [
        (
            *(topic.name, each.partition, each.leader, each.leader_epoch),
            *(_listed(each.replicas), _listed(each.isr), _listed(each.offline)),
        )
        for topic in topics
        for each in topic.partitions.values()
    ]


def _listed(nodes: tuple[int, ...]) -> str:
    return ",".join(map(str, nodes))


def _print_offsets(admin: Admin, topics: list[str], *, as_json: bool) -> None:
    from kafkawire.client import EARLIEST, LATEST, TopicPartition

    places = [
        TopicPartition(topic.name, number) for topic in admin.describe_topics(topics) for number in topic.partitions
    ]
    first = admin.list_offsets(dict.fromkeys(places, EARLIEST))
    last = admin.list_offsets(dict.fromkeys(places, LATEST))
    rows = []
    for place in places:
        start, end = first[place], last[place]
        rows.append((*place, start and start.offset, end and end.offset))
    output.print_rows(("topic", "partition", "earliest", "latest"), rows, as_json=as_json)
