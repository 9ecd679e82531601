"""`kafkawire compat`: the release that a broker resembles, what it lacks, and what our clients cannot do with it.

Rules:
- Only ApiVersions is sent, after authentication if the options ask for it.
- The release is a resemblance: a broker of another vendor, or one with APIs switched off, differs from every release.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import add_client_options, client_config
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse

    from kafkawire.client.requirements import MissingFeature
    from kafkawire.messages import ApiVersionsResponse
    from kafkawire.messages.releases import Difference, Resemblance

HELP = "show the release that a broker resembles, what it lacks, and which features of our clients need more"
EXAMPLES = (
    "kafkawire compat localhost:9092",
    "kafkawire compat kafka-1:9092 --against 3.9",
    "kafkawire compat kafka-1:9092 --json -X security.protocol=SSL",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("address", nargs="?", metavar="HOST:PORT", help="the broker (default: the first of -b)")
    parser.add_argument(
        "--against", metavar="RELEASE", help="release to compare with (default: the latest of the table)"
    )
    output.add_json_option(parser)
    add_client_options(parser)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client.requirements import missing_features
    from kafkawire.messages.releases import (
        UnknownReleaseError,
        find_release,
        lacking,
        release_names,
        resemblance,
    )
    from kafkawire.wire import Negotiated

    try:
        release = release_names()[-1] if args.against is None else find_release(args.against)
    except UnknownReleaseError as error:
        raise UsageError(f"--against: {error}") from error
    config = client_config(args)
    if args.address is not None:
        config["bootstrap_servers"] = args.address
    place, answer = asyncio.run(_ask(config))
    offered = Negotiated.from_response(answer)
    found, lacks = resemblance(offered.ranges), lacking(offered.ranges, release)
    missing = missing_features(offered)
    if args.json:
        output.print_json([_as_object(place, answer, found, release, lacks, missing)])
    else:
        _print(place, answer, found, release, lacks, missing)
    return 0


async def _ask(config: dict[str, Any]) -> tuple[str, ApiVersionsResponse]:
    from kafkawire import __version__
    from kafkawire.client import Cluster, Node
    from kafkawire.client.option_names import read_options
    from kafkawire.client.options import ClientOptions
    from kafkawire.messages import ApiVersionsRequest, ApiVersionsResponse

    options = read_options(ClientOptions, config, {})
    host, port = options.servers[0]
    connection = await Cluster(options).connect(Node(-1, host, port))
    try:
        request = ApiVersionsRequest(client_software_name="kafkawire", client_software_version=__version__)
        return connection.place, await connection.request(request, ApiVersionsResponse)
    finally:
        connection.close()


def _print(
    place: str,
    answer: ApiVersionsResponse,
    found: Resemblance,
    release: str,
    lacks: list[Difference],
    missing: list[MissingFeature],
) -> None:
    print(
        output.coloured(f"{place} resembles Kafka {' or '.join(found.releases)}", "bold") + f" ({_how(answer, found)})"
    )
    for each in found.differences:
        if each.after is not None:
            print(f"  {each.name}: {_words(each, found.releases[-1])}")
    for name, level, supported in _features(answer):
        print(f"  feature {name}: level {level}, supported {supported}")
    print()
    if not lacks:
        print(f"It has everything that brokers of Kafka {release} have.")
    else:
        print(f"Compared with Kafka {release} it lacks:")
        output.print_rows(
            ("key", "api", release, "here"),
            (
                (each.key, each.name, str(each.before), "none" if each.after is None else str(each.after))
                for each in lacks
            ),
        )
    print()
    if not missing:
        print("All features of kafkawire's clients work with it.")
        return
    print("These features of kafkawire's clients do not work with it:")
    output.print_rows(("feature", "needs"), ((each.name, "; ".join(each.reasons)) for each in missing))


def _how(answer: ApiVersionsResponse, found: Resemblance) -> str:
    if found.is_exact:
        return f"{len(answer.api_keys)} APIs, in exactly its versions"
    absent = sum(each.after is None for each in found.differences)
    unlike = len(found.differences) - absent
    equal = len(answer.api_keys) - unlike
    return f"{equal} APIs in its versions, {unlike} in other versions, {absent} not served"


def _words(each: Difference, release: str) -> str:
    return f"{each.after}, not in {release}" if each.before is None else f"{each.after}, {each.before} in {release}"


def _features(answer: ApiVersionsResponse) -> list[tuple[str, int, str]]:
    levels = {each.name: each.max_version_level for each in answer.finalized_features}
    return [
        (each.name, levels.get(each.name, 0), f"{each.min_version}-{each.max_version}")
        for each in answer.supported_features
    ]


def _as_object(
    place: str,
    answer: ApiVersionsResponse,
    found: Resemblance,
    release: str,
    lacks: list[Difference],
    missing: list[MissingFeature],
) -> dict[str, Any]:
    return {
        "broker": place,
        "apis": len(answer.api_keys),
        "resembles": list(found.releases),
        "differences": [_difference(each) for each in found.differences],
        "features": [
            {"name": name, "level": level, "supported": supported} for name, level, supported in _features(answer)
        ],
        "against": release,
        "lacks": [_difference(each) for each in lacks],
        "missing_client_features": [{"feature": each.name, "needs": list(each.reasons)} for each in missing],
    }


def _difference(each: Difference) -> dict[str, Any]:
    return {
        "key": each.key,
        "api": each.name,
        "release": None if each.before is None else str(each.before),
        "broker": None if each.after is None else str(each.after),
    }
