"""`kafkawire cluster`: the brokers of a cluster, the APIs that they serve, and their log directories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import add_client_options, client_config

if TYPE_CHECKING:
    import argparse

    from kafkawire.client.blocking import Admin

HELP = "show the brokers of a cluster, the APIs that they serve, and the size of their logs"
EXAMPLES = (
    "kafkawire cluster",
    "kafkawire cluster --apis",
    "kafkawire cluster --logs --json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--apis",
        action="store_true",
        help="show the versions of each API: those of the broker, and the one that this client uses",
    )
    which.add_argument(
        "--logs", action="store_true", help="show the partitions in each log directory, with their sizes"
    )
    output.add_json_option(parser)
    add_client_options(parser)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client.blocking import Admin

    with Admin(client_config(args)) as admin:
        if args.apis:
            _print_apis(admin, as_json=args.json)
        elif args.logs:
            columns = ("broker", "directory", "topic", "partition", "bytes", "lag")
            rows = [
                (entry.node_id, entry.log_dir, *entry.partition, entry.size, entry.offset_lag)
                for entry in admin.describe_log_dirs()
            ]
            output.print_rows(columns, rows, as_json=args.json)
        else:
            _print_brokers(admin, as_json=args.json)
    return 0


def _print_brokers(admin: Admin, *, as_json: bool) -> None:
    cluster = admin.describe_cluster()
    if not as_json:
        print(f"cluster {cluster.cluster_id}")
    rows = [(node.id, node.host, node.port, node.rack, node.id == cluster.controller_id) for node in cluster.nodes]
    columns = ("broker", "host", "port", "rack", "controller")
    if as_json:
        output.print_json({"cluster": cluster.cluster_id, **dict(zip(columns, row, strict=True))} for row in rows)
    else:
        output.print_rows(columns, rows)


def _print_apis(admin: Admin, *, as_json: bool) -> None:
    from kafkawire.messages import ApiVersionsRequest, ApiVersionsResponse, UnknownMessageError, api
    from kafkawire.messages.schema import Versions

    rows: list[tuple[Any, ...]] = []
    for node in admin.describe_cluster().nodes:
        answer = admin.raw(ApiVersionsRequest(client_software_name="kafkawire"), node_id=node.id, version=2)
        assert isinstance(answer, ApiVersionsResponse)
        for each in sorted(answer.api_keys, key=lambda entry: entry.api_key):
            theirs = Versions(each.min_version, each.max_version)
            try:
                ours = api(each.api_key)
                common = ours.versions & theirs
                rows.append((node.id, each.api_key, ours.name, str(theirs), common.last if common else None))
            except UnknownMessageError:
                rows.append((node.id, each.api_key, "unknown", str(theirs), None))
    output.print_rows(("broker", "key", "api", "versions", "used"), rows, as_json=as_json)
