"""Every request knows its principal, its listener and its client's address."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.broker import Broker
from kafkawire.broker._security.peer import ANONYMOUS, Principal, SecurityProtocol
from kafkawire.client import Admin

if TYPE_CHECKING:
    from kafkawire.broker import RequestContext


def test_a_principal_is_written_with_its_type() -> None:
    assert str(ANONYMOUS) == "User:ANONYMOUS"
    assert Principal.parse("User:CN=a,O=b:c") == Principal("User", "CN=a,O=b:c")


@pytest.mark.parametrize("text", ["alice", ":alice", ""])
def test_a_principal_without_a_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Type:name"):
        Principal.parse(text)


def test_a_request_on_a_plain_listener_is_anonymous() -> None:
    async def main() -> list[RequestContext]:
        seen: list[RequestContext] = []

        def watch(context: RequestContext, _request: Any, serve: Any) -> Any:
            seen.append(context)
            return serve()

        config = {"listeners": "INSIDE://127.0.0.1:0", "listener.security.protocol.map": "INSIDE:PLAINTEXT"}
        async with Broker(config=config) as broker:
            broker.dispatcher.interceptor = watch
            async with Admin(bootstrap_servers=broker.bootstrap) as admin:
                await admin.describe_cluster()
        return seen

    seen = asyncio.run(main())
    assert seen
    for context in seen:
        assert context.principal == ANONYMOUS
        assert (context.listener, context.peer.protocol) == ("INSIDE", SecurityProtocol.PLAINTEXT)
        assert context.address[0] == "127.0.0.1"
        assert context.address[1] > 0
