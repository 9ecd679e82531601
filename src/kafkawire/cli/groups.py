"""`kafkawire groups`: list and describe groups, move their offsets, delete them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kafkawire.cli import output
from kafkawire.cli.clients import add_client_options, client_config
from kafkawire.cli.commands import UsageError

if TYPE_CHECKING:
    import argparse

    from kafkawire.client import TopicPartition
    from kafkawire.client.blocking import Admin

HELP = "list and describe consumer groups with their lag, move their offsets, delete them"
EXAMPLES = (
    "kafkawire groups list",
    "kafkawire groups describe billing",
    "kafkawire groups reset billing -t orders --to earliest",
    "kafkawire groups delete billing",
)
_LAG = ("topic", "partition", "committed", "end", "lag", "member", "client", "host")


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, words, names in (
        ("list", "the groups there are", None),
        ("describe", "what groups committed, how far behind they are, and who reads what", "+"),
        ("reset", "set the offsets of a group that has no members", 1),
        ("delete", "remove groups that have no members", "+"),
    ):
        verb = verbs.add_parser(name, help=words, description=words)
        if names is not None:
            verb.add_argument("groups", nargs=names, metavar="GROUP")
        if name == "reset":
            verb.add_argument(
                "-t", dest="topics", action="append", metavar="TOPIC", help="a topic (default: all it has offsets of)"
            )
            verb.add_argument(
                "--to", required=True, metavar="PLACE", help="earliest, latest, an offset, +N or -N, or @MS for a time"
            )
            verb.add_argument("--dry-run", action="store_true", help="only show what would be set")
        output.add_json_option(verb)
        add_client_options(verb)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client.blocking import Admin

    with Admin(client_config(args)) as admin:
        if args.verb == "list":
            rows = [(each.group_id, each.state, each.type, each.protocol_type) for each in admin.list_groups()]
            output.print_rows(("group", "state", "type", "protocol"), rows, as_json=args.json)
        elif args.verb == "describe":
            described = [row for group in args.groups for row in _describe(admin, group)]
            output.print_rows(("group", "state", *_LAG), described, as_json=args.json)
        elif args.verb == "reset":
            _reset(admin, args)
        else:
            admin.delete_groups(args.groups)
    return 0


def _describe(admin: Admin, group: str) -> list[tuple[Any, ...]]:
    from kafkawire.client import LATEST

    (description,) = admin.describe_groups([group])
    owners = {place: member for member in description.members for place in member.assignment}
    committed = admin.list_group_offsets(group)
    existing = {topic.name for topic in admin.describe_topics()}
    places = sorted({place for place in (*committed, *owners) if place.topic in existing})
    ends = admin.list_offsets(dict.fromkeys(places, LATEST)) if places else {}
    rows: list[tuple[Any, ...]] = []
    for place in places:
        end, found, owner = ends[place], committed.get(place), owners.get(place)
        last = None if end is None else end.offset
        offset = None if found is None else found.offset
        lag = None if offset is None or last is None else max(0, last - offset)
        who = (None, None, None) if owner is None else (owner.member_id, owner.client_id, owner.client_host)
        rows.append((group, description.state, *place, offset, last, lag, *who))
    return rows


def _reset(admin: Admin, args: argparse.Namespace) -> None:
    from kafkawire.client import TopicPartition

    (group,) = args.groups
    committed = admin.list_group_offsets(group)
    if args.topics:
        places = [
            TopicPartition(topic.name, number)
            for topic in admin.describe_topics(args.topics)
            for number in topic.partitions
        ]
    else:
        places = sorted(committed)
    if not places:
        raise UsageError(f"group {group!r} has no offsets; name topics with -t")
    before = {place: found.offset for place, found in committed.items()}
    after = _places(admin, places, args.to, before)
    if not args.dry_run:
        admin.alter_group_offsets(group, after)
    rows = [(*place, before.get(place), offset) for place, offset in after.items()]
    output.print_rows(("topic", "partition", "before", "after"), rows, as_json=args.json)


def _places(
    admin: Admin, places: list[TopicPartition], goal: str, before: dict[TopicPartition, int]
) -> dict[TopicPartition, int]:
    from kafkawire.client import EARLIEST, LATEST

    first = {place: found.offset if found else 0 for place, found in _at(admin, places, EARLIEST).items()}
    last = {place: found.offset if found else 0 for place, found in _at(admin, places, LATEST).items()}
    if goal in ("earliest", "latest"):
        return first if goal == "earliest" else last
    if re.fullmatch(r"@\d+", goal):
        timed = _at(admin, places, int(goal[1:]))
        return {place: last[place] if found is None else found.offset for place, found in timed.items()}
    if re.fullmatch(r"[+-]?\d+", goal):
        by = int(goal)
        moved = {place: before.get(place, first[place]) + by if goal[0] in "+-" else by for place in places}
        return {place: min(max(offset, first[place]), last[place]) for place, offset in moved.items()}
    raise UsageError(f"--to {goal!r}: expected earliest, latest, an offset, +N, -N or @MS")


def _at(admin: Admin, places: list[TopicPartition], when: int) -> dict[TopicPartition, Any]:
    return dict(admin.list_offsets(dict.fromkeys(places, when)))
