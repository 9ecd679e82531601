"""The client on an event loop that is not asyncio's own, as web servers run it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.security.secured import tls_settings

from kafkawire.client import ConnectionLostError, Consumer, Producer
from kafkawire.client._cluster.connection import Connection
from kafkawire.client.options import ClientOptions
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

uvloop = pytest.importorskip("uvloop")
COUNT = 300
LARGE = 5_000


@pytest.fixture(params=["PLAINTEXT", "SSL"])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    is_tls = request.param == "SSL"
    with RunningBroker(tmp_path / "data", config=tls_settings(tmp_path) if is_tls else {}) as broker:
        trust = {"security_protocol": "SSL", "ssl_cafile": str(tmp_path / "ca.pem")} if is_tls else {}
        yield {"bootstrap_servers": broker.bootstrap_servers, **trust}


@pytest.mark.parametrize("acks", ["all", 0])
def test_records_go_to_the_broker_and_back(options: dict[str, Any], acks: Any) -> None:
    async def main() -> list[bytes]:
        async with Producer(acks=acks, enable_idempotence=acks == "all", max_batch_size=50_000, **options) as producer:
            for number in range(COUNT):
                await producer.send("loops", b"%05d" % number * LARGE)
            await producer.flush()
        found: list[bytes] = []
        async with Consumer("loops", auto_offset_reset="earliest", **options) as consumer, asyncio.timeout(60):
            async for record in consumer:
                found.append(record.value)
                if len(found) == COUNT:
                    break
        return found

    assert uvloop.run(main()) == [b"%05d" % number * LARGE for number in range(COUNT)]


def test_a_port_that_nothing_listens_on_is_an_error_of_the_client() -> None:
    async def main() -> None:
        with pytest.raises(ConnectionLostError, match=r"^127\.0\.0\.1:1: "):
            await Connection.open("127.0.0.1", 1, ClientOptions())

    uvloop.run(main())
