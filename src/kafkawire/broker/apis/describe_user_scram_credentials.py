"""DescribeUserScramCredentials: v0. The mechanisms and iterations of users, never their keys.

Rules:
- Null or an empty list describes all users.
- A user without credentials: RESOURCE_NOT_FOUND. One that occurs twice: DUPLICATE_RESOURCE, answered once.
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
    ErrorCode.NONE: None,
    ErrorCode.RESOURCE_NOT_FOUND: "the user has no credentials",
    ErrorCode.DUPLICATE_RESOURCE: "the user is named more than once",
}


@serves("DescribeUserScramCredentials")
async def handle(
    node: Node, request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponse:
    users = node.scram_users
    codes: dict[str, ErrorCode] = {}
    for name in [user.name for user in request.users] if request.users else list(users):
        known = ErrorCode.NONE if users.of(name) else ErrorCode.RESOURCE_NOT_FOUND
        codes[name] = ErrorCode.DUPLICATE_RESOURCE if name in codes else known
        await context.yield_if_due()
    response = DescribeUserScramCredentialsResponse()
    for name, code in codes.items():
        found = users.of(name) if code is ErrorCode.NONE else {}
        response.results.append(
            DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult(
                user=name,
                error_code=code,
                error_message=_MESSAGES[code],
                credential_infos=[
                    DescribeUserScramCredentialsResponse.CredentialInfo(mechanism=number, iterations=each.iterations)
                    for number, each in found.items()
                ],
            )
        )
        await context.yield_if_due()
    return response
