"""`kafkawire acls`: list, add and remove access control lists, in the words of `kafka-acls`.

Rules:
- `--producer` and `--consumer` stand for the operations that such clients need, as in Kafka's tool.
- `add` allows or denies, for every principal, host, operation and resource that is named.
- `remove` removes exactly those entries; without a principal it removes all entries of the resources.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import add_client_options, client_config
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from kafkawire.wire.acls import Acl, AclFilter, Pattern

HELP = "list, add and remove access control lists"
EXAMPLES = (
    "kafkawire acls list --topic orders",
    "kafkawire acls add --allow-principal User:alice --operation Read --topic orders",
    "kafkawire acls add --allow-principal User:app --consumer --topic orders --group app",
    "kafkawire acls remove --allow-principal User:alice --operation Read --topic orders",
)
_COLUMNS = ("permission", "principal", "host", "operation", "type", "name", "pattern")


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, words in (
        ("list", "list the entries of the named resources, or all"),
        ("add", "add entries; those that exist already stay"),
        ("remove", "remove entries, and print those that were removed"),
    ):
        verb = verbs.add_parser(name, help=words, description=words)
        for option in ("topic", "group", "transactional-id", "delegation-token", "user-principal"):
            verb.add_argument(
                f"--{option}",
                action="append",
                default=[],
                metavar="NAME",
                help=f"{option.replace('-', ' ')} of this name; '*' stands for all of them",
            )
        verb.add_argument("--cluster", action="store_true", help="the cluster as a whole")
        types = ("literal", "prefixed") if name == "add" else ("any", "match", "literal", "prefixed")
        verb.add_argument(
            "--resource-pattern-type",
            type=str.lower,
            choices=types,
            default="literal",
            help="whether names are whole names or prefixes",
        )
        if name == "list":
            verb.add_argument("--principal", action="append", default=[], help="list only entries of this principal")
        else:
            for kind in ("allow", "deny"):
                verb.add_argument(
                    *(f"--{kind}-principal",), action="append", default=[], metavar="User:NAME", help=f"whom to {kind}"
                )
                verb.add_argument(
                    f"--{kind}-host", action="append", default=[], metavar="ADDRESS", help="host (default: *)"
                )
            verb.add_argument(
                "--operation", action="append", default=[], help="operation, such as Read or DescribeConfigs"
            )
            verb.add_argument(
                "--producer", action="store_true", help="all operations that a producer needs on its topics"
            )
            verb.add_argument("--consumer", action="store_true", help="all operations that a consumer needs")
            verb.add_argument(
                "--idempotent", action="store_true", help="with --producer: also those for idempotent writes"
            )
        output.add_json_option(verb)
        add_client_options(verb)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client.blocking import Admin

    if args.verb == "list":
        filters = _filters(args)
        with Admin(client_config(args)) as admin:
            _print(sorted({acl for each in filters for acl in admin.describe_acls(each)}), args)
        return 0
    acls = _acls(args)
    if args.verb == "add":
        with Admin(client_config(args)) as admin:
            admin.create_acls(acls)
        _print(acls, args)
        return 0
    removed = [_exact(acl) for acl in acls] if args.allow_principal or args.deny_principal else _filters(args)
    with Admin(client_config(args)) as admin:
        _print(admin.delete_acls(removed), args)
    return 0


def _patterns(args: argparse.Namespace) -> list[Pattern]:
    from kafkawire.wire.acls import CLUSTER_NAME, Pattern, PatternType, ResourceType

    kind = PatternType[args.resource_pattern_type.upper()]
    named = {
        ResourceType.TOPIC: args.topic,
        ResourceType.GROUP: args.group,
        ResourceType.TRANSACTIONAL_ID: args.transactional_id,
        ResourceType.DELEGATION_TOKEN: args.delegation_token,
        ResourceType.USER: args.user_principal,
    }
    found = [Pattern(resource, name, kind) for resource, names in named.items() for name in names]
    return [*found, Pattern(ResourceType.CLUSTER, CLUSTER_NAME)] if args.cluster else found


def _filters(args: argparse.Namespace) -> list[AclFilter]:
    from kafkawire.wire.acls import AclFilter

    patterns = _patterns(args)
    if args.verb == "remove" and not patterns:
        raise UsageError("acls remove: name a resource, such as --topic orders")
    principals = getattr(args, "principal", []) or [None]
    if not patterns:
        return [AclFilter(principal=each) for each in principals]
    return [
        AclFilter(pattern.resource_type, pattern.name, pattern.pattern_type, principal)
        for pattern, principal in product(patterns, principals)
    ]


def _exact(acl: Acl) -> AclFilter:
    from kafkawire.wire.acls import AclFilter

    return AclFilter(*acl.pattern, acl.principal, acl.host, acl.operation, acl.permission)


def _acls(args: argparse.Namespace) -> list[Acl]:
    """The entries that the options describe, each once."""
    from kafkawire.wire.acls import Acl, Permission

    subjects = [
        (who, where, Permission.ALLOW) for who, where in product(args.allow_principal, args.allow_host or ["*"])
    ]
    subjects += ((who, where, Permission.DENY) for who, where in product(args.deny_principal, args.deny_host or ["*"]))
    if not subjects:
        if args.verb == "remove":
            return []
        raise UsageError("acls add: expected --allow-principal or --deny-principal, such as User:alice")
    for who, _, _ in subjects:
        if ":" not in who:
            raise UsageError(f"acls {args.verb}: expected a principal such as User:alice, found {who!r}")
    rights = list(dict.fromkeys(_rights(args)))
    if not rights:
        raise UsageError(f"acls {args.verb}: name a resource, such as --topic orders")
    return [
        Acl(pattern, who, where, operation, permission)
        for (pattern, operation), (who, where, permission) in product(rights, subjects)
    ]


def _rights(args: argparse.Namespace) -> Iterator[tuple[Pattern, int]]:
    from kafkawire.wire.acls import CLUSTER_NAME, Operation, Pattern, ResourceType

    patterns = _patterns(args)
    if not args.producer and not args.consumer:
        yield from product(patterns, [_operation(each) for each in args.operation] or [Operation.ALL])
        return
    if args.operation:
        raise UsageError("--producer and --consumer stand for operations: leave --operation out")
    needed = {ResourceType.TOPIC: set[Operation](), ResourceType.TRANSACTIONAL_ID: set[Operation]()}
    needed[ResourceType.GROUP] = {Operation.READ} if args.consumer else set()
    if args.producer:
        needed[ResourceType.TOPIC] |= {Operation.WRITE, Operation.DESCRIBE, Operation.CREATE}
        needed[ResourceType.TRANSACTIONAL_ID] |= {Operation.WRITE, Operation.DESCRIBE}
        if args.idempotent:
            yield Pattern(ResourceType.CLUSTER, CLUSTER_NAME), Operation.IDEMPOTENT_WRITE
    if args.consumer:
        needed[ResourceType.TOPIC] |= {Operation.READ, Operation.DESCRIBE}
    types = {pattern.resource_type for pattern in patterns}
    if ResourceType.TOPIC not in types or (args.consumer and ResourceType.GROUP not in types):
        raise UsageError("--producer needs --topic; --consumer needs --topic and --group")
    for pattern in patterns:
        for operation in sorted(needed.get(ResourceType(pattern.resource_type), ())):
            yield pattern, operation


def _operation(text: str) -> int:
    from kafkawire.wire.acls import Operation

    names = {each.name.replace("_", ""): each for each in Operation if each >= Operation.ALL}
    found = names.get(text.upper().replace("_", "").replace("-", ""))
    if found is None:
        words = ", ".join(each.name.title().replace("_", "") for each in names.values())
        raise UsageError(f"--operation {text}: expected one of {words}")
    return found


def _print(acls: Iterable[Acl], args: argparse.Namespace) -> None:
    from kafkawire.wire.acls import Operation, PatternType, Permission, ResourceType

    rows = [
        (
            Permission(acl.permission).name,
            acl.principal,
            acl.host,
            Operation(acl.operation).name,
            ResourceType(acl.pattern.resource_type).name,
            acl.pattern.name,
            PatternType(acl.pattern.pattern_type).name,
        )
        for acl in acls
    ]
    output.print_rows(_COLUMNS, rows, as_json=args.json)
