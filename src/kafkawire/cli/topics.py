"""`kafkawire topics`: list, describe, create, grow and delete topics, and show where they begin and end.

Rules:
- Where topics are named that exist, a name may be a shell's pattern: no topic has `*`, `?` or `[` in its name. What a
  pattern stands for is printed before it is deleted; one that stands for nothing is an error.
- Kafka's own topics are left out unless they are named, or asked for.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any

from kafkawire.cli import output
from kafkawire.cli.clients import add_client_options, client_config, pair
from kafkawire.messages.errors import UnknownTopicOrPartitionError
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
    "kafkawire topics delete 'test-*' --if-exists",
    "kafkawire topics offsets orders --json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, words, names in (
        ("list", "the topics there are", "*"),
        ("describe", "partitions, leaders and replicas", "*"),
        ("create", "make topics", "+"),
        ("grow", "give a topic more partitions", "+"),
        ("delete", "remove topics with all their records", "+"),
        ("offsets", "the first and the next offset of each partition", "+"),
    ):
        verb = verbs.add_parser(name, help=words, description=words)
        verb.add_argument("topics", nargs=names, metavar="TOPIC")
        if name in ("list", "describe"):
            verb.add_argument("--internal", action="store_true", help="Kafka's own topics too")
        if name == "describe":
            which = verb.add_mutually_exclusive_group()
            which.add_argument("--under-replicated", action="store_true", help="only where replicas are missing")
            which.add_argument("--unavailable", action="store_true", help="only where nobody leads")
        if name in ("create", "grow"):
            verb.add_argument(
                "-p", "--partitions", type=int, default=-1, required=name == "grow", help="how many partitions in all"
            )
        if name == "create":
            verb.add_argument("-r", "--replication-factor", type=int, default=-1, help="how many replicas")
            verb.add_argument("-c", dest="configs", action="append", default=[], metavar="NAME=VALUE", help="a config")
            verb.add_argument("--dry-run", action="store_true", help="only check whether it could be done")
            verb.add_argument("--if-not-exists", action="store_true", help="leave alone what is there")
        if name == "delete":
            verb.add_argument("--if-exists", action="store_true", help="leave it be if there is none")
        output.add_json_option(verb)
        add_client_options(verb)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client.blocking import Admin

    with Admin(client_config(args)) as admin:
        if args.verb == "list":
            found = _find(admin, args.topics, internal=args.internal)
            rows = [(each.name, len(each.partitions), _replicas(each), uuid_text(each.id)) for each in found]
            output.print_rows(("topic", "partitions", "replicas", "id"), rows, as_json=args.json)
        elif args.verb == "describe":
            found = _find(admin, args.topics, internal=args.internal)
            columns = ("topic", "partition", "leader", "epoch", "replicas", "isr", "offline")
            output.print_rows(columns, _partitions(found, args), as_json=args.json)
        elif args.verb == "offsets":
            _print_offsets(admin, _find(admin, args.topics), as_json=args.json)
        elif args.verb == "create":
            _create(admin, args)
        elif args.verb == "grow":
            admin.create_partitions({each.name: args.partitions for each in _find(admin, args.topics)})
        else:
            _delete(admin, args)
    return 0


def _find(admin: Admin, names: list[str], *, internal: bool = False, may_miss: bool = False) -> list[TopicInfo]:
    """The topics that names and patterns stand for; all, if there are none."""
    if names and not may_miss and not any(map(_is_pattern, names)):
        return admin.describe_topics(names)
    there = {each.name: each for each in admin.describe_topics()}
    shown = [name for name in there if internal or not there[name].is_internal]
    found: dict[str, TopicInfo] = {}
    for name in names or ["*"]:
        fitting = [name] if name in there else fnmatch.filter(shown, name)
        if not fitting and names and not may_miss:
            raise UnknownTopicOrPartitionError(f"no topic {name!r}")
        found |= {each: there[each] for each in fitting}
    return list(found.values())


def _is_pattern(name: str) -> bool:
    return any(letter in name for letter in "*?[")


def _delete(admin: Admin, args: argparse.Namespace) -> None:
    names = args.topics
    if args.if_exists or any(map(_is_pattern, names)):
        names = [each.name for each in _find(admin, names, may_miss=args.if_exists)]
        output.print_rows(("topic",), [(name,) for name in names], as_json=args.json)
    if names:
        admin.delete_topics(names)


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
    if args.if_not_exists:
        there = admin.list_topics(internal=True)
        made = [each for each in made if each.name not in there]
    if made:
        admin.create_topics(made, validate_only=args.dry_run)


def _replicas(topic: TopicInfo) -> int:
    return max((len(each.replicas) for each in topic.partitions.values()), default=0)


def _partitions(topics: Iterable[TopicInfo], args: argparse.Namespace) -> list[tuple[Any, ...]]:
    return [
        (
            *(topic.name, each.partition, each.leader, each.leader_epoch),
            *(_listed(each.replicas), _listed(each.isr), _listed(each.offline)),
        )
        for topic in topics
        for each in topic.partitions.values()
        if (not args.under_replicated or len(each.isr) < len(each.replicas))
        and (not args.unavailable or each.leader < 0)
    ]


def _listed(nodes: tuple[int, ...]) -> str:
    return ",".join(map(str, nodes))


def _print_offsets(admin: Admin, topics: list[TopicInfo], *, as_json: bool) -> None:
    from kafkawire.client import EARLIEST, LATEST, TopicPartition

    places = [TopicPartition(topic.name, number) for topic in topics for number in topic.partitions]
    first = admin.list_offsets(dict.fromkeys(places, EARLIEST))
    last = admin.list_offsets(dict.fromkeys(places, LATEST))
    rows = []
    for place in places:
        start, end = first[place], last[place]
        rows.append((*place, start and start.offset, end and end.offset))
    output.print_rows(("topic", "partition", "earliest", "latest"), rows, as_json=as_json)
