"""Clients of every kind get in by every mechanism, and stay out with wrong credentials, at our broker and Apache Kafka.

Rules:
- Both brokers have the same settings (`secured_brokers`). A test on Apache Kafka shows that the test itself is right.
- A client that gets in produces a record and reads it back. One that does not gets the error that its library has for
  a refused login, not a timeout.
"""

from __future__ import annotations

import asyncio
import gc
import ssl
import time
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from tests.broker.clients.workload import Sent
from tests.interop.drivers import DriverError, JavaClients
from tests.interop.kcat import Kcat
from tests.interop.secured_brokers import (
    GOOD_LOGINS,
    SCRAM,
    WRONG_LOGINS,
    Login,
    SecuredBroker,
    SecuredKafka,
    SecuredPlace,
    TokenEndpoint,
    machine,
    properties,
    token_endpoint,
    token_of,
)

from kafkawire.cli.main import main
from kafkawire.client import LATEST, AuthenticationFailedError, NewTopic, TopicPartition
from kafkawire.client import Producer as AsyncProducer
from kafkawire.client.blocking import Admin, Consumer, Producer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheKafka

aiokafka = pytest.importorskip("aiokafka")
aiokafka_abc = pytest.importorskip("aiokafka.abc")
confluent_kafka = pytest.importorskip("confluent_kafka")
kafka_python = pytest.importorskip("kafka")
kafka_python_oauth = pytest.importorskip("kafka.net.sasl.oauth")

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
Secured = SecuredBroker | SecuredKafka


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with token_endpoint() as url:
        yield url


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory, endpoint: str) -> Iterator[SecuredBroker]:
    broker = SecuredBroker(SecuredPlace(tmp_path_factory.mktemp("ours"), endpoint))
    broker.start()
    broker.place.add_users()
    yield broker
    broker.stop()


@pytest.fixture(scope="module")
def theirs(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory, endpoint: str) -> Iterator[SecuredKafka]:
    broker = SecuredKafka(kafka, SecuredPlace(tmp_path_factory.mktemp("theirs"), endpoint))
    broker.start()
    broker.place.add_users()
    yield broker
    broker.stop()


@pytest.fixture(params=["ours", "theirs"])
def place(request: pytest.FixtureRequest) -> SecuredPlace:
    return request.getfixturevalue(request.param).place  # type: ignore[no-any-return]  # the name is a parameter


@pytest.fixture
def topic(place: SecuredPlace) -> str:
    name = f"t-{uuid4().hex}"
    with Admin(bootstrap_servers=place.bootstrap("PLAINTEXT")) as admin:
        admin.create_topics([NewTopic(name, 1)])
    return name


def settings_of(place: SecuredPlace, form: str, login: Login) -> dict[str, str]:
    """The settings of kafkawire, as Java or librdkafka spell them."""
    given: dict[str, str] = getattr(place, form)(login)
    return {name: value for name, value in given.items() if not name.startswith("sasl.login.refresh")}


@pytest.mark.parametrize("form", ["java", "librdkafka"])
@pytest.mark.parametrize("name", GOOD_LOGINS)
def test_kafkawire_gets_in(place: SecuredPlace, topic: str, name: str, form: str) -> None:
    settings = settings_of(place, form, GOOD_LOGINS[name])
    with Producer(settings) as producer:
        producer.send(topic, b"blocking").result(30)

    async def send() -> None:
        async with AsyncProducer(settings) as producer:
            await producer.send_and_wait(topic, b"asyncio")

    asyncio.run(send())
    with Consumer(topic, config={**settings, "auto.offset.reset": "earliest"}) as consumer:
        assert [record.value for record in islice(consumer, 2)] == [b"blocking", b"asyncio"]


@pytest.mark.parametrize("form", ["java", "librdkafka"])
@pytest.mark.parametrize("name", WRONG_LOGINS)
def test_kafkawire_stays_out(place: SecuredPlace, name: str, form: str) -> None:
    settings = settings_of(place, form, WRONG_LOGINS[name])
    began = time.monotonic()
    with pytest.raises(AuthenticationFailedError) as blocking, Producer(settings):
        pass

    async def connect() -> None:
        async with AsyncProducer(settings):
            pass

    with pytest.raises(AuthenticationFailedError) as waiting:
        asyncio.run(connect())
    assert time.monotonic() - began < 10
    assert WRONG_LOGINS[name].password not in f"{blocking.value}{waiting.value}"
    assert str(blocking.value) == str(waiting.value)


@pytest.mark.parametrize("name", ["SSL with a certificate", "SCRAM-SHA-512 over TLS", "OAUTHBEARER over TLS"])
def test_the_command_line_gets_in(
    place: SecuredPlace, topic: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    login = GOOD_LOGINS[name]
    file = tmp_path / "client.properties"
    file.write_text(properties(settings_of(place, "java", login)))
    assert main(["topics", "list", "-F", str(file)]) == 0
    assert topic in capsys.readouterr().out
    words = [f"-X{name}={value}" for name, value in settings_of(place, "librdkafka", login).items()]
    assert main(["topics", "list", *words]) == 0
    assert topic in capsys.readouterr().out


@pytest.mark.parametrize("name", ["PLAIN with a wrong password", "another authority", "no certificate"])
def test_the_command_line_stays_out(place: SecuredPlace, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [f"-X{name}={value}" for name, value in settings_of(place, "librdkafka", WRONG_LOGINS[name]).items()]
    assert main(["topics", "list", *words]) == 1
    told = capsys.readouterr().err
    assert "Traceback" not in told
    assert WRONG_LOGINS[name].password not in told
    assert {"PLAIN": "authentication", "another": "ssl_cafile", "no": "ssl_certfile"}[name.split()[0]] in told.lower()


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory, ours: SecuredBroker) -> Iterator[JavaClients]:
    clients = JavaClients(tmp_path_factory.mktemp("java") / "log", allowed(ours.place))
    yield clients
    clients.close()


def allowed(place: SecuredPlace) -> tuple[str, ...]:
    """The options of a virtual machine whose clients may fetch tokens."""
    return tuple(each for each in machine(place) if each.startswith("-Dorg.apache"))


SENT = [Sent(b"key", b"value", [], 1_700_000_000_000)]


@pytest.mark.parametrize("name", GOOD_LOGINS)
def test_java_gets_in(place: SecuredPlace, topic: str, java: JavaClients, name: str) -> None:
    settings = place.java(GOOD_LOGINS[name])
    where = {"bootstrap": settings["bootstrap.servers"], "topic": topic, "settings": settings}
    record = {"key": "aw==", "value": "dg==", "headers": [], "partition": 0}
    assert java.call("produce", **where, records=[record]) == [0]
    assert [each["value"] for each in java.call("consume", **where, count=1)] == ["dg=="]


@pytest.mark.parametrize("name", WRONG_LOGINS)
def test_java_stays_out(place: SecuredPlace, topic: str, java: JavaClients, name: str) -> None:
    settings = place.java(WRONG_LOGINS[name])
    record = {"key": "aw==", "value": "dg==", "headers": [], "partition": 0}
    with pytest.raises(DriverError, match=r"Authentication|UnsupportedSaslMechanism"):
        java.call("produce", bootstrap=settings["bootstrap.servers"], topic=topic, settings=settings, records=[record])


@pytest.mark.parametrize("name", ["SSL with a certificate", *(name for name in GOOD_LOGINS if "over" in name)])
def test_console_tools_get_in(kafka: ApacheKafka, place: SecuredPlace, topic: str, name: str, tmp_path: Path) -> None:
    settings = place.java(GOOD_LOGINS[name])
    file = tmp_path / "client.properties"
    file.write_text(properties(settings))
    common = ("--bootstrap-server", settings["bootstrap.servers"], "--command-config", str(file))
    machine_options = allowed(place)
    told = kafka.run("org.apache.kafka.tools.TopicCommand", *common, "--list", machine=machine_options)
    assert topic in told
    kafka.run(
        "org.apache.kafka.tools.ConsoleProducer", *common, "--topic", topic, stdin="one\n", machine=machine_options
    )
    reading = ("--topic", topic, "--from-beginning", "--max-messages", "1", "--timeout-ms", "20000")
    assert "one" in kafka.run(
        "org.apache.kafka.tools.consumer.ConsoleConsumer", *common, *reading, machine=machine_options
    )


@pytest.mark.parametrize("name", GOOD_LOGINS)
def test_confluent_kafka_gets_in(place: SecuredPlace, topic: str, name: str) -> None:
    settings = place.librdkafka(GOOD_LOGINS[name])
    producer = confluent_kafka.Producer(settings)
    producer.produce(topic, b"value")
    assert producer.flush(30) == 0
    consumer = confluent_kafka.Consumer({**settings, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found = consumer.poll(30)
    consumer.close()
    assert found is not None
    assert (found.error(), found.value()) == (None, b"value")


@pytest.mark.parametrize("name", WRONG_LOGINS)
def test_confluent_kafka_stays_out(place: SecuredPlace, name: str) -> None:
    errors: list[int] = []
    settings: dict[str, Any] = {
        **place.librdkafka(WRONG_LOGINS[name]),
        "error_cb": lambda error: errors.append(error.code()),
    }
    producer = confluent_kafka.Producer(settings)
    expected = {confluent_kafka.KafkaError._AUTHENTICATION, confluent_kafka.KafkaError._SSL}
    if "certificate" in name:
        # TLS 1.3 judges it after the handshake, so librdkafka has been connected before
        expected = {confluent_kafka.KafkaError._TRANSPORT}
    deadline = time.monotonic() + 20
    while not expected & set(errors):
        assert time.monotonic() < deadline, errors
        producer.poll(0.1)


@pytest.mark.parametrize("name", GOOD_LOGINS)
def test_kcat_gets_in(place: SecuredPlace, topic: str, name: str) -> None:
    login = GOOD_LOGINS[name]
    settings = place.librdkafka(login)
    if login.user == "unsigned":
        settings = {each: value for each, value in settings.items() if not each.startswith("sasl.oauthbearer")}
        settings |= {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": "principal=ann"}
    elif login.mechanism == "OAUTHBEARER":
        pytest.skip("kcat of Debian cannot fetch tokens: its librdkafka is built without curl")
    options = [word for each, value in settings.items() for word in ("-X", f"{each}={value}")]
    kcat = Kcat(place.bootstrap(login.listener))
    if login.mechanism in SCRAM:
        # both brokers refuse the nonce of librdkafka before 2.6, which is that of Debian's kcat
        with pytest.raises(AssertionError, match="SASL authentication error"):
            kcat.produce(topic, *options, lines="one\n")
        return
    kcat.produce(topic, *options, lines="one\n")
    assert [each["payload"] for each in kcat.consume(topic, *options)] == ["one"]


def python_settings(place: SecuredPlace, login: Login) -> dict[str, Any]:
    """The settings that kafka-python and aiokafka share."""
    found: dict[str, Any] = {
        "bootstrap_servers": place.bootstrap(login.listener),
        "security_protocol": login.protocol,
    }
    if login.protocol.endswith("SSL"):
        found["ssl_context"] = ssl.create_default_context(cafile=str(place.directory / login.authority))
        if login.certificate:
            found["ssl_context"].load_cert_chain(place.directory / login.certificate)
    if login.mechanism:
        found["sasl_mechanism"] = login.mechanism
    if login.mechanism not in ("", "OAUTHBEARER"):
        found |= {"sasl_plain_username": login.user, "sasl_plain_password": login.password}
    return found


class PythonTokens(kafka_python_oauth.AbstractTokenProvider):  # type: ignore[misc,name-defined]  # it has no types
    """The tokens of a user, for kafka-python."""

    def __init__(self, user: str) -> None:
        self.user = user

    def token(self) -> str:
        return token_of(self.user)[0]


class AioTokens(aiokafka_abc.AbstractTokenProvider):  # type: ignore[misc,name-defined]  # it has no types
    """The tokens of a user, for aiokafka."""

    def __init__(self, user: str) -> None:
        self.user = user

    async def token(self) -> str:
        return token_of(self.user)[0]


def kafka_python_settings(place: SecuredPlace, login: Login) -> dict[str, Any]:
    tokens = {"sasl_oauth_token_provider": PythonTokens(login.user)} if login.mechanism == "OAUTHBEARER" else {}
    return python_settings(place, login) | tokens


def aiokafka_settings(place: SecuredPlace, login: Login) -> dict[str, Any]:
    tokens = {"sasl_oauth_token_provider": AioTokens(login.user)} if login.mechanism == "OAUTHBEARER" else {}
    return python_settings(place, login) | tokens


@pytest.mark.parametrize("name", GOOD_LOGINS)
def test_kafka_python_gets_in(place: SecuredPlace, topic: str, name: str) -> None:
    settings = kafka_python_settings(place, GOOD_LOGINS[name])
    producer = kafka_python.KafkaProducer(**settings)
    producer.send(topic, b"value").get(30)
    producer.close()
    consumer = kafka_python.KafkaConsumer(topic, **settings, auto_offset_reset="earliest", consumer_timeout_ms=20_000)
    assert next(consumer).value == b"value"
    consumer.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it forgets sockets that failed
@pytest.mark.parametrize("name", WRONG_LOGINS)
def test_kafka_python_stays_out(place: SecuredPlace, name: str) -> None:
    settings = kafka_python_settings(place, WRONG_LOGINS[name])
    with pytest.raises((kafka_python.errors.KafkaError, ssl.SSLError, TimeoutError)):
        kafka_python.KafkaAdminClient(**settings, bootstrap_timeout_ms=3000).list_topics()
    gc.collect()  # so that its sockets are not found by the next test


@pytest.mark.parametrize("name", GOOD_LOGINS)
def test_aiokafka_gets_in(place: SecuredPlace, topic: str, name: str) -> None:
    async def roundtrip() -> bytes | None:
        async with aiokafka.AIOKafkaProducer(**aiokafka_settings(place, GOOD_LOGINS[name])) as producer:
            await producer.send_and_wait(topic, b"value")
        settings = aiokafka_settings(place, GOOD_LOGINS[name])
        async with aiokafka.AIOKafkaConsumer(topic, **settings, auto_offset_reset="earliest") as consumer:
            async with asyncio.timeout(30):
                return (await consumer.getone()).value  # type: ignore[no-any-return]  # it has no types

    assert asyncio.run(roundtrip()) == b"value"


@pytest.mark.parametrize("name", WRONG_LOGINS)
def test_aiokafka_stays_out(place: SecuredPlace, topic: str, name: str) -> None:
    async def send() -> None:
        producer = aiokafka.AIOKafkaProducer(**aiokafka_settings(place, WRONG_LOGINS[name]), request_timeout_ms=3000)
        try:
            await producer.start()  # it takes the first answer to a wrong token for a success
            await producer.send_and_wait(topic, b"value")
        finally:
            await producer.stop()

    with pytest.raises((aiokafka.errors.KafkaError, ssl.SSLError)):
        asyncio.run(send())
    with Admin(bootstrap_servers=place.bootstrap("PLAINTEXT")) as admin:
        (found,) = admin.list_offsets({TopicPartition(topic, 0): LATEST}).values()
        assert found is not None
        assert found.offset == 0


def test_short_sessions_and_short_tokens_are_renewed_under_load(place: SecuredPlace, topic: str) -> None:
    """Sessions last two seconds, tokens five. Clients send all the time, and no record fails."""
    login = Login("SHORT", "OAUTHBEARER", "brief")
    TokenEndpoint.issued.clear()
    failed: list[Any] = []
    theirs = confluent_kafka.Producer(place.librdkafka(login))
    with Producer(settings_of(place, "librdkafka", login)) as ours:
        end = time.monotonic() + 12
        count = 0
        while time.monotonic() < end:
            ours.send(topic, b"ours").result(20)
            theirs.produce(topic, b"theirs", on_delivery=lambda error, _: failed.append(error) if error else None)
            theirs.poll(0)
            count += 1
            time.sleep(0.05)
        assert theirs.flush(20) == 0
    assert failed == []
    assert len(TokenEndpoint.issued) >= 4
    with Consumer(
        topic, config={"bootstrap.servers": place.bootstrap("PLAINTEXT"), "auto.offset.reset": "earliest"}
    ) as reader:
        assert sorted(record.value for record in islice(reader, 2 * count)) == [b"ours"] * count + [b"theirs"] * count
