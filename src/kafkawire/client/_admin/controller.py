"""Requests for the controller of a cluster.

Rules:
- If the controller is not known, as with KRaft, any broker gets the request and forwards it.
- A request that creates or deletes may take as long as its own timeout, so the answer is awaited for twice this time.
- `older` is a version and another form of the request, for brokers that serve no version above this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kafkawire.messages import Message

if TYPE_CHECKING:
    from kafkawire.client._cluster.cluster import Cluster

_Answer = TypeVar("_Answer", bound=Message)


async def at_controller(
    cluster: Cluster, request: Message, answer: type[_Answer], *, older: tuple[int, Message] | None = None
) -> _Answer:
    """The answer of the controller, as soon as it is reached."""

    async def ask() -> _Answer:
        known = cluster.metadata
        node = known.controller_id if known.controller_id in known.nodes else cluster.any_node()
        connection = await cluster.connection(node)
        key = type(request).__schema__.key
        assert key is not None
        chosen = request
        if older is not None and connection.version(key) <= older[0]:
            chosen = older[1]
        return await connection.request(chosen, answer, timeout=2 * cluster.options.request_timeout_ms / 1000)

    return await cluster.retry(type(request).__name__.removesuffix("Request"), ask)
