"""`acls` of the pytest plugin: the form of a line, and what each library may do then."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.cli.main import main
from kafkawire.client.blocking import Admin, Producer
from kafkawire.messages.errors import TopicAuthorizationFailedError
from kafkawire.testing import AclLineError, RunningBroker
from kafkawire.testing._acl_lines import parse_acls
from kafkawire.wire.acls import Acl, Operation, Pattern, PatternType, Permission, ResourceType

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

aiokafka = pytest.importorskip("aiokafka")
confluent_kafka = pytest.importorskip("confluent_kafka")
kafka = pytest.importorskip("kafka")

USERS = {"alice": 'a "word" \\', "bob": "b"}
ACLS = [
    "alice: produce topic orders*",
    "alice: consume topic orders* group app",
    "bob: describe topic orders",
    "bob: write topic other",
]
T, G = ResourceType.TOPIC, ResourceType.GROUP


def allowed(kind: ResourceType, name: str, who: str, *operations: Operation, prefix: bool = False) -> set[Acl]:
    pattern = Pattern(kind, name, PatternType.PREFIXED if prefix else PatternType.LITERAL)
    return {Acl(pattern, who, "*", each, Permission.ALLOW) for each in operations}


@pytest.mark.parametrize(("line", "expected"), [
    ("alice: read topic orders", allowed(T, "orders", "User:alice", Operation.READ)),
    ("alice:  READ , Describe_Configs  TOPIC  orders",
     allowed(T, "orders", "User:alice", Operation.READ, Operation.DESCRIBE_CONFIGS)),
    ("alice: all topic *", allowed(T, "*", "User:alice", Operation.ALL)),
    ("alice: all topic o*", allowed(T, "o", "User:alice", Operation.ALL, prefix=True)),
    ("*: describe cluster", allowed(ResourceType.CLUSTER, "kafka-cluster", "User:*", Operation.DESCRIBE)),
    ("User:CN=a,O=b c: write transactional-id t",
     allowed(ResourceType.TRANSACTIONAL_ID, "t", "User:CN=a,O=b c", Operation.WRITE)),
    ("alice: consume topic a group g*",
     allowed(T, "a", "User:alice", Operation.READ) | allowed(G, "g", "User:alice", Operation.READ, prefix=True)),
    ("alice: deny read topic a from 127.0.0.1",
     {Acl(Pattern(T, "a"), "User:alice", "127.0.0.1", Operation.READ, Permission.DENY)}),
    ("# alice: read topic a\n\n", set()),
])  # fmt: skip
def test_a_line_is_read(line: str, expected: set[Acl]) -> None:
    assert set(parse_acls(line, USERS)) == expected


@pytest.mark.parametrize(("line", "words"), [
    ("alcie: read topic a", "no user 'alcie'; did you mean 'alice'?"),
    ("zoe: read topic a", "no user 'zoe'; expected one of alice, bob"),
    ("alice: raed topic a", "no operation 'raed'; did you mean 'read'?"),
    ("alice: read topics a", "no resource 'topics'; did you mean 'topic'?"),
    ("alice: read topic", "expected the name of the topic, or * for every name"),
    ("alice: read", "expected a line such as 'alice: read topic orders*'"),
    ("alice: deny", "expected a line such as"),
    ("alice read topic a", "expected a line such as"),
    ("alice: consume cluster", "consume is about topic and group"),
    ("alice: any topic a", "no operation 'any'"),
])  # fmt: skip
def test_a_wrong_line_is_an_error_that_says_what_to_write(line: str, words: str) -> None:
    with pytest.raises(AclLineError) as refused:
        RunningBroker(security="SASL_SSL", users=USERS, acls=[line])
    assert str(refused.value).startswith(repr(line))
    assert words in str(refused.value)


@pytest.fixture(params=["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def broker(request: pytest.FixtureRequest, kafka_broker_factory: Callable[..., RunningBroker]) -> RunningBroker:
    made = kafka_broker_factory(security=request.param, users=USERS, acls=ACLS)
    made.create_topic("orders")
    return made


def test_confluent_kafka_may_do_what_the_lines_say(broker: RunningBroker) -> None:
    outcomes: list[Any] = []
    for user in USERS:
        producer = confluent_kafka.Producer(broker.client_settings("confluent-kafka", user))
        producer.produce("orders", b"x", on_delivery=lambda error, _: outcomes.append(error and error.name()))
        assert producer.flush(30) == 0
    assert outcomes == [None, "TOPIC_AUTHORIZATION_FAILED"]
    settings = broker.client_settings("confluent-kafka") | {"group.id": "app", "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer(settings)
    consumer.subscribe(["orders"])
    found = consumer.poll(30)
    consumer.close()
    assert found.value() == b"x"


def test_kafkawire_may_do_what_the_lines_say(broker: RunningBroker) -> None:
    with Producer(broker.client_settings("kafkawire", "alice")) as producer:
        producer.send("orders", b"x").result(30)
    with (
        Producer(broker.client_settings("kafkawire", "bob")) as producer,
        pytest.raises(TopicAuthorizationFailedError),
    ):
        producer.send("orders", b"x").result(30)


def test_kafka_python_may_do_what_the_lines_say(broker: RunningBroker) -> None:
    producer = kafka.KafkaProducer(**broker.client_settings("kafka-python", "alice"))
    assert producer.send("orders", b"x").get(30).offset == 0
    producer.close()
    producer = kafka.KafkaProducer(**broker.client_settings("kafka-python", "bob"))
    with pytest.raises(kafka.errors.TopicAuthorizationFailedError):
        producer.send("orders", b"x").get(30)
    producer.close()


def test_aiokafka_may_do_what_the_lines_say(broker: RunningBroker) -> None:
    async def send(user: str) -> None:
        async with aiokafka.AIOKafkaProducer(**broker.client_settings("aiokafka", user)) as producer:
            await producer.send_and_wait("orders", b"x")

    asyncio.run(send("alice"))
    with pytest.raises(aiokafka.errors.TopicAuthorizationFailedError):
        asyncio.run(send("bob"))


def test_a_properties_file_of_java_works_for_the_command_line(
    broker: RunningBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "client.properties"
    file.write_text(broker.java_properties("bob"))
    assert main(["topics", "list", "-F", str(file)]) == 0
    assert "orders" in capsys.readouterr().out


def test_the_lines_hold_after_a_restart_and_are_there_once(tmp_path: Path) -> None:
    acls = [*ACLS, "alice: describe cluster"]
    with RunningBroker(tmp_path, security="SASL_PLAINTEXT", users=USERS, acls=acls) as broker:
        broker.restart()
        with Admin(broker.client_config) as admin:
            assert sorted(admin.describe_acls()) == sorted(parse_acls(acls))


def test_without_security_the_lines_are_about_everybody() -> None:
    with RunningBroker(acls=["ANONYMOUS: describe topic seen"]) as broker:
        broker.create_topic("seen")
        broker.create_topic("hidden")
        with Admin(broker.client_config) as admin:
            assert admin.list_topics() == ["seen"]


@pytest.mark.parametrize(("arguments", "words"), [
    ({"library": "confluent"}, "no library 'confluent'; did you mean 'confluent-kafka'?"),
    ({"user": "alcie"}, "no user 'alcie'; did you mean 'alice'?"),
    ({"mechanism": "SCRAM-SHA-51"}, "no mechanism 'SCRAM-SHA-51'; did you mean 'SCRAM-SHA-512'?"),
])  # fmt: skip
def test_an_unknown_name_is_an_error_that_names_the_closest(
    kafka_broker_factory: Callable[..., RunningBroker], arguments: dict[str, str], words: str
) -> None:
    broker = kafka_broker_factory(security="SASL_PLAINTEXT", users=USERS)
    with pytest.raises(ValueError, match=words.replace("?", r"\?")):
        broker.client_settings(**arguments)


def test_users_without_security_are_an_error() -> None:
    with pytest.raises(ValueError, match="users need security, one of SSL, SASL_PLAINTEXT, SASL_SSL"):
        RunningBroker(users=USERS)
