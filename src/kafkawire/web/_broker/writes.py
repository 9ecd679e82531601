"""Changes of a broker: produce, create and delete a topic, set a config, move the offsets of a group.

Rules:
- Every route is refused unless the page was started with `--write`.
- Moving offsets returns the table of before and after; only with `execute` are they set.
- Deleting a topic needs its name a second time.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from starlette.routing import Route

from kafkawire.client import EARLIEST, LATEST, ConfigResource, NewTopic, Producer, ResourceType, TopicPartition
from kafkawire.web._broker.listing import source_of
from kafkawire.web._broker.source import connected
from kafkawire.web._server.answers import answer
from kafkawire.web._server.problems import Problem
from kafkawire.web._server.requests import body_of, field_in, whole_number, workspace_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    Handler = Callable[[Request], Awaitable[Response]]

MOST_COPIES: Final = 10_000
_GOALS: Final = {"earliest": EARLIEST, "latest": LATEST}


def writes(handler: Handler) -> Handler:
    """A handler that needs the right to write."""

    @wraps(handler)
    async def guarded(request: Request) -> Response:
        if not workspace_of(request).options.write:
            raise Problem("this page only reads; start it with --write to allow changes", status=403)
        return await handler(request)

    return guarded


@writes
async def produce(request: Request) -> Response:
    """Send a record, or several copies of it."""
    source, topic, body = source_of(request), request.path_params["topic"], await body_of(request)
    await connected(source)
    copies = field_in(body, "copies", int, 1)
    if not 1 <= copies <= MOST_COPIES:
        raise Problem(f"copies: expected 1 to {MOST_COPIES}, found {copies}", status=400)
    key, value = (_bytes_in(body, name) for name in ("key", "value"))
    headers = [(str(name), _text_bytes(each)) for name, each in field_in(body, "headers", dict, {}).items()]
    partition = body.get("partition") if isinstance(body.get("partition"), int) else None
    place: Any = None
    async with Producer(source.config) as producer:
        waiting = [await producer.send(topic, value, key, partition, headers=headers) for _ in range(copies)]
        for each in waiting:
            place = await each
    return answer({"partition": place.partition, "offset": str(place.offset), "copies": copies})


@writes
async def create(request: Request) -> Response:
    """Create a topic."""
    source, body = source_of(request), await body_of(request)
    admin = await connected(source)
    configs = {str(name): str(value) for name, value in field_in(body, "configs", dict, {}).items()}
    made = NewTopic(
        name=field_in(body, "name", str, ""),
        num_partitions=field_in(body, "partitions", int, -1),
        topic_configs=configs,
    )
    await admin.create_topics([made])
    source.keep("topics", None)
    return answer({"name": made.name})


@writes
async def delete(request: Request) -> Response:
    """Delete a topic, whose name was typed again."""
    source, topic, body = source_of(request), request.path_params["topic"], await body_of(request)
    if field_in(body, "name", str, "") != topic:
        raise Problem("type the name of the topic to delete it")
    await (await connected(source)).delete_topics([topic])
    source.keep("topics", None)
    return answer({})


@writes
async def configure(request: Request) -> Response:
    """Set a config of a topic; null resets it to its default."""
    source, topic, body = source_of(request), request.path_params["topic"], await body_of(request)
    value = body.get("value")
    change = {field_in(body, "name", str, ""): None if value is None else str(value)}
    await (await connected(source)).alter_configs(ConfigResource(ResourceType.TOPIC, topic), change)
    return answer({})


@writes
async def move(request: Request) -> Response:
    """Move the offsets of a group: the plan, and with `execute` the change."""
    source, group, body = source_of(request), request.path_params["group"], await body_of(request)
    admin = await connected(source)
    committed = await admin.list_group_offsets(group)
    goal, topic = field_in(body, "to", str, "earliest"), field_in(body, "topic", str, "")
    places = [place for place in sorted(committed) if not topic or place.topic == topic]
    if not places:
        raise Problem("the group has no offsets to move")
    offset = whole_number(goal)
    if goal not in _GOALS and offset is None:
        raise Problem(f"to: expected earliest, latest or an offset, found {goal[:40]!r}", status=400)
    low, high = await _ends(admin, places)
    plan = {
        place: low[place]
        if goal == "earliest"
        else high[place]
        if goal == "latest"
        else min(max(offset or 0, low[place]), high[place])
        for place in places
    }
    if field_in(body, "execute", bool, False):
        await admin.alter_group_offsets(group, plan)
    rows = [
        {"topic": place.topic, "partition": place.partition, "before": str(committed[place].offset), "after": str(at)}
        for place, at in plan.items()
    ]
    return answer({"rows": rows, "executed": field_in(body, "execute", bool, False)})


@writes
async def send_frame(request: Request) -> Response:
    """Send the request of a frame as it is to a broker; answers with its number among what the page sent."""
    from kafkawire.messages import message_class
    from kafkawire.web._bytes.versions import body_of_frame

    source, body = source_of(request), await body_of(request)
    document = workspace_of(request).document(field_in(body, "doc", str, ""))
    number = field_in(body, "frame", int, 0)
    if not 0 <= number < len(document.frames):
        raise Problem(f"there is no frame {number}", status=404)
    frame = document.frames[number]
    if frame.kind != "request" or not frame.whole:
        raise Problem("only a request without a fault can be sent")
    message = message_class(frame.message).decode(body_of_frame(frame), frame.version)
    await (await connected(source)).raw(message, version=frame.version)
    name = frame.message.removesuffix("Request")
    return answer({"number": next((each["number"] for each in source.sent() if each["api"] == name), None)})


async def _ends(
    admin: Any, places: list[TopicPartition]
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    found = [await admin.list_offsets(dict.fromkeys(places, when)) for when in (EARLIEST, LATEST)]
    first, last = ({place: at.offset if at else 0 for place, at in each.items()} for each in found)
    return first, last


def _bytes_in(body: dict[str, Any], name: str) -> bytes | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise Problem(f"{name}: expected a text or null", status=400)
    if value is not None and body.get(f"{name}_hex"):
        try:
            return bytes.fromhex(value)
        except ValueError as error:
            raise Problem(f"{name} is not hex: {error}") from error
    return _text_bytes(value)


def _text_bytes(value: object) -> bytes | None:
    return None if value is None else str(value).encode()


ROUTES: Final = [
    Route("/api/brokers/{id}/send", send_frame, methods=["POST"]),
    Route("/api/brokers/{id}/topics", create, methods=["POST"]),
    Route("/api/brokers/{id}/topics/{topic}/produce", produce, methods=["POST"]),
    Route("/api/brokers/{id}/topics/{topic}/delete", delete, methods=["POST"]),
    Route("/api/brokers/{id}/topics/{topic}/configs", configure, methods=["POST"]),
    Route("/api/brokers/{id}/groups/{group:path}/offsets", move, methods=["POST"]),
]
