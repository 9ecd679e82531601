"""IncrementalAlterConfigs: v0-1. Changes single settings.

Rules:
- Operations: 0 sets, 1 resets to the default, 2 appends to a list, 3 removes from a list. A list starts with the
  default if the resource has no own value.
- A resource, or a setting of it, that occurs twice: INVALID_REQUEST for the resource (`_config.alterations` has the
  rest).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker._config.alterations import DELETE, alter, check_access, check_count, check_kind, combine
from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.messages import IncrementalAlterConfigsResponse
from kafkawire.messages.errors import InvalidRequestError, KafkaError
from kafkawire.wire.acls import Operation

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import IncrementalAlterConfigsRequest

    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    Result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse


def refuse(
    request: IncrementalAlterConfigsRequest, refusal: Refusal, context: RequestContext
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(responses=[_result(resource, refusal) for resource in request.resources])


@serves("IncrementalAlterConfigs", refuse=refuse)
async def handle(
    node: Node, request: IncrementalAlterConfigsRequest, context: RequestContext
) -> IncrementalAlterConfigsResponse:
    times = await context.count((resource.resource_type, resource.resource_name) for resource in request.resources)
    response = IncrementalAlterConfigsResponse()
    for resource in request.resources:
        answer = Refusal(0, None)
        try:
            if times[resource.resource_type, resource.resource_name] > 1:
                raise InvalidRequestError(f"resource {resource.resource_name!r} occurs more than once")
            check_access(context, Operation.ALTER_CONFIGS, resource.resource_type, resource.resource_name)
            await _alter(node, resource, validate_only=request.validate_only)
        except KafkaError as error:
            answer = Refusal.of(error)
        response.responses.append(_result(resource, answer))
        await context.yield_if_due()
    return response


async def _alter(node: Node, resource: Resource, *, validate_only: bool) -> None:
    kind, name = resource.resource_type, resource.resource_name
    check_count(len(resource.configs))
    seen: set[str] = set()
    for config in resource.configs:
        if config.name in seen:
            raise InvalidRequestError(f"setting {config.name} occurs more than once")
        if config.value is None and config.config_operation != DELETE:
            raise InvalidRequestError(f"{config.name}: null is not a value")
        seen.add(config.name)
    check_kind(kind)
    changes = {
        config.name: combine(node, kind, name, config.name, config.config_operation, config.value)
        for config in resource.configs
    }
    await alter(node, kind, name, changes, validate_only=validate_only)


def _result(resource: Resource, answer: Refusal) -> Result:
    return IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
        error_code=answer.code,
        error_message=answer.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
