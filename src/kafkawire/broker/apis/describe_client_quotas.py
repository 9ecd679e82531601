"""DescribeClientQuotas: v0-1. Lists the quotas of the entities that a filter finds.

Rules:
- A component names a type and a match: 0 exactly a name, 1 the default, 2 any name or the default. An entity is found
  if it has every type of the filter. With `strict` it has no other type.
- An empty type, a type twice, a match that does not fit its kind, and an ip beside another type: INVALID_REQUEST. A
  type that does not exist: UNSUPPORTED_VERSION. A response with an error has no list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._quotas.stored import CLIENT_ID, IP, USER, matches
from kafkawire.messages import DescribeClientQuotasResponse
from kafkawire.messages.errors import InvalidRequestError, UnsupportedVersionError

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import DescribeClientQuotasRequest

EXACT, DEFAULT, ANY = 0, 1, 2


def refuse(
    request: DescribeClientQuotasRequest, refusal: Refusal, context: RequestContext
) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=refusal.code, error_message=refusal.message, entries=None)


@serves("DescribeClientQuotas", refuse=refuse)
async def handle(
    node: Node, request: DescribeClientQuotasRequest, context: RequestContext
) -> DescribeClientQuotasResponse:
    exact: dict[str, str | None] = {}
    any_name: set[str] = set()
    for each in request.components:
        kind, match = each.entity_type, each.match
        if not kind:
            raise InvalidRequestError("an empty entity type")
        if kind in exact or kind in any_name:
            raise InvalidRequestError("an entity type occurs twice")
        if kind not in (USER, CLIENT_ID, IP):
            raise UnsupportedVersionError("an entity type that does not exist, expected user, client-id or ip")
        if each.match_type not in (EXACT, DEFAULT, ANY):
            raise InvalidRequestError(f"match type {each.match_type}, expected 0, 1 or 2")
        if (match is None) == (each.match_type == EXACT):
            raise InvalidRequestError(f"match type {each.match_type} {'without' if match is None else 'with'} a name")
        if each.match_type == ANY:
            any_name.add(kind)
        else:
            exact[kind] = match
        await context.yield_if_due()
    types = exact.keys() | any_name
    if IP in types and len(types) > 1:
        raise InvalidRequestError("an ip together with a user or a client id")
    response = DescribeClientQuotasResponse(error_message="", entries=[])
    for entity, values in list(node.quotas.stored.values.items()):
        if matches(entity, exact, any_name, strict=request.strict):
            assert response.entries is not None
            response.entries.append(
                DescribeClientQuotasResponse.EntryData(
                    entity=[
                        DescribeClientQuotasResponse.EntityData(entity_type=kind, entity_name=name)
                        for kind, name in entity
                    ],
                    values=[
                        DescribeClientQuotasResponse.ValueData(key=key, value=value) for key, value in values.items()
                    ],
                )
            )
        await context.yield_if_due()
    return response
