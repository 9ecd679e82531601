"""IncrementalAlterConfigs: v0-1. Settings changed one by one.

Rules:
- Operations: 0 sets, 1 takes back to the default, 2 adds to a list, 3 takes from a list. Lists start from the default
  if the resource has no value of its own.
- A resource, or a setting of it, that occurs twice: INVALID_REQUEST for the resource (`altering` has the rest).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.altering import alter, check_count, combine
from kafkawire.broker.serving import ErrorAnswer, RequestContext, serves
from kafkawire.messages import IncrementalAlterConfigsResponse
from kafkawire.messages.errors import InvalidRequestError, KafkaError

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import IncrementalAlterConfigsRequest

    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    Result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse


def refuse(
    request: IncrementalAlterConfigsRequest, refusal: ErrorAnswer, context: RequestContext
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(responses=[_result(resource, refusal) for resource in request.resources])


@serves("IncrementalAlterConfigs", refuse=refuse)
async def handle(
    node: Node, request: IncrementalAlterConfigsRequest, context: RequestContext
) -> IncrementalAlterConfigsResponse:
    times = await context.count((resource.resource_type, resource.resource_name) for resource in request.resources)
    response = IncrementalAlterConfigsResponse()
    for resource in request.resources:
        answer = ErrorAnswer(0, None)
        try:
            if times[resource.resource_type, resource.resource_name] > 1:
                raise InvalidRequestError(f"resource {resource.resource_name!r} occurs more than once")
            await _alter(node, resource, validate_only=request.validate_only)
        except KafkaError as error:
            answer = ErrorAnswer.of(error)
        response.responses.append(_result(resource, answer))
        await context.yield_if_due()
    return response


async def _alter(node: Node, resource: Resource, *, validate_only: bool) -> None:
    kind, name = resource.resource_type, resource.resource_name
    check_count(len(resource.configs))
    changes: dict[str, str | None] = {}
    for config in resource.configs:
        if config.name in changes:
            raise InvalidRequestError(f"setting {config.name} occurs more than once")
        changes[config.name] = combine(node, kind, name, config.name, config.config_operation, config.value)
    await alter(node, kind, name, changes, validate_only=validate_only)


def _result(resource: Resource, answer: ErrorAnswer) -> Result:
    return IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
        error_code=answer.code,
        error_message=answer.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
