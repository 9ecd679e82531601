"""AlterClientQuotas: v0-1. Sets and removes quotas.

Rules:
- An entity that cannot exist, a key that it cannot have, a value that the key cannot have, and a key twice:
  INVALID_REQUEST for the entity, and nothing of it changes. The others change.
- An entity that occurs twice: INVALID_REQUEST for it, answered once. Apache Kafka may take the first of the two.
- To remove a value that is not set succeeds. With ValidateOnly nothing changes.
- The name of an ip is an address, or a host name that is resolved when it is set.
- More than MOST_CHANGES changes: POLICY_VIOLATION for all.
- An entity has at most three types. Of a longer one the first four are read and answered, which are INVALID_REQUEST.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from kafkawire.broker._acls.entries import canonical_host
from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._quotas.service import alteration
from kafkawire.broker._quotas.stored import IP, check_entity, check_value, entity_of
from kafkawire.messages import AlterClientQuotasResponse
from kafkawire.messages.errors import InvalidRequestError, KafkaError, PolicyViolationError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.broker._quotas.stored import Entity
    from kafkawire.messages import AlterClientQuotasRequest

    Parts = tuple[tuple[str, str | None], ...]
    Change = tuple[Entity, str, float | None]

MOST_CHANGES: Final = 10_000
_MOST_PARTS: Final = 4


def refuse(request: AlterClientQuotasRequest, refusal: Refusal, context: RequestContext) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(entries=[_result(_parts(entry), refusal) for entry in request.entries])


@serves("AlterClientQuotas", refuse=refuse)
async def handle(node: Node, request: AlterClientQuotasRequest, context: RequestContext) -> AlterClientQuotasResponse:
    if sum(len(entry.ops) for entry in request.entries) > MOST_CHANGES or len(request.entries) > MOST_CHANGES:
        raise PolicyViolationError(f"more than {MOST_CHANGES} changes in one request")
    times = await context.count(entity_of(_parts(entry)) for entry in request.entries)
    answers: dict[Parts, Refusal] = {}
    changes: list[Change] = []
    for entry in request.entries:
        parts = _parts(entry)
        try:
            if times[entity_of(parts)] > 1:
                raise InvalidRequestError("the entity occurs more than once")
            changes += await _checked(entry)
            answers[parts] = Refusal(0, None)
        except KafkaError as error:
            answers[parts] = Refusal.of(error)
        await context.yield_if_due()
    if not request.validate_only:
        await node.changes.run(alteration(node, changes))
    response = AlterClientQuotasResponse()
    for parts, answer in answers.items():
        response.entries.append(_result(parts, answer))
        await context.yield_if_due()
    return response


async def _checked(entry: AlterClientQuotasRequest.EntryData) -> list[Change]:
    """The changes of one entity; raises if one of them is not valid."""
    entity = check_entity(list(_parts(entry)))
    if entity[0][0] == IP and entity[0][1] is not None:
        entity = ((IP, await _address(entity[0][1])),)
    changes: dict[str, float | None] = {}
    for each in entry.ops:
        if each.key in changes:
            raise InvalidRequestError("a key occurs twice")
        if not each.remove:
            check_value(entity, each.key, each.value)
        changes[each.key] = None if each.remove else each.value
    return [(entity, key, value) for key, value in changes.items()]


async def _address(name: str) -> str:
    """The address that a name stands for."""
    try:
        ip_address(name)
    except ValueError:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise InvalidRequestError("an ip that is not an address, and no host name that resolves") from None
        return str(found[0][4][0])
    return canonical_host(name)


def _parts(entry: AlterClientQuotasRequest.EntryData) -> Parts:
    return tuple((each.entity_type, each.entity_name) for each in entry.entity[:_MOST_PARTS])


def _result(parts: Parts, answer: Refusal) -> AlterClientQuotasResponse.EntryData:
    return AlterClientQuotasResponse.EntryData(
        error_code=answer.code,
        error_message=answer.message,
        entity=[AlterClientQuotasResponse.EntityData(entity_type=kind, entity_name=name) for kind, name in parts],
    )
