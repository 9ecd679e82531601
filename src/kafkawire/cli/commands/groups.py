"""`kafkawire groups`: list and describe groups, reset their offsets, delete them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import add_client_options, client_config
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from kafkawire.client import GroupDescription, GroupMember, StreamsTasks, TopicPartition
    from kafkawire.client.blocking import Admin

HELP = "list and describe groups of all types with their lag, reset their offsets, delete them"
EXAMPLES = (
    "kafkawire groups list",
    "kafkawire groups describe billing",
    "kafkawire groups describe --members",
    "kafkawire groups reset billing -t orders --to earliest",
    "kafkawire groups reset billing -t orders:0,1 --to @-2h --execute",
    "kafkawire groups reset workers --type share -t orders --to earliest --execute",
    "kafkawire groups forget billing -t orders",
    "kafkawire groups delete billing",
)
_LAG = ("topic", "partition", "committed", "end", "lag", "member", "client", "host")
_MEMBERS = ("group", "state", "type", "member", "instance", "client", "host", "epoch", "assignment", "target", "tasks")
_STATE = ("group", "state", "type", "protocol", "strategy", "coordinator", "members", "epoch", "assignment-epoch")


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, words, names in (
        ("list", "list the groups", None),
        ("describe", "show committed offsets, lag, and the members that own the partitions", "*"),
        ("reset", "show new offsets of a group that has no members, and set them with --execute", 1),
        ("forget", "delete the offsets of a group for topics that it does not read now", 1),
        ("delete", "delete groups that have no members", "+"),
    ):
        verb = verbs.add_parser(name, help=words, description=words)
        if names is not None:
            verb.add_argument("groups", nargs=names, metavar="GROUP")
        if name == "list":
            verb.add_argument(
                "--state",
                dest="states",
                action="append",
                default=[],
                help="list only groups in this state; can be repeated",
            )
            verb.add_argument(
                "--type",
                dest="types",
                action="append",
                default=[],
                help="list only groups of this type: classic, consumer, share or streams; can be repeated",
            )
        elif name == "describe":
            which = verb.add_mutually_exclusive_group()
            which.add_argument("--members", action="store_true", help="show the members and their partitions")
            which.add_argument(
                "--state", action="store_true", help="show one line per group, with its state and coordinator"
            )
        elif name in ("reset", "forget"):
            verb.add_argument(
                "-t",
                "--topic",
                dest="topics",
                action="append",
                required=name == "forget",
                metavar="TOPIC[:0,1]",
                help="a topic, a list with commas, a pattern, or some partitions of a topic; can be repeated"
                + (" (default: all topics with offsets)" if name == "reset" else ""),
            )
            verb.add_argument(
                "--type",
                choices=("consumer", "share"),
                help="the kind of offsets (default: that of the group; of a group that does not exist, consumer)",
            )
        if name == "reset":
            where = verb.add_mutually_exclusive_group(required=True)
            where.add_argument(
                "--to",
                metavar="PLACE",
                help="earliest, latest, current, an offset, +N, -N, or @TIME (@2026-01-31T12:00, @12:30, @-2h, @MS)",
            )
            where.add_argument("--from-file", type=Path, metavar="FILE", help="file with lines topic,partition,offset")
            how = verb.add_mutually_exclusive_group()
            how.add_argument("--execute", action="store_true", help="set the offsets (default: only print the plan)")
            how.add_argument("--dry-run", action="store_true", help="only print the plan, as by default")
        output.add_json_option(verb)
        add_client_options(verb)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client.blocking import Admin

    with Admin(client_config(args)) as admin:
        if args.verb == "list":
            listed = admin.list_groups(states=args.states, types=args.types)
            rows = [(each.group_id, each.state, each.type, each.protocol_type) for each in listed]
            output.print_rows(("group", "state", "type", "protocol"), rows, as_json=args.json)
        elif args.verb == "describe":
            _print_described(admin, args)
        elif args.verb == "reset":
            _reset(admin, args)
        elif args.verb == "forget":
            _forget(admin, args)
        else:
            admin.delete_groups(args.groups)
    return 0


def _print_described(admin: Admin, args: argparse.Namespace) -> None:
    names = args.groups or [each.group_id for each in admin.list_groups()]
    described = admin.describe_groups(names)
    if args.members:
        rows = [row for group in described for row in _members(group)]
        output.print_rows(_MEMBERS, rows, as_json=args.json)
    elif args.state:
        rows = [
            (
                each.group_id,
                each.state,
                each.type,
                each.protocol_type,
                each.strategy,
                each.coordinator,
                len(each.members),
                each.epoch,
                each.assignment_epoch,
            )
            for each in described
        ]
        output.print_rows(_STATE, rows, as_json=args.json)
    else:
        rows = [row for group in described for row in _lag(admin, group)]
        output.print_rows(("group", "state", "type", *_LAG), rows, as_json=args.json)


def _members(group: GroupDescription) -> list[tuple[Any, ...]]:
    return [
        (
            *(group.group_id, group.state, group.type, each.member_id, each.group_instance_id),
            *(each.client_id, each.client_host, each.epoch, _listed(each.assignment)),
            None if each.target is None else _listed(each.target),
            None if each.tasks is None else _listed_tasks(each.tasks),
        )
        for each in group.members
    ]


def _listed_tasks(tasks: StreamsTasks) -> str:
    """The tasks of a member of a streams group; those of a standby or a warm-up have a word before them."""
    kinds = {"": tasks.active, "standby ": tasks.standby, "warm-up ": tasks.warmup}
    return " ".join(word + _listed(listed) for word, listed in kinds.items() if listed)


def _listed(places: Iterable[tuple[str, int]]) -> str:
    topics: dict[str, list[str]] = {}
    for name, number in sorted(places):
        topics.setdefault(name, []).append(str(number))
    return " ".join(f"{topic}:{','.join(numbers)}" for topic, numbers in topics.items())


def _lag(admin: Admin, group: GroupDescription) -> list[tuple[Any, ...]]:
    from kafkawire.client import LATEST

    owners: dict[TopicPartition, list[GroupMember]] = {}
    for member in group.members:
        for place in member.assignment:
            owners.setdefault(place, []).append(member)
    offsets = _offsets(admin, group.group_id, is_share=group.type == "share")
    existing = {topic.name: topic for topic in admin.describe_topics()}
    places = sorted(
        place
        for place in {*offsets, *owners}
        if place.topic in existing and place.partition in existing[place.topic].partitions
    )
    if not places:
        return [(group.group_id, group.state, group.type, *(None for _ in _LAG))]
    ends = admin.list_offsets(dict.fromkeys(places, LATEST))
    rows: list[tuple[Any, ...]] = []
    for place in places:
        end, (offset, lag) = ends[place], offsets.get(place, (None, None))
        last = None if end is None else end.offset
        if lag is None and offset is not None and last is not None:
            lag = max(0, last - offset)
        found = owners.get(place, [])
        who = tuple(
            ",".join(sorted(words)) or None
            for words in (
                {each.member_id for each in found},
                {each.client_id for each in found},
                {each.client_host for each in found},
            )
        )
        rows.append((group.group_id, group.state, group.type, *place, offset, last, lag, *who))
    return rows


def _offsets(admin: Admin, group: str, *, is_share: bool) -> dict[TopicPartition, tuple[int | None, int | None]]:
    """The offset of a group in each partition, and its lag if the broker counts it."""
    if is_share:
        found = admin.list_share_group_offsets(group)
        return {place: (each.start_offset, each.lag) for place, each in found.items()}
    return {place: (each.offset, None) for place, each in admin.list_group_offsets(group).items()}


def _is_share(admin: Admin, args: argparse.Namespace) -> bool:
    """Whether a change is about the offsets of a share group."""
    if args.type is not None:
        return bool(args.type == "share")
    (group,) = args.groups
    return any(each.type == "share" and each.group_id == group for each in admin.list_groups())


def _forget(admin: Admin, args: argparse.Namespace) -> None:
    from kafkawire.cli._support.topic_names import find_places

    (group,) = args.groups
    places = find_places(admin, args.topics)
    if not _is_share(admin, args):
        admin.delete_group_offsets(group, places)
        return
    if any(":" in topic for topic in args.topics):
        raise UsageError("the offsets of a share group are deleted for whole topics; name topics without partitions")
    admin.delete_share_group_offsets(group, sorted({place.topic for place in places}))


def _reset(admin: Admin, args: argparse.Namespace) -> None:
    from kafkawire.cli._support.offset_goals import find_nearest, find_offsets, read_offsets
    from kafkawire.cli._support.topic_names import find_places

    (group,) = args.groups
    is_share = _is_share(admin, args)
    before = _known_offsets(admin, group, is_share=is_share)
    places = find_places(admin, args.topics) if args.topics else sorted(before)
    if args.from_file:
        read = read_offsets(args.from_file)
        after = find_nearest(
            admin, {place: read[place] for place in (places if args.topics else read) if place in read}
        )
    else:
        if not places:
            raise UsageError(f"group {group!r} has no offsets; choose topics with -t")
        after = find_offsets(admin, places, args.to, before)
    if args.execute:
        if is_share:
            admin.alter_share_group_offsets(group, after)
        else:
            admin.alter_group_offsets(group, after)
    rows = [(*place, before.get(place), offset) for place, offset in after.items()]
    output.print_rows(("topic", "partition", "before", "after"), rows, as_json=args.json)
    if not args.execute:
        print("kafkawire: nothing was changed; --execute sets these offsets", file=sys.stderr)


def _known_offsets(admin: Admin, group: str, *, is_share: bool) -> dict[TopicPartition, int]:
    from kafkawire.messages.errors import GroupIdNotFoundError

    try:
        found = _offsets(admin, group, is_share=is_share)
    except GroupIdNotFoundError:
        return {}
    return {place: offset for place, (offset, _) in found.items() if offset is not None}
