"""Fetch: v0-18. Records out of partitions.

Rules:
- Answered at once if nothing is waited for, there are MinBytes to read, or any partition has an error; else when there
  are, or after MaxWaitMs, with what is there then. Waiting holds no thread, and wakes on append.
- v7+: incremental sessions (`sessions`). A refused session is a top-level error without partitions.
- v13+: topics by id. v16+ tells who leads, where the client's leader epoch is too old.
- Stored bytes are not read (`reading`), but for clients before v4, which get an older format: a thread converts them.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kafkawire.broker.clock import wait
from kafkawire.broker.reading import Piece, Reader, convert_all, read_all
from kafkawire.broker.serving import ErrorAnswer, RequestContext, Streamed, serves
from kafkawire.broker.sessions import Fetching, Wanted
from kafkawire.messages import FetchResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable

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
def handle(node: Node, request: FetchRequest, context: RequestContext) -> Streamed | Awaitable[Streamed]:
    version = context.version
    fetching = node.sessions.begin(
        request.session_id if version >= 7 else 0,
        request.session_epoch if version >= 7 else -1,
        _wanted(request, version),
        _forgotten(request, version),
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
    pieces = read_all(node, fetching.wanted, reader)
    if request.max_wait_ms <= 0 or not pieces or _is_enough(pieces, request.min_bytes):
        if reader.magic < 2 and any(piece.content for piece in pieces):
            return _convert(node, fetching, pieces, reader)
        return _answer(node, fetching, pieces, reader)
    return _poll(node, request, fetching, reader, node.watchers.changes)


async def _poll(node: Node, request: FetchRequest, fetching: Fetching, reader: Reader, seen: int) -> Streamed:
    """Wait for a change and look again; `seen` is how many changes there had been when it was looked last."""
    deadline = node.clock.elapsed() + request.max_wait_ms
    watched = _names(node, fetching.wanted)
    while True:
        in_time = True
        if node.watchers.changes == seen:
            changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            node.watchers.watch(watched, changed)
            try:
                in_time = await wait(node.clock, changed, deadline - node.clock.elapsed())
            finally:
                node.watchers.unwatch(watched, changed)
        seen = node.watchers.changes
        pieces = read_all(node, fetching.wanted, reader)
        if not in_time or _is_enough(pieces, request.min_bytes):
            return await _convert(node, fetching, pieces, reader)


async def _convert(node: Node, fetching: Fetching, pieces: list[Piece], reader: Reader) -> Streamed:
    if reader.magic < 2:
        await asyncio.get_running_loop().run_in_executor(None, convert_all, pieces, reader.magic)
    return _answer(node, fetching, pieces, reader)


def _is_enough(pieces: list[Piece], min_bytes: int) -> bool:
    size = 0
    for piece in pieces:
        if piece.is_settled:
            return True
        size += piece.size
    return size >= min_bytes


def _answer(node: Node, fetching: Fetching, pieces: list[Piece], reader: Reader) -> Streamed:
    if reader.version >= 7:
        session_id, sent = fetching.finish([(piece.wanted, piece.told()) for piece in pieces])
    else:
        session_id, sent = 0, [True] * len(pieces)
    response = FetchResponse(session_id=session_id)
    contents = []
    topic: FetchResponse.FetchableTopicResponse | None = None
    last: object = None
    for piece, is_sent in zip(pieces, sent, strict=True):
        if not is_sent:
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
        if piece.data.current_leader.leader_id != -1:
            here = node.endpoints[reader.listener]
            response.node_endpoints = [
                FetchResponse.NodeEndpoint(node_id=node.id, host=here.host, port=here.port, rack=node.rack)
            ]
    return Streamed(response, contents)


def _wanted(request: FetchRequest, version: int) -> list[Wanted]:
    return [
        Wanted(
            topic.topic if version < 13 else topic.topic_id,
            each.partition,
            each.fetch_offset,
            each.partition_max_bytes,
            each.current_leader_epoch if version >= 9 else -1,
            each.last_fetched_epoch if version >= 12 else -1,
        )
        for topic in request.topics
        for each in topic.partitions
    ]


def _forgotten(request: FetchRequest, version: int) -> list[Key]:
    if version < 7:
        return []
    return [
        (topic.topic if version < 13 else topic.topic_id, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]


def _names(node: Node, wanted: list[Wanted]) -> list[TopicPartition]:
    names = []
    for each in wanted:
        topic = node.topics.find(each.topic) if isinstance(each.topic, str) else node.topics.find_id(each.topic)
        if topic is not None:
            names.append((topic.name, each.index))
    return names
