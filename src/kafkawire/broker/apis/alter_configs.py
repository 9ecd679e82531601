"""AlterConfigs: v0-2. Replaces the settings of a resource by those of the request.

Rules:
- Settings that the request does not name are reset to their defaults.
- A resource, or a setting of it, that occurs twice, and a value that is null: INVALID_REQUEST for the resource
  (`_config.alterations` has the rest).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._config.alterations import alter, check_access, check_count, current
from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.messages import AlterConfigsResponse
from kafkawire.messages.errors import InvalidRequestError, KafkaError
from kafkawire.wire.acls import Operation

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import AlterConfigsRequest

    Resource = AlterConfigsRequest.AlterConfigsResource
    Result = AlterConfigsResponse.AlterConfigsResourceResponse


def refuse(request: AlterConfigsRequest, refusal: Refusal, context: RequestContext) -> AlterConfigsResponse:
    return AlterConfigsResponse(responses=[_result(resource, refusal) for resource in request.resources])


@serves("AlterConfigs", refuse=refuse)
async def handle(node: Node, request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse:
    times = await context.count((resource.resource_type, resource.resource_name) for resource in request.resources)
    response = AlterConfigsResponse()
    for resource in request.resources:
        kind, name = resource.resource_type, resource.resource_name
        answer = Refusal(0, None)
        try:
            if times[kind, name] > 1:
                raise InvalidRequestError(f"resource {name!r} occurs {times[kind, name]} times")
            check_access(context, Operation.ALTER_CONFIGS, kind, name)
            check_count(len(resource.configs))
            changes = {**dict.fromkeys(current(node, kind, name)), **_values(resource)}
            await alter(node, kind, name, changes, validate_only=request.validate_only)
        except KafkaError as error:
            answer = Refusal.of(error)
        response.responses.append(_result(resource, answer))
        await context.yield_if_due()
    return response


def _values(resource: Resource) -> dict[str, str]:
    found: dict[str, str] = {}
    for config in resource.configs:
        if config.name in found:
            raise InvalidRequestError(f"setting {config.name} occurs more than once")
        if config.value is None:
            raise InvalidRequestError(f"{config.name}: null is not a value")
        found[config.name] = config.value
    return found


def _result(resource: Resource, answer: Refusal) -> Result:
    return AlterConfigsResponse.AlterConfigsResourceResponse(
        error_code=answer.code,
        error_message=answer.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
