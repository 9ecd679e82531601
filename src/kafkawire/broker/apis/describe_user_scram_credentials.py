"""DescribeUserScramCredentials: v0. No user has any, so all users (null) are nobody and each one named is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.serving import RequestContext, serves
from kafkawire.messages import DescribeUserScramCredentialsResponse
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker.node import Node
    from kafkawire.messages import DescribeUserScramCredentialsRequest


@serves("DescribeUserScramCredentials")
def handle(
    node: Node, request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponse:
    response = DescribeUserScramCredentialsResponse()
    for user in request.users or ():
        response.results.append(
            DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult(
                user=user.name,
                error_code=ErrorCode.RESOURCE_NOT_FOUND,
                error_message=f"user {user.name!r} has no credentials",
            )
        )
    return response
