"""`kafkawire topics`: list, describe, create, grow and delete topics, and show their offsets.

Rules:
- Topics are named as `topic_names` describes. Internal topics are included with --internal.
- A change prints one line that says what was done; with --json, one object per topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import add_client_options, client_config, pair
from kafkawire.cli._support.numbers import positive
from kafkawire.cli._support.topic_names import find_topics, is_pattern, split_names
from kafkawire.messages import uuid_text

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
        ("list", "list the topics", "*"),
        ("describe", "show partitions, leaders and replicas", "*"),
        ("create", "create topics", "+"),
        ("grow", "add partitions to topics", "+"),
        ("delete", "delete topics with all their records", "+"),
        ("offsets", "show the first and the next offset of each partition", "+"),
    ):
        verb = verbs.add_parser(name, help=words, description=words)
        verb.add_argument("topics", nargs=names, metavar="TOPIC")
        if name in ("list", "describe"):
            verb.add_argument("--internal", action="store_true", help="include Kafka's internal topics")
        if name == "describe":
            which = verb.add_mutually_exclusive_group()
            which.add_argument(
                "--under-replicated", action="store_true", help="show only partitions with missing replicas"
            )
            which.add_argument("--unavailable", action="store_true", help="show only partitions without a leader")
        if name in ("create", "grow"):
            verb.add_argument(
                "-p",
                "--partitions",
                type=positive,
                default=-1,
                required=name == "grow",
                help="total number of partitions",
            )
        if name == "create":
            verb.add_argument("-r", "--replication-factor", type=positive, default=-1, help="number of replicas")
            verb.add_argument(
                "-c",
                dest="configs",
                action="append",
                default=[],
                metavar="NAME=VALUE",
                help="topic config; can be repeated",
            )
            verb.add_argument("--dry-run", action="store_true", help="only validate the request")
            verb.add_argument("--if-not-exists", action="store_true", help="do not fail if the topic exists")
        if name == "delete":
            verb.add_argument("--if-exists", action="store_true", help="do not fail if the topic does not exist")
        output.add_json_option(verb)
        add_client_options(verb)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client.blocking import Admin

    with Admin(client_config(args)) as admin:
        if args.verb == "list":
            found = find_topics(admin, args.topics, internal=args.internal)
            rows = [(each.name, len(each.partitions), _replicas(each), uuid_text(each.id)) for each in found]
            output.print_rows(("topic", "partitions", "replicas", "id"), rows, as_json=args.json)
        elif args.verb == "describe":
            found = find_topics(admin, args.topics, internal=args.internal)
            columns = ("topic", "partition", "leader", "epoch", "replicas", "isr", "offline")
            output.print_rows(columns, _partitions(found, args), as_json=args.json)
        elif args.verb == "offsets":
            _print_offsets(admin, find_topics(admin, args.topics), as_json=args.json)
        elif args.verb == "create":
            _create(admin, args)
        elif args.verb == "grow":
            grown = [each.name for each in find_topics(admin, args.topics)]
            admin.create_partitions(dict.fromkeys(grown, args.partitions))
            _say(f"grown to {args.partitions} partitions", grown, args)
        else:
            _delete(admin, args)
    return 0


def _delete(admin: Admin, args: argparse.Namespace) -> None:
    names = split_names(args.topics)
    if args.if_exists or any(map(is_pattern, names)):
        names = [each.name for each in find_topics(admin, names, may_miss=args.if_exists)]
    if names:
        admin.delete_topics(names)
    _say("deleted", names, args)


def _create(admin: Admin, args: argparse.Namespace) -> None:
    from kafkawire.client import NewTopic

    configs: dict[str, str | None] = dict(pair(text, "-c") for text in args.configs)
    names = split_names(args.topics)
    if args.if_not_exists:
        there = admin.list_topics(internal=True)
        names = [each for each in names if each not in there]
    made = [
        NewTopic(
            name=name,
            num_partitions=args.partitions,
            replication_factor=args.replication_factor,
            topic_configs=configs,
        )
        for name in names
    ]
    if made:
        admin.create_topics(made, validate_only=args.dry_run)
    _say("valid, not created (--dry-run)" if args.dry_run else "created", names, args)


def _say(done: str, names: list[str], args: argparse.Namespace) -> None:
    """Print what was done, in one line; or one object per topic."""
    if args.json:
        output.print_json({"topic": name, "done": done} for name in names)
    else:
        print(f"{done}: {', '.join(names)}" if names else f"nothing {done}")


def _replicas(topic: TopicInfo) -> int:
    return max((len(each.replicas) for each in topic.partitions.values()), default=0)


def _partitions(topics: Iterable[TopicInfo], args: argparse.Namespace) -> list[tuple[Any, ...]]:
    return [
        (
            *(topic.name, each.partition, each.leader, each.leader_epoch),
            *(list(each.replicas), list(each.isr), list(each.offline)),
        )
        for topic in topics
        for each in topic.partitions.values()
        if (not args.under_replicated or len(each.isr) < len(each.replicas))
        and (not args.unavailable or each.leader < 0)
    ]


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
