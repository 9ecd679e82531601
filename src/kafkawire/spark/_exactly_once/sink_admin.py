"""The administration of the transactions of a sink.

It knows the brokers of a cluster and not its topics: a driver opens it with every batch, and the metadata of all topics
may be large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from kafkawire.client import Cluster, TransactionAdmin
from kafkawire.client.options import ProducerOptions, read_options

if TYPE_CHECKING:
    from collections.abc import Mapping


class SinkAdmin(TransactionAdmin):
    """Ends, describes, lists and fences transactions, with the options of a producer."""

    def __init__(self, client: Mapping[str, str]) -> None:
        self._cluster = Cluster(read_options(ProducerOptions, client, {}))
        self._cluster.allow_creation = False

    async def __aenter__(self) -> Self:
        await self._cluster.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._cluster.close()

    async def _know(self, topics: set[str]) -> None:
        await self._cluster.refresh(topics)
