"""DescribeUserScramCredentials: v0. No user has credentials, so null returns none, and a named user is unknown.

Rules:
- A user that occurs once: RESOURCE_NOT_FOUND. One that occurs twice: DUPLICATE_RESOURCE, answered once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import RequestContext, serves
from kafkawire.messages import DescribeUserScramCredentialsResponse
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import DescribeUserScramCredentialsRequest


_MESSAGES: Final = {
    ErrorCode.RESOURCE_NOT_FOUND: "the user has no credentials",
    ErrorCode.DUPLICATE_RESOURCE: "the user is named more than once",
}


@serves("DescribeUserScramCredentials")
async def handle(
    node: Node, request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponse:
    errors: dict[str, ErrorCode] = {}
    for user in request.users or ():
        repeated = user.name in errors
        errors[user.name] = ErrorCode.DUPLICATE_RESOURCE if repeated else ErrorCode.RESOURCE_NOT_FOUND
        await context.yield_if_due()
    response = DescribeUserScramCredentialsResponse()
    for name, code in errors.items():
        response.results.append(
            DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult(
                user=name, error_code=code, error_message=_MESSAGES[code]
            )
        )
        await context.yield_if_due()
    return response
