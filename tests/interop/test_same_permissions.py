"""Our broker answers clients that may and may not as Apache Kafka with StandardAuthorizer does.

Rules:
- Apache Kafka authenticates its clients by SASL PLAIN. Our broker takes the principal of a connection from the test.
- Every API with a row of permissions is asked about things that exist and about things that do not. A client without
  permissions asks, one with those of the row, and one that may only describe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.raw_connection import Peer
from tests.broker.security.guarded_requests import CASES, Names
from tests.interop.answers import comparable, differences
from tests.interop.apache_kafka import ApacheBroker
from tests.interop.our_broker import OurBroker
from tests.interop.waiting import until

from kafkawire import messages as m
from kafkawire.broker._acls.authorizer import STANDARD
from kafkawire.broker._acls.needs import NEEDS
from kafkawire.broker._dispatch.registry import served_apis
from kafkawire.broker._security.peer import Principal
from kafkawire.messages.errors import ErrorCode
from kafkawire.wire.acls import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.apache_kafka import ApacheKafka

    from kafkawire.broker import RequestContext
    from kafkawire.messages import Message

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
ADMIN, NOBODY, READER, APP = "admin", "nobody", "reader", "app"
USERS = (ADMIN, NOBODY, READER, APP)
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username=admin password=admin"
SASL = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": f"{LOGIN} "
    + " ".join(f'user_{name}="{name}"' for name in USERS)
    + ";",
}
GUARDED = {"authorizer.class.name": STANDARD, "super.users": "User:admin;User:ANONYMOUS"}
HERE = Names("orders", "readers", "transfers")
NOWHERE = Names("nowhere", "nothing", "none")
PREFIXED = 4
DIFFERENT_IF_ALLOWED = {
    "AlterReplicaLogDirs": "the path is that of one broker",
    "WriteTxnMarkers": "a marker of an unknown producer; compared in test_same_transactions",
    "AddPartitionsToTxn of a broker": "Apache Kafka verifies only",
    "Fetch of a replica": "Apache Kafka knows the replicas of a partition",
    "AlterConfigs": "Apache Kafka checks settings of all brokers that are not named",
    "DescribeQuorum": "offsets and directories are those of each broker",
    "ListConfigResources": "compared in test_same_answers",
    "CreatePartitions": "Apache Kafka waits for the timeout if it only validates",
}
"""Requests whose answers differ for other reasons than permissions."""
UNANSWERED = ("DescribeUserScramCredentials",)
"""Denials that Apache Kafka 4.3.1 does not answer: it sends nothing if no description of a user is permitted."""
OLDER = {"DeleteGroups": 2}
"""The newest version of Apache Kafka 4.3.1, where ours is newer."""
CHANGES = ("Delete", "OffsetDelete", "Produce of a transaction")
"""Requests after which the brokers are prepared again, if they were permitted."""
DENIALS = frozenset({29, 30, 31, 53, 65})
NEWER = {"StreamsGroupTopologyDescriptionUpdate"}
"""APIs of Kafka 4.4, of which no broker is released."""
SERVED = {each.api.name for each in served_apis().values()} - NEWER


class GuardedKafka(ApacheBroker):
    """Apache Kafka with SASL and an authorizer."""

    def _answers(self) -> bool:
        try:
            with as_user(self, ADMIN) as peer:
                return len(peer.call(m.MetadataRequest(topics=[]), 12).brokers) == 1
        except (OSError, EOFError, AssertionError):
            return False


class GuardedBroker(OurBroker):
    """Our broker with an authorizer; the test says who a connection is."""

    def __init__(self, directory: Any) -> None:
        super().__init__(directory)
        self._config |= GUARDED | {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
        self.users: dict[int, Principal] = {}

    def start(self) -> None:
        super().start()
        dispatcher = self.broker.dispatcher
        given = dispatcher.interceptor

        def identify(context: RequestContext, request: Any, serve: Any) -> Any:
            context.peer.principal = self.users.get(context.address[1], context.peer.principal)
            return serve() if given is None else given(context, request, serve)

        self.call(lambda: setattr(dispatcher, "interceptor", identify))


def as_user(broker: Any, name: str, seconds: float = 30.0) -> Peer:
    """A connection that is authenticated as somebody."""
    peer = Peer(broker, seconds)
    if isinstance(broker, GuardedBroker):
        broker.users[peer.socket.getsockname()[1]] = Principal("User", name)
        return peer
    peer.call(m.SaslHandshakeRequest(mechanism="PLAIN"), 1)
    answer = peer.call(m.SaslAuthenticateRequest(auth_bytes=f"\0{name}\0{name}".encode()), 2)
    assert not answer.error_code, answer.error_message
    return peer


@pytest.fixture(scope="module")
def both(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    ours = GuardedBroker(tmp_path_factory.mktemp("ours"))
    theirs = GuardedKafka(kafka, tmp_path_factory.mktemp("theirs"), settings=SASL | GUARDED)
    ours.start()
    theirs.start()
    for broker in (ours, theirs):
        prepare(broker)
    yield ours, theirs
    theirs.stop()
    ours.stop()


def prepare(broker: Any) -> None:
    """One topic, one group, one transactional id, and the permissions of the users."""
    topic = m.CreateTopicsRequest.CreatableTopic(name=HERE.topic, num_partitions=2, replication_factor=1)
    with as_user(broker, ADMIN) as peer:
        peer.call(m.CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
        for name in ("FindCoordinator", "FindCoordinator of a transaction"):
            until(lambda name=name: is_ready(peer.call(CASES[name].request(HERE), 4).coordinators[0]))  # type: ignore[misc]
        until(lambda: is_committed(peer.call(CASES["OffsetCommit"].request(HERE), 9)))
        until(lambda: is_ready(peer.call(CASES["InitProducerId of a transaction"].request(HERE), 4)))
        peer.call(m.CreateAclsRequest(creations=list(entries())), 3)


def is_ready(answer: Any) -> bool:
    return answer.error_code not in (14, 15, 16)


def is_committed(answer: Any) -> bool:
    return bool(answer.topics[0].partitions[0].error_code == 0)


def entries() -> Iterator[Any]:
    """The reader may describe all that exists. The app may do what some row lists, on the same."""
    names = {2: HERE.topic, 3: HERE.group, 5: HERE.transaction, 4: CLUSTER_NAME}
    for kind, name in names.items():
        for user, operations in (
            (READER, {Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS}),
            (APP, {op for row in NEEDS.values() for op, resource in row.listed if resource == kind}),
        ):
            for operation in sorted(operations):
                if kind == ResourceType.CLUSTER and (user == READER or operation == Operation.CREATE):
                    continue  # so that topics need their own permission
                yield m.CreateAclsRequest.AclCreation(
                    resource_type=kind,
                    resource_name=name,
                    resource_pattern_type=3,
                    principal=f"User:{user}",
                    host="*",
                    operation=operation,
                    permission_type=3,
                )


def in_order(answer: Any) -> Any:
    """An answer with its resources sorted; Apache Kafka puts those that are permitted first."""
    if isinstance(answer, dict) and "results" in answer:
        answer["results"] = sorted(answer["results"], key=str)
    return answer


def ask(broker: Any, user: str, request: Message, version: int | None, seconds: float = 30.0) -> Any:
    with as_user(broker, user, seconds) as peer:
        try:
            return peer.call(request, version)
        except (EOFError, ConnectionError, TimeoutError):
            return None


def refusals(answer: Any) -> set[int]:
    """The codes of denials anywhere in an answer."""
    if isinstance(answer, dict):
        own = {code for name, code in answer.items() if name.lower().endswith("errorcode") and code in DENIALS}
        return own.union(*map(refusals, answer.values()))
    return set().union(*map(refusals, answer)) if isinstance(answer, list) else set()


@pytest.mark.parametrize("user", [NOBODY, READER, APP])
@pytest.mark.parametrize("names", [HERE, NOWHERE], ids=["here", "nowhere"])
@pytest.mark.parametrize("name", [name for name in CASES if name.split()[0] in SERVED])
def test_a_client_is_answered_as_by_apache_kafka(both: tuple[Any, Any], name: str, names: Names, user: str) -> None:
    case = CASES[name]
    version = case.version if case.version is not None else m.api(name.split()[0]).versions.last
    version = min(version, served_apis()[m.api(name.split()[0]).key].versions.last, OLDER.get(name, version))
    if name in UNANSWERED and user != APP:
        ours, theirs = (ask(broker, user, case.request(names), version, seconds=5) for broker in both)
        assert theirs is None, "Apache Kafka answers: compare its answer"
        assert refusals(comparable(ours, version))
        return
    ours, theirs = (in_order(comparable(ask(broker, user, case.request(names), version), version)) for broker in both)
    if user == APP and name.startswith(CHANGES):
        for broker in both:
            prepare(broker)
    assert theirs is not None
    if name in DIFFERENT_IF_ALLOWED and user == APP:
        assert refusals(ours) == refusals(theirs), DIFFERENT_IF_ALLOWED[name]
    else:
        assert not list(differences(ours, theirs)), f"v{version}"


def test_a_regular_expression_matches_the_topics_that_its_member_may_describe(both: tuple[Any, Any]) -> None:
    assert [_matched(broker) for broker in both] == [{"orders", "orders-too"}] * 2


def _matched(broker: Any) -> set[str]:
    """The topics of a member that may describe `orders` and what begins with it."""
    with as_user(broker, ADMIN) as peer:
        kind = m.CreateTopicsRequest.CreatableTopic
        topics = [kind(name=name, num_partitions=1, replication_factor=1) for name in ("orders-too", "other")]
        peer.call(m.CreateTopicsRequest(topics=topics, timeout_ms=10_000), 5)
        entry = m.CreateAclsRequest.AclCreation
        allowed: dict[str, Any] = {
            "resource_pattern_type": PREFIXED,
            "principal": f"User:{APP}",
            "host": "*",
            "permission_type": 3,
        }
        creations = [
            entry(resource_type=2, resource_name=HERE.topic, operation=Operation.DESCRIBE, **allowed),
            entry(resource_type=3, resource_name=HERE.group, operation=Operation.READ, **allowed),
        ]
        peer.call(m.CreateAclsRequest(creations=creations), 3)
        listed = peer.call(m.MetadataRequest(topics=None), 12).topics
        names = {topic.topic_id: topic.name for topic in listed}
    request = m.ConsumerGroupHeartbeatRequest(
        group_id=HERE.group + "-by-pattern",
        member_id="m",
        rebalance_timeout_ms=60_000,
        subscribed_topic_regex="o.*",
        topic_partitions=[],
    )
    found: set[str] = set()

    def has_topics() -> bool:
        answer = ask(broker, APP, request, 1)
        if answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED:  # Apache Kafka has not seen the entry yet
            return False
        assert not answer.error_code, answer
        found.update(names[each.topic_id] for each in answer.assignment.topic_partitions)
        return len(found) > 1

    until(has_topics)
    return found
