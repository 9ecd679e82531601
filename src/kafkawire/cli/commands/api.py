"""`kafkawire api`: the APIs, the fields of a version, the changes between two versions, and the releases of Kafka.

Rules:
- A name is that of an API (both of its messages are shown), of one message, or the key of an API. Case is ignored.
- The default version is the latest.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from kafkawire.cli._support import output
from kafkawire.cli._support.numbers import count
from kafkawire.cli._support.pages import show_view
from kafkawire.cli.registry import UsageError
from kafkawire.inspect import FieldChange as Change
from kafkawire.inspect import WireField, changes_between, fields_of
from kafkawire.messages import (
    Api,
    UnknownMessageError,
    UnsupportedVersionError,
    api,
    apis,
    message_class,
    message_names,
)

if TYPE_CHECKING:
    import argparse

    from kafkawire.messages.schema import MessageSchema, Versions

HELP = "list the APIs, and show the fields of each version and the changes between versions"
EXAMPLES = (
    "kafkawire api list",
    "kafkawire api Fetch",
    "kafkawire api show Produce --version 9",
    "kafkawire api show fetch --request --diff 12 13",
    "kafkawire api show ConsumerProtocolSubscription",
    "kafkawire api matrix Fetch Produce",
    "kafkawire api matrix --between 3.9 4.4",
)
DEFAULT_VERB = "show"
_SIGNS = {"added": "+", "removed": "-", "changed": "~", "flexible": "~"}
_COLOURS: dict[str, output.Style] = {"added": "green", "removed": "red", "changed": "yellow", "flexible": "yellow"}


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|show|matrix")
    listing = verbs.add_parser("list", help="list every API with its versions")
    listing.add_argument("--messages", action="store_true", help="list the messages that belong to no API")
    output.add_json_option(listing)
    show = verbs.add_parser("show", help="show the fields of an API or a message")
    show.add_argument("name", metavar="NAME|KEY", help="name or key of an API, or name of a message")
    side = show.add_mutually_exclusive_group()
    side.add_argument("--request", action="store_true", help="show only the request")
    side.add_argument("--response", action="store_true", help="show only the response")
    output.add_web_option(show)
    which = show.add_mutually_exclusive_group()
    which.add_argument("--version", type=count, metavar="N", help="version to show (default: the latest)")
    which.add_argument("--diff", type=count, nargs=2, metavar=("M", "N"), help="show the changes from version M to N")
    output.add_json_option(show)
    matrix = verbs.add_parser("matrix", help="show the versions of APIs in the releases of Apache Kafka")
    matrix.add_argument("names", nargs="*", metavar="NAME|KEY", help="APIs to show (default: all)")
    some = matrix.add_mutually_exclusive_group()
    some.add_argument("--release", metavar="RELEASE", help="show one release, beside the versions that we have")
    some.add_argument("--between", nargs=2, metavar=("OLD", "NEW"), help="show only what differs between two releases")
    output.add_json_option(matrix)


def run(args: argparse.Namespace) -> int:
    if args.verb == "list":
        return _list_messages(as_json=args.json) if args.messages else _list_apis(as_json=args.json)
    if args.verb == "matrix":
        from kafkawire.cli._support.release_matrix import print_matrix

        return print_matrix(args)
    target, schemas = _find(args.name, args)
    if args.web:
        query = "" if args.version is None else f"?version={args.version}"
        return show_view(f"/protocol/{schemas[0].name}{query}")
    try:
        for number, schema in enumerate(schemas):
            if number and not args.json:
                print()
            if args.diff:
                _print_changes(schema, target, *args.diff, as_json=args.json)
            else:
                version = schema.versions.last if args.version is None else args.version
                _print_fields(schema, target, version, as_json=args.json)
    except UnsupportedVersionError as error:
        raise UsageError(str(error)) from error
    return 0


def _list_apis(*, as_json: bool) -> int:
    rows = (
        (
            *(each.key, each.name, str(each.versions), _from(each.flexible), _range(each.schema.deprecated)),
            *(_unstable(each), each.schema.senders, each.schema.receivers, ", ".join(each.schema.listeners)),
            *(each.schema.forwarded, each.schema.cluster_action),
        )
        for each in apis()
    )
    columns = (
        *("key", "name", "versions", "flexible", "deprecated", "unstable"),
        *("sent_by", "sent_to", "listeners", "forwarded", "cluster_action"),
    )
    output.print_rows(columns, rows, as_json=as_json)
    return 0


def _list_messages(*, as_json: bool) -> int:
    of_apis = {each.name + kind for each in apis() for kind in ("Request", "Response")}
    schemas = (message_class(name).__schema__ for name in message_names() if name not in of_apis)
    rows = (
        (schema.name, str(schema.versions), _from(schema.flexible), schema.key, schema.place.split("/")[1])
        for schema in schemas
    )
    output.print_rows(("name", "versions", "flexible", "type", "where"), rows, as_json=as_json)
    return 0


def _range(versions: Versions) -> str | None:
    return str(versions) if versions else None


def _from(versions: Versions) -> str | None:
    return f"{versions.first}+" if versions else None


def _unstable(each: Api) -> str | None:
    return str(each.versions.last) if each.schema.latest_unstable else None


def _find(name: str, args: argparse.Namespace) -> tuple[Api | None, list[MessageSchema]]:
    try:
        found = api(int(name) if name.isdecimal() else name)
    except UnknownMessageError as error:
        if name.isdecimal():
            raise UsageError(str(error)) from error
    else:
        both = [found.schema.request, found.schema.response]
        return found, both[:1] if args.request else both[1:] if args.response else both
    exact = {each.lower(): each for each in message_names()}.get(name.lower())
    if exact is None:
        raise UsageError(f"unknown API or message {name!r}{_suggestion(name)}")
    if args.request or args.response:
        raise UsageError("--request and --response need the name of an API")
    schema = message_class(exact).__schema__
    return (api(schema.key) if schema.kind != "data" and schema.key is not None else None), [schema]


def _suggestion(name: str) -> str:
    names = {each.lower(): each for each in (*message_names(), *(each.name for each in apis()))}
    close = get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    return f"; did you mean {names[close[0]]}?" if close else "; `kafkawire api list` lists all"


def _print_fields(schema: MessageSchema, target: Api | None, version: int, *, as_json: bool) -> None:
    fields = fields_of(schema, version)
    if as_json:
        output.print_json({"message": schema.name, "version": version, **_as_object(field)} for field in fields)
        return
    print(output.coloured(f"{schema.name} v{version}", "bold") + f"  {_about(schema, target, version)}")
    if target is not None and schema.kind == "request":
        print(f"  {_route(target)}")
    if not fields:
        print("  no fields")
        return
    ranges = {field.path: field.versions for field in fields}
    rows = []
    for field in fields:
        parent = ranges.get(field.path.rpartition(".")[0], schema.versions)
        more = _more(field, schema, parent)
        rows.append(("  " * field.depth + field.name, field.type, field.default or "", more, field.description))
    output.print_rows(("field", "type", "default", "more", "description"), rows)


def _about(schema: MessageSchema, target: Api | None, version: int) -> str:
    parts = [f"versions {schema.versions}"]
    if target is not None:
        is_request = schema.kind == "request"
        header = target.request_header_version(version) if is_request else target.response_header_version(version)
        parts = [f"key {target.key}", *parts, f"header v{header}"]
        if version in target.schema.deprecated:
            parts.append("deprecated")
    elif schema.key is not None:
        parts.append(f"record type {schema.key}")
    parts.append("flexible: every struct ends with tags" if schema.is_flexible(version) else "not flexible")
    return ", ".join(parts)


def _route(target: Api) -> str:
    """The senders and receivers of the request, its listeners, and whether brokers forward it."""
    known = target.schema
    parts = [f"sent by {known.senders} to {known.receivers}", f"listeners {', '.join(known.listeners)}"]
    parts += ["forwarded to the controller"] if known.forwarded else []
    parts += ["cluster action"] if known.cluster_action else []
    return "; ".join(parts)


def _more(field: WireField, schema: MessageSchema, parent: Versions) -> str:
    parts = [f"tag {field.tag}"] if field.tag is not None else []
    if field.versions != parent:
        stays = field.versions.last == schema.versions.last
        parts.append(f"v{field.versions.first}+" if stays else f"v{field.versions}")
    parts += [word for word, is_so in (("key", field.key), ("ignorable", field.ignorable)) if is_so]
    return ", ".join(parts)


def _as_object(field: WireField) -> dict[str, object]:
    return {name: getattr(field, name) for name in WireField.__slots__} | {"versions": str(field.versions)}


def _print_changes(schema: MessageSchema, target: Api | None, before: int, after: int, *, as_json: bool) -> None:
    changes = changes_between(schema, before, after)
    headers = _header_change(schema, target, before, after)
    if headers:
        changes.insert(0, headers)
    if as_json:
        base = {"message": schema.name, "from": before, "to": after}
        output.print_json({**base, **{name: getattr(each, name) for name in Change.__slots__}} for each in changes)
        return
    print(output.coloured(f"{schema.name} v{before} to v{after}", "bold"))
    if not changes:
        print("  no changes")
    widest = max((len(each.path) for each in changes if each.kind != "flexible"), default=0)
    for each in changes:
        text = f"{each.before} -> {each.after}" if each.before and each.after else each.before or each.after
        if each.kind == "flexible":
            text = f"now {each.after}"
        line = f"  {_SIGNS[each.kind]} {each.path:{widest}}  {text}" if each.path else f"  {_SIGNS[each.kind]} {text}"
        print(output.coloured(line, _COLOURS[each.kind]))


def _header_change(schema: MessageSchema, target: Api | None, before: int, after: int) -> Change | None:
    if target is None:
        return None
    version_of = target.request_header_version if schema.kind == "request" else target.response_header_version
    old, new = version_of(before), version_of(after)
    return Change("changed", "", f"header v{old}", f"v{new}") if old != new else None
