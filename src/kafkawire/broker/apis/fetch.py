"""Fetch: v0-18. Records out of partitions.

Rules:
- Answered at once if nothing is waited for, there are MinBytes to read, or any partition has an error; else when there
  are, or after MaxWaitMs, with what is there then. Waiting holds no thread, and wakes on append.
- A partition that occurs more than once is read as its last occurrence asks, in the place of its first.
- A request that is too large to be decoded at once does not wait: it is answered with what is there, because only one
  such request is served at a time. Other requests, and sessions, have so few partitions that only reading them yields.
- v7+: incremental sessions (`sessions`). A refused session is a top-level error without partitions.
- v13+: topics by id. v16+ tells who leads, where the client's leader epoch is too old.
- Stored bytes are not read (`reading`), but for clients before v4, which get an older format: a thread converts them.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kafkawire.broker.reading import Piece, Reader, Reading, convert_all
from kafkawire.broker.serving import ErrorAnswer, RequestContext, Streamed, serves
from kafkawire.broker.sessions import Fetching, Wanted
from kafkawire.broker.watchers import Watch
from kafkawire.messages import FetchResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.broker.node import Node
    from kafkawire.broker.sessions import Key
    from kafkawire.messages import FetchRequest

    TopicPartition = tuple[str, int]


def refuse(request: FetchRequest, refusal: ErrorAnswer, context: RequestContext) -> FetchResponse:
    response = FetchResponse(error_code=refusal.code)
    if context.version < 7:
        for topic in request.topics:
            failed = FetchResponse.FetchableTopicResponse(topic=topic.topic)
            for each in topic.partitions:
                failed.partitions.append(
                    FetchResponse.PartitionData(
                        partition_index=each.partition, error_code=refusal.code, high_watermark=-1, records=b""
                    )
                )
            response.responses.append(failed)
    return response


@serves("Fetch", refuse=refuse)
async def handle(node: Node, request: FetchRequest, context: RequestContext) -> Streamed:
    version = context.version
    fetching = node.sessions.begin(
        request.session_id if version >= 7 else 0,
        request.session_epoch if version >= 7 else -1,
        await _wanted(request, context),
        await _forgotten(request, context) if version >= 7 else (),
        uses_ids=version >= 13,
    )
    if fetching.error:
        return Streamed(FetchResponse(error_code=fetching.error), ())
    most = node.config.integer("fetch.max.bytes")
    reader = Reader(
        version,
        request.isolation_level if version >= 4 else 0,
        request.replica_state.replica_id if version >= 15 else request.replica_id,
        min(request.max_bytes, most) if version >= 3 else most,
        context.listener,
    )
    seen, deadline = node.watchers.changes, node.clock.elapsed() + request.max_wait_ms
    reading = Reading(node, fetching.wanted, reader)
    await reading.read(context)
    if not (request.max_wait_ms <= 0 or not reading.pieces or context.is_large or reading.is_enough(request.min_bytes)):
        await _poll(node, reading, _positions(node, fetching.wanted), context, request.min_bytes, deadline, seen)
    if reader.magic < 2 and reading.holds_records:
        await asyncio.get_running_loop().run_in_executor(None, convert_all, reading.pieces, reader.magic)
    return await _answer(node, fetching, reading.pieces, context)


async def _poll(
    node: Node,
    reading: Reading,
    positions: dict[TopicPartition, int],
    context: RequestContext,
    min_bytes: int,
    deadline: int,
    seen: int,
) -> None:
    """Wait until there is enough; `seen` is the number of changes before the partitions were read."""
    watch = Watch(positions.keys())
    node.watchers.add(watch)
    try:
        if node.watchers.changes != seen:
            await reading.read_again(positions.values(), context)
        in_time = True
        while in_time and not reading.is_enough(min_bytes):
            in_time = await watch.wait(node.clock, deadline - node.clock.elapsed())
            context.begin_turn()
            context.was_paused = False  # the turns before the wait say nothing about the answer's size
            await reading.read_again((positions[key] for key in watch.take()), context)
    finally:
        node.watchers.remove(watch)


async def _answer(node: Node, fetching: Fetching, pieces: list[Piece], context: RequestContext) -> Streamed:
    session_id, sent = 0, None
    if fetching.has_session:
        session_id, sent = fetching.finish([(piece.wanted, piece.told()) for piece in pieces])
    response = FetchResponse(session_id=session_id)
    contents = []
    topic: FetchResponse.FetchableTopicResponse | None = None
    last: object = None
    for position, piece in enumerate(pieces):
        if sent is not None and not sent[position]:
            continue
        name = piece.wanted.topic
        if topic is None or name != last:
            topic = FetchResponse.FetchableTopicResponse()
            if isinstance(name, str):
                topic.topic = name
            else:
                topic.topic_id = name
            response.responses.append(topic)
            last = name
        topic.partitions.append(piece.data)
        if piece.content is not None:
            contents.append(piece.content)
        if not response.node_endpoints and piece.data.current_leader.leader_id != -1:
            here = node.endpoints[context.listener]
            response.node_endpoints = [
                FetchResponse.NodeEndpoint(node_id=node.id, host=here.host, port=here.port, rack=node.rack)
            ]
        if context.is_large:
            await context.yield_if_due()
    return Streamed(response, contents)


async def _wanted(request: FetchRequest, context: RequestContext) -> list[Wanted]:
    version = context.version
    found: dict[Key, Wanted] = {}
    for topic in request.topics:
        name = topic.topic if version < 13 else topic.topic_id
        for each in topic.partitions:
            found[name, each.partition] = Wanted(
                name,
                each.partition,
                each.fetch_offset,
                each.partition_max_bytes,
                each.current_leader_epoch if version >= 9 else -1,
                each.last_fetched_epoch if version >= 12 else -1,
            )
            if context.is_large:
                await context.yield_if_due()
    return list(found.values())


async def _forgotten(request: FetchRequest, context: RequestContext) -> list[Key]:
    found: list[Key] = []
    for topic in request.forgotten_topics_data:
        name = topic.topic if context.version < 13 else topic.topic_id
        for index in topic.partitions:
            found.append((name, index))
            if context.is_large:
                await context.yield_if_due()
    return found


def _positions(node: Node, wanted: Sequence[Wanted]) -> dict[TopicPartition, int]:
    """Where the answer has the partitions that can change."""
    positions: dict[TopicPartition, int] = {}
    for position, each in enumerate(wanted):
        topic = node.topics.find(each.topic) if isinstance(each.topic, str) else node.topics.find_id(each.topic)
        if topic is not None:
            positions[topic.name, each.index] = position
    return positions
