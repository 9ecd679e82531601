"""ShareFetch: v1-2. Acquires records of share partitions for a member, and takes in its acknowledgements.

Rules:
- share.version 0: UNSUPPORTED_VERSION. A group id that is missing, or a member id that is missing, empty or longer than
  36 characters: INVALID_REQUEST.
- Sessions: `share.sessions`. A session more than the broker keeps is refused after max_wait_ms.
- Acknowledgements come first. Their errors are those of their partitions. The records that they release come after
  those that were available before. A request that renews locks (v2) has no limits, and fetches nothing.
- A topic id that no topic has: UNKNOWN_TOPIC_ID for its partitions. Apache Kafka 4.3 fails the whole request with
  UNKNOWN_SERVER_ERROR until the session forgets the topic.
- v2 adds record_limit (`share.acquisition`) and renewals.
- The last request of a session (-1) fetches nothing. Records that it does not acknowledge are released.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from kafkawire.broker._clock import wait
from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker.apis.share_group_heartbeat import session_key
from kafkawire.broker.share.acknowledging import acknowledge
from kafkawire.broker.share.fetching import Limits, ShareFetch
from kafkawire.broker.share.sessions import FINAL, INITIAL, SessionKey
from kafkawire.broker.share.stored import ShareKey
from kafkawire.messages import ShareFetchResponse
from kafkawire.messages.errors import (
    InvalidRequestError,
    ShareSessionLimitReachedError,
    ShareSessionNotFoundError,
)

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.broker._node import Node
    from kafkawire.broker.share.acknowledging import Outcome
    from kafkawire.broker.share.sessions import ShareSession
    from kafkawire.messages import ShareFetchRequest

    Place = tuple[UUID, int]
    PartitionData = ShareFetchResponse.PartitionData

_RECORD_LIMIT: Final = 1


def refuse(request: ShareFetchRequest, refusal: Refusal, context: RequestContext) -> ShareFetchResponse:
    return ShareFetchResponse(error_code=refusal.code)


@serves("ShareFetch", refuse=refuse)
async def handle(node: Node, request: ShareFetchRequest, context: RequestContext) -> ShareFetchResponse:
    key = session_key(node, request)
    renews = context.version >= 2 and request.is_renew_ack
    if renews:
        _check_renewal(request)
    places, acknowledges = await _places(request, context)
    session = await _session(node, key, request, places, context, acknowledges=acknowledges)
    outcomes: dict[Place, Outcome] = {}
    if acknowledges:
        fetches = session is not None and not renews
        outcomes = await acknowledge(node, key, request.topics, context, renews=renews, applies=not fetches)
    fetched: dict[Place, PartitionData] = {}
    if session is not None and not renews:
        most = min(request.max_bytes, node.max_fetch_bytes)
        limits = Limits(
            request.max_wait_ms,
            min(request.min_bytes, most),
            most,
            request.max_records,
            request.batch_size,
            context.version >= 2 and request.share_acquire_mode == _RECORD_LIMIT,
        )
        fetch = ShareFetch(node, session, limits, context)
        try:
            await fetch.run(list(session.partitions), request.share_session_epoch)
        finally:
            node.shares.apply_acknowledgements(ShareKey(key.group_id, *place) for place in outcomes)
        fetched = _told(session, fetch.answers, is_first=request.share_session_epoch == INITIAL)
    response = await _response(fetched, outcomes, context)
    response.acquisition_lock_timeout_ms = node.shares.lock_duration(key.group_id)
    if request.share_session_epoch == FINAL:
        node.shares.end_session(key)
    return response


def _check_renewal(request: ShareFetchRequest) -> None:
    limits = {
        "maxBytes": request.max_bytes,
        "minBytes": request.min_bytes,
        "maxRecords": request.max_records,
        "maxWaitMs": request.max_wait_ms,
    }
    wrong = [f"{name} must be set to 0, " for name, value in limits.items() if value]
    if wrong:
        raise InvalidRequestError("".join(wrong) + "if isRenewAck is true.")


async def _places(request: ShareFetchRequest, context: RequestContext) -> tuple[dict[Place, None], bool]:
    """The partitions of a request, and whether it acknowledges records."""
    places: dict[Place, None] = {}
    acknowledges = False
    for topic in request.topics:
        for partition in topic.partitions:
            places[topic.topic_id, partition.partition_index] = None
            acknowledges = acknowledges or bool(partition.acknowledgement_batches)
            await context.yield_if_due()
    return places, acknowledges


async def _session(
    node: Node,
    key: SessionKey,
    request: ShareFetchRequest,
    places: dict[Place, None],
    context: RequestContext,
    *,
    acknowledges: bool,
) -> ShareSession | None:
    """The session of a request; None if this is its last request."""
    sessions, epoch = node.shares.sessions, request.share_session_epoch
    if epoch == FINAL:
        if sessions.find(key) is None:
            raise ShareSessionNotFoundError(f"member {key.member_id!r} has no share session")
        return None
    if epoch == INITIAL:
        try:
            return sessions.begin(key, places, context.peer, acknowledges=acknowledges)
        except ShareSessionLimitReachedError:
            await wait(node.clock, asyncio.get_running_loop().create_future(), request.max_wait_ms)
            raise
    session = sessions.proceed(key, epoch)
    forgotten = ((topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions)
    session.update(places, forgotten)
    return session


def _told(session: ShareSession, answers: dict[Place, PartitionData], *, is_first: bool) -> dict[Place, PartitionData]:
    """The partitions that are in the response."""
    if is_first:
        return answers
    return {
        place: data
        for place, data in answers.items()
        if session.answers(place, has_records=bool(data.acquired_records), has_error=bool(data.error_code))
    }


async def _response(
    fetched: dict[Place, PartitionData], outcomes: dict[Place, Outcome], context: RequestContext
) -> ShareFetchResponse:
    for place, outcome in outcomes.items():
        data = fetched.get(place)
        if data is None:
            data = fetched[place] = ShareFetchResponse.PartitionData(partition_index=place[1], records=b"")
        data.acknowledge_error_code, data.acknowledge_error_message = outcome
        await context.yield_if_due()
    topics: dict[UUID, ShareFetchResponse.ShareFetchableTopicResponse] = {}
    for (topic_id, _), data in fetched.items():
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = ShareFetchResponse.ShareFetchableTopicResponse(topic_id=topic_id)
        topic.partitions.append(data)
        await context.yield_if_due()
    return ShareFetchResponse(responses=list(topics.values()))
