"""`kafkawire transactions`: list and describe transactions, find those that hang, and abort them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import add_client_options, client_config
from kafkawire.cli._support.numbers import count
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse

    from kafkawire.client import ProducerState, TopicPartition, TransactionDescription
    from kafkawire.client.blocking import Admin

HELP = "list and describe transactions and producers, find hanging transactions, abort them"
EXAMPLES = (
    "kafkawire transactions list --state Ongoing",
    "kafkawire transactions describe billing-1",
    "kafkawire transactions producers -t orders:0",
    "kafkawire transactions find-hanging",
    "kafkawire transactions abort -t orders:0 --start-offset 4711",
    "kafkawire transactions fence billing-1",
)
_LISTED: Final = ("transactional_id", "coordinator", "producer_id", "state")
_DESCRIBED: Final = (
    *("transactional_id", "coordinator", "producer_id", "producer_epoch", "state", "timeout_ms"),
    *("start_ms", "duration_ms", "partitions"),
)
_PRODUCERS: Final = (
    *("topic", "partition", "producer_id", "producer_epoch", "coordinator_epoch", "last_sequence"),
    *("last_timestamp", "start_offset"),
)
_HANGING: Final = (*_PRODUCERS, "idle_ms")
_MINUTES: Final = 15


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, words in (
        ("list", "list the transactional ids with their producers and states"),
        ("describe", "show transactional ids with their partitions and times"),
        ("producers", "show the producers that partitions remember, and their open transactions"),
        ("find-hanging", "find transactions that are open in a partition and unknown to their coordinator"),
        ("abort", "write the marker that ends a hanging transaction"),
        ("fence", "abort the transactions of ids, and refuse their producers"),
    ):
        verb = verbs.add_parser(name, help=words, description=words)
        if name == "list":
            _add_filters(verb)
        elif name in ("describe", "fence"):
            verb.add_argument("ids", nargs="+", metavar="TRANSACTIONAL-ID")
        else:
            verb.add_argument(
                "-t",
                "--topic",
                dest="topics",
                action="append",
                required=name != "find-hanging",
                metavar="TOPIC[:0,1]",
                help="a topic, or some partitions of it" + (" (default: all)" if name == "find-hanging" else ""),
            )
        if name == "find-hanging":
            verb.add_argument(
                "--max-transaction-timeout",
                dest="minutes",
                type=float,
                default=_MINUTES,
                metavar="MINUTES",
                help="skip transactions with a write in this time, because their coordinator may still end them"
                f" (default {_MINUTES}; transaction.max.timeout.ms of the broker)",
            )
        elif name == "abort":
            verb.add_argument("--start-offset", type=count, help="first offset of the transaction in the partition")
            verb.add_argument("--producer-id", type=count, help="instead of the offset, with the two epochs")
            verb.add_argument("--producer-epoch", type=count)
            verb.add_argument("--coordinator-epoch", type=int)
        if name != "abort":
            output.add_json_option(verb)
        add_client_options(verb)


def _add_filters(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--state",
        dest="states",
        action="append",
        default=[],
        help="list only ids in this state (Empty, Ongoing, PrepareCommit, ...); can be repeated",
    )
    verb.add_argument(
        "--producer-id",
        dest="producer_ids",
        type=count,
        action="append",
        default=[],
        metavar="ID",
        help="list only ids with this producer id; can be repeated",
    )
    verb.add_argument("--longer-than-ms", type=count, metavar="MS", help="list only ids open for longer than this")
    verb.add_argument("--pattern", metavar="REGEX", help="list only ids that match this regular expression (RE2)")


def run(args: argparse.Namespace) -> int:
    from kafkawire.client.blocking import Admin

    with Admin(client_config(args)) as admin:
        if args.verb == "abort":
            _abort(admin, args)
            return 0
        columns, rows = _VERBS[args.verb](admin, args)
        output.print_rows(columns, rows, as_json=args.json)
    return 0


_Table = tuple[tuple[str, ...], list[tuple[Any, ...]]]


def _list(admin: Admin, args: argparse.Namespace) -> _Table:
    found = admin.list_transactions(
        states=args.states,
        producer_ids=args.producer_ids,
        longer_than_ms=args.longer_than_ms,
        pattern=args.pattern,
    )
    return _LISTED, [(each.transactional_id, each.coordinator, each.producer_id, each.state) for each in found]


def _describe(admin: Admin, args: argparse.Namespace) -> _Table:
    return _DESCRIBED, [_described(each) for each in admin.describe_transactions(args.ids)]


def _described(found: TransactionDescription) -> tuple[Any, ...]:
    topics: dict[str, list[str]] = {}
    for place in found.partitions:
        topics.setdefault(place.topic, []).append(str(place.partition))
    duration = None if found.start_ms is None or found.state != "Ongoing" else _now() - found.start_ms
    return (
        *(found.transactional_id, found.coordinator, found.producer_id, found.producer_epoch),
        *(found.state, found.timeout_ms, found.start_ms, duration),
        " ".join(f"{topic}:{','.join(numbers)}" for topic, numbers in topics.items()),
    )


def _list_producers(admin: Admin, args: argparse.Namespace) -> _Table:
    found = admin.describe_producers(_places(admin, args.topics))
    return _PRODUCERS, [_produced(place, each) for place, states in sorted(found.items()) for each in states]


def _produced(place: TopicPartition, state: ProducerState) -> tuple[Any, ...]:
    return (
        *(*place, state.producer_id, state.producer_epoch, state.coordinator_epoch, state.last_sequence),
        *(state.last_timestamp, state.open_since),
    )


def _find_hanging(admin: Admin, args: argparse.Namespace) -> _Table:
    places = _places(admin, args.topics) if args.topics else None
    found = admin.find_hanging_transactions(places, older_than_ms=int(args.minutes * 60_000))
    now = _now()
    rows = [(*_produced(*each), now - each.producer.last_timestamp) for each in found]
    return _HANGING, rows


def _fence(admin: Admin, args: argparse.Namespace) -> _Table:
    fenced = admin.fence_producers(args.ids)
    return ("transactional_id", "producer_id", "producer_epoch"), [(name, *each) for name, each in fenced.items()]


def _abort(admin: Admin, args: argparse.Namespace) -> None:
    places = _places(admin, args.topics)
    if len(places) != 1:
        raise UsageError("-t: expected one partition, as in -t orders:0")
    given = (args.producer_id, args.producer_epoch, args.coordinator_epoch)
    if args.start_offset is not None and given == (None, None, None):
        states = admin.describe_producers(places)[places[0]]
        found = next((each for each in states if each.open_since == args.start_offset), None)
        if found is None:
            raise UsageError(f"{places[0]}: no open transaction starts at offset {args.start_offset}")
        given = found.producer_id, found.producer_epoch, found.coordinator_epoch
    elif args.start_offset is not None or None in given:
        raise UsageError("expected either --start-offset, or --producer-id, --producer-epoch and --coordinator-epoch")
    admin.abort_transaction(places[0], producer_id=given[0], producer_epoch=given[1], coordinator_epoch=given[2])


def _places(admin: Admin, topics: list[str]) -> list[TopicPartition]:
    from kafkawire.cli._support.topic_names import find_places

    return find_places(admin, topics)


def _now() -> int:
    return time.time_ns() // 1_000_000


_VERBS: Final = {
    "list": _list,
    "describe": _describe,
    "producers": _list_producers,
    "find-hanging": _find_hanging,
    "fence": _fence,
}
