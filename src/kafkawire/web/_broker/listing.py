"""Topics, configs, groups and the cluster, as rows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from starlette.routing import Route

from kafkawire import __version__
from kafkawire.client import EARLIEST, LATEST, TopicPartition
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import ApiVersionsRequest, ApiVersionsResponse
from kafkawire.web._broker.source import MESSAGES, BrokerSource, connected
from kafkawire.web._server.answers import answer
from kafkawire.web._server.requests import body_of, field_in, number_in, text_in, workspace_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from kafkawire.client import Admin

WINDOW: Final = 500
MOST_ASKED: Final = 100
FRESH_SECONDS: Final = 4.0


def source_of(request: Request) -> BrokerSource:
    found: BrokerSource = workspace_of(request).source(request.path_params["id"], BrokerSource)
    return found


async def connect(request: Request) -> Response:
    """Connect to the broker that the user names."""
    servers = field_in(await body_of(request), "servers", str, "").strip()
    source = BrokerSource({"bootstrap_servers": servers})
    await connected(source)
    return answer({"id": workspace_of(request).add_source(source)})


async def topics(request: Request) -> Response:
    """A window of the topics: names and partitions; offsets are asked for the rows in sight."""
    source = source_of(request)
    admin = await connected(source)
    known = source.kept("topics", FRESH_SECONDS) or source.keep("topics", await admin.describe_topics())
    text, internal = text_in(request, "filter").lower(), number_in(request, "internal")
    chosen = [each for each in known if text in each.name.lower() and (internal or not each.is_internal)]
    start, count = max(0, number_in(request, "start")), min(number_in(request, "count", 100), WINDOW)
    rows = [
        {
            "name": each.name,
            "partitions": len(each.partitions),
            "replicas": max((len(part.replicas) for part in each.partitions.values()), default=0),
            "trouble": sum(part.leader < 0 or len(part.isr) < len(part.replicas) for part in each.partitions.values()),
            "internal": each.is_internal,
        }
        for each in chosen[start : start + count]
    ]
    source.prepare(MESSAGES)
    return answer({"total": len(known), "matched": len(chosen), "start": start, "rows": rows})


async def counts(request: Request) -> Response:
    """The offsets of some topics: how many records they hold at most."""
    source = source_of(request)
    names = [name for name in field_in(await body_of(request), "topics", list, []) if isinstance(name, str)][
        :MOST_ASKED
    ]
    admin = await connected(source)
    found = {name: source.kept(("count", name), FRESH_SECONDS) for name in names}
    asked = [name for name, kept in found.items() if kept is None]
    for name, each in (await _records_in(admin, asked)).items():
        found[name] = source.keep(("count", name), each)
    return answer(found)


async def _records_in(admin: Admin, topics: list[str]) -> dict[str, dict[str, Any]]:
    """The records of topics, all asked for at once; one by one only if one of them has an error."""
    try:
        described = await admin.describe_topics(topics)
        places = [TopicPartition(each.name, number) for each in described for number in each.partitions]
        first, last = await asyncio.gather(
            admin.list_offsets(dict.fromkeys(places, EARLIEST)), admin.list_offsets(dict.fromkeys(places, LATEST))
        )
    except (KafkaWireError, OSError) as error:
        if len(topics) == 1:
            return {topics[0]: {"error": str(error)}}
        parts = await asyncio.gather(*(_records_in(admin, [each]) for each in topics))
        return {name: found for part in parts for name, found in part.items()}
    totals = dict.fromkeys(topics, 0)
    for place in places:
        low, high = first[place], last[place]
        totals[place.topic] += high.offset - low.offset if low is not None and high is not None else 0
    return {name: {"records": total} for name, total in totals.items()}


async def topic(request: Request) -> Response:
    """A topic: its partitions with their offsets, and its configs, those that differ first."""
    source, name = source_of(request), request.path_params["topic"]
    admin = await connected(source)
    described = (await admin.describe_topics([name]))[0]
    places = [TopicPartition(name, number) for number in sorted(described.partitions)]
    first, last = await asyncio.gather(
        admin.list_offsets(dict.fromkeys(places, EARLIEST)), admin.list_offsets(dict.fromkeys(places, LATEST))
    )
    rows = [
        {
            "partition": place.partition,
            "leader": described.partitions[place.partition].leader,
            "replicas": list(described.partitions[place.partition].replicas),
            "isr": list(described.partitions[place.partition].isr),
            "first": _offset(first[place]),
            "last": _offset(last[place]),
        }
        for place in places
    ]
    return answer({"name": name, "id": str(described.id), "partitions": rows, "configs": await _configs(admin, name)})


async def _configs(admin: Admin, name: str) -> list[dict[str, Any]]:
    from kafkawire.client import ConfigResource, ResourceType

    resource = ConfigResource(ResourceType.TOPIC, name)
    found = (await admin.describe_configs([resource]))[resource]
    rows = [
        {
            "name": each.name,
            "value": None if each.is_sensitive else each.value,
            "source": each.source.name.lower().replace("_", " "),
            "default": each.is_default,
            "fixed": each.is_read_only,
            "text": each.documentation,
        }
        for each in found.values()
    ]
    return sorted(rows, key=lambda row: (bool(row["default"]), str(row["name"])))


async def groups(request: Request) -> Response:
    """A window of the groups of every type."""
    source = source_of(request)
    admin = await connected(source)
    known = source.kept("groups", FRESH_SECONDS) or source.keep("groups", await admin.list_groups())
    text = text_in(request, "filter").lower()
    chosen = [each for each in known if text in each.group_id.lower()]
    start, count = max(0, number_in(request, "start")), min(number_in(request, "count", 100), WINDOW)
    rows = [
        {"name": each.group_id, "type": each.type or "classic", "state": each.state, "protocol": each.protocol_type}
        for each in sorted(chosen, key=lambda each: each.group_id)[start : start + count]
    ]
    return answer({"total": len(known), "matched": len(chosen), "start": start, "rows": rows})


async def group(request: Request) -> Response:
    """A group: its members with what is assigned to them, and its lag."""
    source, name = source_of(request), request.path_params["group"]
    admin = await connected(source)
    found = (await admin.describe_groups([name]))[0]
    members = [
        {
            "member": each.member_id,
            "instance": each.group_instance_id,
            "client": each.client_id,
            "host": each.client_host,
            "epoch": each.epoch,
            "assigned": [str(place) for place in sorted(each.assignment)],
            "target": None if each.target is None else [str(place) for place in sorted(each.target)],
        }
        for each in found.members
    ]
    shown = {"name": name, "type": found.type, "state": found.state, "strategy": found.strategy}
    shown |= {"coordinator": found.coordinator, "epoch": found.epoch, "members": members}
    return answer({**shown, "offsets": await _lag(admin, name, found.type, found.members)})


async def _lag(admin: Admin, name: str, kind: str, members: Any) -> list[dict[str, Any]]:
    owners = {place: each.client_id for each in members for place in each.assignment}
    if kind == "share":
        shares = await admin.list_share_group_offsets(name)
        return [
            {
                "topic": place.topic,
                "partition": place.partition,
                "offset": None if each.start_offset is None else str(each.start_offset),
                "end": None,
                "lag": each.lag,
                "owner": owners.get(place),
            }
            for place, each in sorted(shares.items())
        ]
    committed = await admin.list_group_offsets(name)
    places = sorted({*committed, *owners})
    ends: Any = {}
    if places:
        try:
            ends = await admin.list_offsets(dict.fromkeys(places, LATEST))
        except KafkaWireError:  # a topic may be deleted while its offsets are kept
            ends = {}
    rows = []
    for place in places:
        at, end = committed.get(place), ends.get(place)
        rows.append(
            {
                "topic": place.topic,
                "partition": place.partition,
                "offset": None if at is None else str(at.offset),
                "end": None if end is None else str(end.offset),
                "lag": None if at is None or end is None else max(0, end.offset - at.offset),
                "owner": owners.get(place),
            }
        )
    return rows


async def cluster(request: Request) -> Response:
    """The brokers, their log directories, and the APIs that they serve."""
    source = source_of(request)
    admin = await connected(source)
    found = await admin.describe_cluster()
    try:
        entries = await admin.describe_log_dirs()
        folders: dict[tuple[int, str], list[int]] = {}
        for each in entries:
            folders.setdefault((each.node_id, each.log_dir), []).append(each.size)
        listed = [
            {"node": node, "path": path, "partitions": len(sizes), "size": sum(sizes)}
            for (node, path), sizes in folders.items()
        ]
    except KafkaWireError:
        listed = []
    nodes = [{"id": each.id, "host": each.host, "port": each.port, "rack": each.rack} for each in found.nodes]
    shown = {"cluster": found.cluster_id, "controller": found.controller_id, "nodes": nodes, "folders": listed}
    return answer(shown | {"apis": await _served(admin)})


async def _served(admin: Admin) -> list[dict[str, Any]]:
    """The APIs that a broker serves, by key, with their versions."""
    from kafkawire.inspect import api_name

    found = await admin.raw(ApiVersionsRequest(client_software_name="kafkawire", client_software_version=__version__))
    assert isinstance(found, ApiVersionsResponse)
    return [
        {"key": each.api_key, "name": api_name(each.api_key), "versions": [each.min_version, each.max_version]}
        for each in sorted(found.api_keys, key=lambda each: each.api_key)
    ]


def sent(request: Request) -> Response:
    """The exchanges of the page itself."""
    rows = source_of(request).sent()
    return answer({"total": len(rows), "start": 0, "rows": rows})


def _offset(found: Any) -> str | None:
    return None if found is None else str(found.offset)


ROUTES: Final = [
    Route("/api/brokers", connect, methods=["POST"]),
    Route("/api/brokers/{id}/topics", topics),
    Route("/api/brokers/{id}/counts", counts, methods=["POST"]),
    Route("/api/brokers/{id}/topics/{topic}", topic),
    Route("/api/brokers/{id}/groups", groups),
    Route("/api/brokers/{id}/groups/{group:path}", group),
    Route("/api/brokers/{id}/cluster", cluster),
    Route("/api/brokers/{id}/sent", sent),
]
