"""The acknowledgements of a request, checked and carried out.

Rules:
- The batches of a partition ascend, and do not overlap by more than one offset. A batch has one type for all of its
  offsets, or one for each. Types are 0 (gap) to 3, and 4 (renew) from version 2 on, if the request says so.
- A partition's acknowledgements are all taken in, or none. Partitions do not affect each other.
- A partition without batches is answered without an error, if another one has some.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker.share.partition import REJECT, RENEW, Acknowledgement
from kafkawire.broker.share.stored import ShareKey
from kafkawire.messages.errors import ErrorCode, KafkaError
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from uuid import UUID

    from kafkawire.broker._dispatch.registry import RequestContext
    from kafkawire.broker._node import Node
    from kafkawire.broker.share.sessions import SessionKey
    from kafkawire.messages import ShareAcknowledgeRequest, ShareFetchRequest

    Place = tuple[UUID, int]
    Topics = Sequence[ShareFetchRequest.FetchTopic] | Sequence[ShareAcknowledgeRequest.AcknowledgeTopic]
    Batches = Iterable[ShareFetchRequest.AcknowledgementBatch] | Iterable[ShareAcknowledgeRequest.AcknowledgementBatch]


class Outcome(NamedTuple):
    """The error of a partition's acknowledgements, or none."""

    code: int = ErrorCode.NONE
    message: str | None = None


_INVALID: Final = Outcome(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST.meaning)


async def acknowledge(
    node: Node, session: SessionKey, topics: Topics, context: RequestContext, *, renews: bool, applies: bool = True
) -> dict[Place, Outcome]:
    """The outcome of each partition; without `applies`, the rest is left to `Shares.apply_acknowledgements`."""
    outcomes: dict[Place, Outcome] = {}
    empty: list[Place] = []
    written: list[ShareKey] = []
    for topic in topics:
        known = node.topics.find_id(topic.topic_id)
        for partition in topic.partitions:
            place = topic.topic_id, partition.partition_index
            await context.yield_if_due()
            if known is None:
                outcomes[place] = Outcome(ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID.meaning)
                continue
            batches = _checked(partition.acknowledgement_batches, has_renewals=context.version >= 2, renews=renews)
            if batches is None:
                outcomes[place] = _INVALID
            elif not context.may(Operation.READ, ResourceType.TOPIC, known.name):
                code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                outcomes[place] = Outcome(code, code.meaning)
            elif not 0 <= place[1] < known.partitions:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                outcomes[place] = Outcome(code, code.meaning)
            elif not batches:
                empty.append(place)
            else:
                key = ShareKey(session.group_id, *place)
                try:
                    node.shares.acknowledge(key, session.member_id, batches, applies=applies)
                    outcomes[place] = Outcome()
                except KafkaError as error:
                    outcomes[place] = Outcome(error.code, error.message)
                written.append(key)
    if written:
        outcomes.update(dict.fromkeys(empty, Outcome()))
        await node.shares.durable(written)
    return outcomes


def _checked(batches: Batches, *, has_renewals: bool, renews: bool) -> list[Acknowledgement] | None:
    """The acknowledgements of a partition; None if they are not valid."""
    most = RENEW if has_renewals else REJECT
    found: list[Acknowledgement] = []
    previous = -1
    for each in batches:
        first, last, types = each.first_offset, each.last_offset, each.acknowledge_types
        is_valid = (
            previous <= first <= last
            and len(types) in (1, last - first + 1)
            and min(types) >= 0
            and max(types) <= most
            and (renews or RENEW not in types)
        )
        if not is_valid:
            return None
        found.append(Acknowledgement(first, last, types))
        previous = last
    return found
