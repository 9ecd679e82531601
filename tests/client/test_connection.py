"""One connection: versions, order, limits, time, and a clean end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.client.scripted_broker import HANG_UP, SILENCE, ScriptedBroker

from kafkawire import __version__
from kafkawire.client._cluster.blocking_connection import SocketConnection, run
from kafkawire.client._cluster.connection import Connection
from kafkawire.client.errors import AuthenticationFailedError, ConnectionLostError, RequestTimeoutError
from kafkawire.client.options import ClientOptions
from kafkawire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
    api,
)
from kafkawire.wire import NegotiationError, answer_unsupported, decode_request_header, encode_request, encode_response

pytestmark = pytest.mark.usefixtures("virtual_time")


def heartbeat(request: Any, version: int) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=int(request.group_id))


async def connect(broker: ScriptedBroker, **options: Any) -> Connection:
    return await Connection.open("127.0.0.1", broker.port, ClientOptions(**options))


async def beat(connection: Connection, number: int, **how: Any) -> int:
    answer = await connection.request(HeartbeatRequest(group_id=str(number)), HeartbeatResponse, **how)
    return answer.error_code


def test_the_first_request_introduces_us_and_versions_are_agreed_for_each_broker() -> None:
    async def main() -> None:
        async with ScriptedBroker({"Heartbeat": heartbeat}) as broker:
            broker.ranges = {"Heartbeat": (0, 2), "Metadata": (4, 99)}
            connection = await connect(broker, client_id="mine")
            await beat(connection, 0)
            await connection.request(MetadataRequest(), MetadataResponse)
            _, _, hello = broker.requests[0]
            assert isinstance(hello, ApiVersionsRequest)
            assert (hello.client_software_name, hello.client_software_version) == ("kafkawire", __version__)
            assert [version for _, version, _ in broker.requests[1:]] == [2, 13]
            assert broker.clients == {"mine"}
            connection.close()

    asyncio.run(main())


@pytest.mark.parametrize("named", [True, False])
def test_a_broker_that_does_not_know_our_apiversions_is_asked_again_in_one_it_knows(named: bool) -> None:
    async def main() -> None:
        broker = ScriptedBroker({"Heartbeat": heartbeat})

        def old(request: Any, version: int) -> Any:
            if version <= (2 if named else 0):
                return broker.api_versions(request, version)
            if not named:
                return bytes.fromhex("0000000a" + "00000001" + "0023" + "00000000")
            header, _ = decode_request_header(encode_request(request, version=version, correlation_id=1))
            return answer_unsupported(header, type(api_versions)(0, 2))

        api_versions = api("ApiVersions").versions
        broker.handlers["ApiVersions"] = old
        async with broker:
            connection = await connect(broker)
            assert [version for _, version, _ in broker.requests] == [api_versions.last, 2 if named else 0]
            assert await beat(connection, 7) == 7
            connection.close()

    asyncio.run(main())


def test_an_api_that_the_broker_does_not_have_is_refused_before_anything_is_sent() -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            connection = await connect(broker)
            with pytest.raises(NegotiationError, match="ListGroups: the peer does not serve this API"):
                await connection.request(ListGroupsRequest(), ListGroupsResponse)
            assert broker.names() == ["ApiVersions"]
            connection.close()

    asyncio.run(main())


def test_pipelined_requests_get_their_own_answers() -> None:
    async def main() -> None:
        async with ScriptedBroker({"Heartbeat": heartbeat}) as broker:
            connection = await connect(broker)
            assert await asyncio.gather(*(beat(connection, number) for number in range(50))) == list(range(50))
            connection.close()

    asyncio.run(main())


def test_no_more_than_the_limit_is_in_flight() -> None:
    async def main() -> None:
        async with ScriptedBroker({"Heartbeat": lambda request, version: SILENCE}) as broker:
            connection = await connect(broker, max_in_flight_requests_per_connection=3)
            waiting = [asyncio.create_task(beat(connection, number)) for number in range(10)]
            await asyncio.sleep(0.05)
            assert connection.in_flight == 3
            assert broker.names().count("Heartbeat") == 3
            connection.close()
            results = await asyncio.gather(*waiting, return_exceptions=True)
            assert all(isinstance(result, ConnectionLostError) for result in results)

    asyncio.run(main())


def test_an_answer_to_another_request_ends_the_connection() -> None:
    async def main() -> None:
        async with ScriptedBroker({"Heartbeat": heartbeat}) as broker:
            connection = await connect(broker)
            broker.correlation_shift = 1
            with pytest.raises(ConnectionLostError, match="expected a response to request 2, found one to 3"):
                await beat(connection, 1)
            assert not connection.is_open

    asyncio.run(main())


def test_an_answer_that_nobody_asked_for_ends_the_connection() -> None:
    async def main() -> None:
        twice = encode_response(HeartbeatResponse(), api_key=12, version=4, correlation_id=2) * 2
        async with ScriptedBroker({"Heartbeat": lambda request, version: twice}) as broker:
            connection = await connect(broker)
            assert await beat(connection, 1) == 0
            with pytest.raises(ConnectionLostError, match="an answer to no request"):
                await beat(connection, 1)

    asyncio.run(main())


def test_a_request_that_is_never_answered_fails_in_time_and_so_does_everything_behind_it() -> None:
    async def main() -> None:
        async with ScriptedBroker({"Heartbeat": lambda request, version: SILENCE}) as broker:
            connection = await connect(broker)
            first = asyncio.create_task(beat(connection, 1, timeout=0.05))
            second = asyncio.create_task(beat(connection, 2, timeout=30))
            with pytest.raises(RequestTimeoutError, match=r"127.0.0.1:\d+: no answer to Heartbeat v4 in time"):
                await first
            with pytest.raises(RequestTimeoutError):
                await second
            with pytest.raises(RequestTimeoutError):
                await beat(connection, 3)

    asyncio.run(main())


def test_when_the_broker_hangs_up_everything_pending_fails_with_the_reason() -> None:
    async def main() -> None:
        async with ScriptedBroker({"Heartbeat": lambda request, version: HANG_UP}) as broker:
            connection = await connect(broker)
            results = await asyncio.gather(*(beat(connection, n) for n in range(9)), return_exceptions=True)
            assert all(isinstance(result, ConnectionLostError) for result in results)
            assert "the broker closed the connection" in str(results[0])

    asyncio.run(main())


def test_a_request_whose_waiter_left_does_not_disturb_the_next() -> None:
    async def main() -> None:
        async with ScriptedBroker({"Heartbeat": heartbeat}) as broker:
            connection = await connect(broker)
            broker.delay = 0.05
            given_up = asyncio.create_task(beat(connection, 1))
            await asyncio.sleep(0.01)
            given_up.cancel()
            assert await beat(connection, 2) == 2
            connection.close()

    asyncio.run(main())


@pytest.mark.parametrize("leaves_late", [False, True])
def test_a_turn_whose_waiter_left_goes_to_the_next(leaves_late: bool) -> None:
    async def main() -> None:
        async with ScriptedBroker({"Heartbeat": heartbeat}) as broker:
            connection = await connect(broker, max_in_flight_requests_per_connection=1)

            async def first() -> None:
                await beat(connection, 1)
                if leaves_late:  # by now the turn is the second's, which has not gone on yet
                    second.cancel()

            going = asyncio.create_task(first())
            await asyncio.sleep(0)
            second, third = (asyncio.create_task(beat(connection, number)) for number in (2, 3))
            await asyncio.sleep(0)
            if not leaves_late:
                second.cancel()
            await going
            assert await third == 3
            with pytest.raises(asyncio.CancelledError):
                await second
            assert await beat(connection, 4) == 4
            connection.close()

    asyncio.run(main())


class SlowReader(ScriptedBroker):
    """Greets, and reads nothing more before its gate opens; `received` is all that came then."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._answer(await reader.readexactly(4) + await reader.read(65536), writer)
        await self.gate.wait()
        while chunk := await reader.read(1 << 20):
            self.received += len(chunk)
        self.finished.set()
        writer.close()

    def __init__(self) -> None:
        super().__init__({"Produce": lambda request, version: SILENCE})
        self.gate, self.finished, self.received = asyncio.Event(), asyncio.Event(), 0


def test_requests_without_an_answer_are_complete_when_the_system_has_them_and_take_turns() -> None:
    async def main() -> None:
        async with SlowReader() as broker:
            connection = await connect(broker)
            data = ProduceRequest.PartitionProduceData(records=bytes(16 * 1024 * 1024))
            message = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="t", partition_data=[data])])
            sending = [asyncio.create_task(connection.notify(message, version=9)) for _ in range(3)]
            await asyncio.sleep(0.5)
            assert not any(each.done() for each in sending)
            broker.gate.set()
            await asyncio.gather(*sending)
            connection.close()
            await broker.finished.wait()
            assert broker.received > 3 * len(data.records or b"")

    asyncio.run(main())


def test_a_throttled_answer_keeps_us_quiet() -> None:
    async def main() -> None:
        throttled = {"Heartbeat": lambda request, version: HeartbeatResponse(throttle_time_ms=80)}
        async with ScriptedBroker(throttled) as broker:
            connection = await connect(broker)
            await beat(connection, 0)
            before = asyncio.get_running_loop().time()
            await beat(connection, 0)
            assert asyncio.get_running_loop().time() - before >= 0.075
            connection.close()

    asyncio.run(main())


def test_nobody_listens() -> None:
    async def main() -> None:
        async with ScriptedBroker() as broker:
            port = broker.port
        with pytest.raises(ConnectionLostError, match=rf"127.0.0.1:{port}: "):
            await Connection.open("127.0.0.1", port, ClientOptions())

    asyncio.run(main())


def test_a_broker_that_says_nothing_is_given_up() -> None:
    async def main() -> None:
        async with ScriptedBroker({"ApiVersions": lambda request, version: SILENCE}) as broker:
            with pytest.raises(RequestTimeoutError, match="connected, but ApiVersions was not answered within 50 ms"):
                await connect(broker, connect_timeout_ms=50)

    asyncio.run(main())


def test_a_listener_that_hangs_up_at_once_may_want_tls() -> None:
    async def main() -> None:
        async with ScriptedBroker({"ApiVersions": lambda request, version: HANG_UP}) as broker:
            with pytest.raises(
                ConnectionLostError, match="before it answered ApiVersions; does this listener want TLS"
            ):
                await connect(broker)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "an HTTP answer, not a Kafka broker$"),
        (b"\x7f\xff\xff\xff" + bytes(100), "a frame of 2147483647 bytes at stream offset 0: expected 0 to 104857600$"),
        (b"\xff\xff\xff\xfb" + bytes(100), r"a negative frame size \(-5\) at stream offset 0"),
        (b"\0\0\0\x0c\0\0\0\x09" + bytes(8), "expected a response to request 1, found one to 9$"),
        (b"\0\0\0\x0a\0\0\0\x01\0\0\x00\x0f\x42\x40", "api_keys: expected at most 0 elements in the bytes left"),
    ],
)
def test_something_that_is_not_kafka_is_named_with_its_place(answer: bytes, complaint: str) -> None:
    async def main() -> None:
        async with ScriptedBroker({"ApiVersions": lambda request, version: answer}) as broker:
            with pytest.raises(ConnectionLostError, match=rf"^127.0.0.1:{broker.port}: .*{complaint}"):
                await connect(broker)

            def plainly() -> None:
                with pytest.raises(ConnectionLostError, match=rf"^127.0.0.1:{broker.port}: .*{complaint}"):
                    SocketConnection("127.0.0.1", broker.port, ClientOptions())

            await asyncio.to_thread(plainly)

    asyncio.run(main())


SASL = {"security_protocol": "SASL_PLAINTEXT", "sasl_plain_username": "ada", "sasl_plain_password": "secret"}


def test_plain_authentication_comes_before_anything_else() -> None:
    async def main() -> None:
        handlers = {
            "SaslHandshake": lambda request, version: SaslHandshakeResponse(mechanisms=["PLAIN"]),
            "SaslAuthenticate": lambda request, version: SaslAuthenticateResponse(
                error_code=0 if bytes(request.auth_bytes) == b"\0ada\0secret" else 58
            ),
            "Heartbeat": heartbeat,
        }
        async with ScriptedBroker(handlers) as broker:
            connection = await connect(broker, **SASL)
            assert await beat(connection, 4) == 4
            assert broker.names() == ["ApiVersions", "SaslHandshake", "SaslAuthenticate", "Heartbeat"]
            connection.close()

    asyncio.run(main())


def test_a_refused_password_is_not_retriable_and_has_a_reason() -> None:
    async def main() -> None:
        handlers = {
            "SaslHandshake": lambda request, version: SaslHandshakeResponse(mechanisms=["PLAIN"]),
            "SaslAuthenticate": lambda request, version: SaslAuthenticateResponse(
                error_code=58, error_message="bad password"
            ),
        }
        async with ScriptedBroker(handlers) as broker:
            with pytest.raises(AuthenticationFailedError, match="SASL PLAIN as 'ada': bad password") as caught:
                await connect(broker, **SASL)
            assert not caught.value.retriable

    asyncio.run(main())


def test_a_mechanism_that_the_broker_does_not_offer() -> None:
    async def main() -> None:
        offers = {
            "SaslHandshake": lambda request, version: SaslHandshakeResponse(
                error_code=33, mechanisms=["SCRAM-SHA-512"]
            ),
            "SaslAuthenticate": lambda request, version: SILENCE,
        }
        async with ScriptedBroker(offers) as broker:
            with pytest.raises(AuthenticationFailedError, match="UNSUPPORTED_SASL_MECHANISM; the broker offers SCRAM"):
                await connect(broker, **SASL)

    asyncio.run(main())


def test_an_apiversions_error_is_raised() -> None:
    async def main() -> None:
        async with ScriptedBroker(
            {"ApiVersions": lambda request, version: ApiVersionsResponse(error_code=42)}
        ) as broker:
            with pytest.raises(Exception, match="INVALID_REQUEST"):
                await connect(broker)

    asyncio.run(main())


def test_the_socket_driver_refuses_a_coroutine_that_is_suspended() -> None:
    with pytest.raises(RuntimeError, match="a blocking call was suspended"):
        run(asyncio.sleep(0))
