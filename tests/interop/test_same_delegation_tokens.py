"""Delegation tokens: our broker answers as Apache Kafka does, wrong requests most of all, and clients of each use both.

Rules:
- A question is asked by a user with a password, or over the plain listener, with the versions that both serve.
- Answers are compared without what differs by nature: the id of a token, and the times at which it was made.
"""

from __future__ import annotations

import base64
import json
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest
from tests.broker.raw_connection import Peer
from tests.interop.token_brokers import TokenBroker, TokenKafka, java_login
from tests.interop.waiting import until

from kafkawire import messages as m
from kafkawire.broker._metadata.journal.files import read_kafka
from kafkawire.cli.main import main
from kafkawire.client import AuthenticationFailedError
from kafkawire.client.blocking import Admin
from kafkawire.log import DiskFiles
from kafkawire.messages.errors import KafkaError
from kafkawire.wire.acls import Acl, Operation, Pattern, Permission, ResourceType
from kafkawire.wire.sasl import ScramClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheKafka

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
HOUR, DAY = 3_600_000, 86_400_000
TOOL: Final = "org.apache.kafka.tools.DelegationTokenCommand"
Broker = TokenKafka | TokenBroker


@pytest.fixture(scope="module")
def theirs(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenKafka]:
    broker = TokenKafka(kafka, tmp_path_factory.mktemp("theirs"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenBroker]:
    broker = TokenBroker(tmp_path_factory.mktemp("ours"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(params=["kafka", "kafkawire"])
def either(request: pytest.FixtureRequest) -> Broker:
    broker: Broker = request.getfixturevalue("theirs" if request.param == "kafka" else "ours")
    return broker


class Asker:
    """A connection of a user, or without one over the plain listener."""

    def __init__(self, broker: Broker, user: str = "", token: tuple[str, str] | None = None) -> None:
        self.peer = Peer(broker.sasl if user or token else broker)
        if user:
            assert self.peer.call(m.SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 0
            token_of_user = f"\0{user}\0{user}-secret".encode()
            assert self.peer.call(m.SaslAuthenticateRequest(auth_bytes=token_of_user), 2).error_code == 0
        if token:
            client = ScramClient("SCRAM-SHA-512", *token, token_auth=True)
            self.peer.call(m.SaslHandshakeRequest(mechanism="SCRAM-SHA-512"), 1)
            first = self.peer.call(m.SaslAuthenticateRequest(auth_bytes=client.first()), 2)
            final = client.answer(bytes(first.auth_bytes))
            self.lifetime = self.peer.call(m.SaslAuthenticateRequest(auth_bytes=final), 2).session_lifetime_ms

    def __enter__(self) -> Peer:
        return self.peer

    def __exit__(self, *_: object) -> None:
        self.peer.socket.close()


def user(name: str, kind: str = "User") -> dict[str, Any]:
    return {"principal_type": kind, "principal_name": name}


def creation(*renewers: dict[str, Any], owner: tuple[str | None, str | None] = ("", ""), life: int = -1) -> Any:
    kind = m.CreateDelegationTokenRequest.CreatableRenewers
    return m.CreateDelegationTokenRequest(
        owner_principal_type=owner[0],
        owner_principal_name=owner[1],
        renewers=[kind(**each) for each in renewers],
        max_lifetime_ms=life,
    )


def description(*owners: dict[str, Any]) -> Any:
    kind = m.DescribeDelegationTokenRequest.DescribeDelegationTokenOwner
    return m.DescribeDelegationTokenRequest(owners=[kind(**each) for each in owners])


def created(answer: Any) -> tuple[Any, ...]:
    issued = answer.issue_timestamp_ms
    return (
        answer.error_code,
        (answer.principal_type, answer.principal_name),
        (answer.token_requester_principal_type, answer.token_requester_principal_name),
        (min(issued, 1), answer.expiry_timestamp_ms - issued, answer.max_timestamp_ms - issued),
        (len(answer.token_id), len(answer.hmac)),
    )


def described(answer: Any) -> tuple[Any, ...]:
    tokens = sorted(
        (
            (each.principal_type, each.principal_name),
            (each.token_requester_principal_type, each.token_requester_principal_name),
            each.max_timestamp - each.issue_timestamp,
            len(each.hmac),
            [(one.principal_type, one.principal_name) for one in each.renewers],
        )
        for each in answer.tokens
    )
    return answer.error_code, tokens


CREATIONS: Final = {
    "plain": creation(),
    "null owner": creation(owner=(None, None)),
    "short": creation(life=HOUR),
    "zero": creation(life=0),
    "negative": creation(life=-2),
    "as long as numbers": creation(life=2**63 - 1),
    "renewers": creation(user("bob"), user("cleo")),
    "the same renewer twice": creation(user("bob"), user("bob")),
    "an empty renewer": creation(user("")),
    "a renewer of another type": creation(user("bob"), user("g", "Group")),
    "a renewer of type user in small letters": creation(user("bob", "user")),
    "a renewer of an empty type": creation(user("bob", "")),
    "itself as owner": creation(owner=("User", "ann")),
    "another owner": creation(owner=("User", "bob")),
    "another owner and a wrong renewer": creation(user("g", "Group"), owner=("User", "bob")),
    "an owner of another type": creation(owner=("Group", "ann")),
    "an owner without a type": creation(owner=(None, "bob")),
    "an owner of an empty type": creation(owner=("", "bob")),
    "an empty owner": creation(owner=("User", "")),
    "a type without an owner": creation(owner=("User", None)),
}


@pytest.mark.parametrize("asker", ["", "ann", "root"])
@pytest.mark.parametrize("name", CREATIONS)
def test_creations_are_answered_alike(theirs: TokenKafka, ours: TokenBroker, name: str, asker: str) -> None:
    answers = []
    for broker in (theirs, ours):
        with Asker(broker, asker) as peer:
            answers.append(created(peer.call(CREATIONS[name], 3)))
    assert answers[1] == answers[0]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_is_answered_alike(theirs: TokenKafka, ours: TokenBroker, version: int) -> None:
    answers = []
    for broker in (theirs, ours):
        with Asker(broker, "ann") as peer:
            made = peer.call(creation(user("bob")), version)
            asked = description(user("ann"))
            until_listed(broker, made.token_id)
            listed = {each.token_id: each for each in peer.call(asked, version).tokens}[made.token_id]
            renewed = peer.call(m.RenewDelegationTokenRequest(hmac=made.hmac), min(version, 2))
            ended = peer.call(m.ExpireDelegationTokenRequest(hmac=made.hmac, expiry_time_period_ms=-1), min(version, 2))
            answers.append(
                (created(made), listed.hmac == made.hmac, listed.principal_name, renewed.error_code, ended.error_code)
            )
    assert answers[1] == answers[0]


def until_listed(broker: Broker, token_id: str, *, gone: bool = False) -> None:
    """Wait until a broker shows a token, which Kafka does a moment later."""
    with Asker(broker, "root") as peer:
        everything = m.DescribeDelegationTokenRequest(owners=None)
        until(lambda: (token_id in {each.token_id for each in peer.call(everything, 3).tokens}) != gone)


def changes(broker: Broker) -> list[Any]:
    """The answers to changes of a token of ann, which bob may renew and root asked for."""
    found: list[Any] = []
    with (
        Asker(broker, "root") as root,
        Asker(broker, "ann") as ann,
        Asker(broker, "bob") as bob,
        Asker(broker, "cleo") as cleo,
        Asker(broker) as nobody,
    ):
        made = root.call(creation(user("bob"), owner=("User", "ann")), 3)
        issued, password = made.issue_timestamp_ms, bytes(made.hmac)
        until_listed(broker, made.token_id)
        for peer in (root, ann, bob, cleo, nobody):
            for period in (-1, 0, 60_000, HOUR, 2 * DAY, 2**63 - 1, -(2**63)):
                renewed = peer.call(m.RenewDelegationTokenRequest(hmac=password, renew_period_ms=period), 2)
                rest = renewed.expiry_timestamp_ms - issued
                found.append((renewed.error_code, renewed.expiry_timestamp_ms if rest < 0 else round(rest / 10_000)))
                ann.call(m.RenewDelegationTokenRequest(hmac=password), 2)
        for wrong in (b"", b"x", password[:-1], password + b"x", made.token_id.encode()):
            found.append(ann.call(m.RenewDelegationTokenRequest(hmac=wrong), 2).error_code)
            found.append(ann.call(m.ExpireDelegationTokenRequest(hmac=wrong), 2).error_code)
        for peer in (root, bob):
            for period in (HOUR, 2 * DAY, 100 * DAY, 0, -1):
                ended = peer.call(m.ExpireDelegationTokenRequest(hmac=password, expiry_time_period_ms=period), 2)
                rest = ended.expiry_timestamp_ms - issued
                found.append((ended.error_code, ended.expiry_timestamp_ms if rest < 0 else round(rest / 10_000)))
        until_listed(broker, made.token_id, gone=True)
        found.append(ann.call(m.ExpireDelegationTokenRequest(hmac=password, expiry_time_period_ms=-1), 2).error_code)
    return found


def test_changes_are_answered_alike(theirs: TokenKafka, ours: TokenBroker) -> None:
    assert changes(ours) == changes(theirs)


def is_created(admin: Admin, acl: Acl) -> bool:
    return acl in admin.describe_acls()


def test_our_broker_and_kafka_show_the_same_tokens(theirs: TokenKafka, ours: TokenBroker) -> None:
    shown = []
    for broker in (theirs, ours):
        pattern = Pattern(ResourceType.USER, "User:bob")
        acl = Acl(pattern, "User:cleo", "*", Operation.DESCRIBE_TOKENS, Permission.ALLOW)
        with Asker(broker, "root") as root:
            everything = m.DescribeDelegationTokenRequest(owners=None)
            for each in root.call(everything, 3).tokens:
                if each.principal_type == "User" and each.principal_name:
                    with Asker(broker, each.principal_name) as owner:
                        owner.call(m.ExpireDelegationTokenRequest(hmac=each.hmac, expiry_time_period_ms=-1), 2)
                    until_listed(broker, each.token_id, gone=True)
        with Asker(broker, "ann") as ann, Asker(broker, "bob") as bob, Asker(broker, "root") as root:
            made = [ann.call(creation(user("cleo"), life=HOUR), 3), bob.call(creation(life=2 * HOUR), 3)]
            made.append(root.call(creation(owner=("User", "ann"), life=3 * HOUR), 3))
            for each in made:
                until_listed(broker, each.token_id)
        questions = (
            m.DescribeDelegationTokenRequest(owners=None),
            description(),
            description(user("ann")),
            description(user("cleo")),
            description(user("root")),
            description(user("ann", "Group")),
            description(user("nobody")),
            description(user("ann"), user("ann"), user("bob")),
            description(user("", "")),
        )
        for permitted in (False, True):
            if permitted:
                with Admin(bootstrap_servers=broker.bootstrap) as admin:
                    admin.create_acls([acl])
                    until(partial(is_created, admin, acl))
            for name in ("", "ann", "bob", "cleo", "root"):
                with Asker(broker, name) as peer:
                    shown.append([described(peer.call(each, 3)) for each in questions])
    half = len(shown) // 2
    assert shown[half:] == shown[:half]


def test_a_connection_by_a_token_may_not_ask_for_tokens(either: Broker) -> None:
    with Asker(either, "ann") as ann:
        made = ann.call(creation(), 3)
    until_listed(either, made.token_id)
    token = made.token_id, base64.b64encode(made.hmac).decode()
    asker = Asker(either, token=token)
    assert 0 < asker.lifetime <= DAY
    with asker as peer:
        for request in (
            creation(),
            m.RenewDelegationTokenRequest(hmac=made.hmac),
            m.ExpireDelegationTokenRequest(hmac=made.hmac),
            m.DescribeDelegationTokenRequest(owners=None),
        ):
            assert peer.call(request).error_code == 64


def test_without_a_secret_key_the_answers_are_alike(kafka: ApacheKafka, tmp_path: Path) -> None:
    answers = []
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    for broker in (
        TokenKafka(kafka, tmp_path / "theirs", delegation_token_secret_key=""),
        TokenBroker(tmp_path / "ours", delegation_token_secret_key=""),
    ):
        broker.start()
        try:
            found: list[Any] = []
            for name in ("", "ann", "root"):
                with Asker(broker, name) as peer:
                    found += [created(peer.call(each, 3)) for each in CREATIONS.values()]
                    for password in (b"", b"x"):
                        renewed = peer.call(m.RenewDelegationTokenRequest(hmac=password), 2)
                        ended = peer.call(m.ExpireDelegationTokenRequest(hmac=password), 2)
                        found += [(each.error_code, each.expiry_timestamp_ms) for each in (renewed, ended)]
                    found += [described(peer.call(each, 3)) for each in (description(), description(user("ann")))]
            answers.append(found)
        finally:
            broker.stop()
    assert answers[1] == answers[0]


def test_the_tool_of_kafka_creates_renews_lists_and_expires(kafka: ApacheKafka, either: Broker, tmp_path: Path) -> None:
    login = tmp_path / "ann.properties"
    login.write_text(java_login("ann", "ann-secret", "PLAIN"))

    def tool(*arguments: str) -> str:
        given = ("--bootstrap-server", either.sasl.bootstrap_servers, "--command-config", str(login))
        return kafka.run(TOOL, *given, *arguments)

    made = tool("--create", "--max-life-time-period", str(HOUR), "--renewer-principal", "User:bob")
    line = next(each for each in made.splitlines() if "User:bob" in each and "User:ann" in each)
    token_id, hmac = line.split()[:2]
    until_listed(either, token_id)
    assert token_id in tool("--describe", "--owner-principal", "User:ann")
    assert "Completed renew operation" in tool("--renew", "--renew-time-period", "1000", "--hmac", hmac)
    assert "Completed expire operation" in tool("--expire", "--expiry-time-period", "-1", "--hmac", hmac)
    until_listed(either, token_id, gone=True)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_our_client_creates_tokens_and_logs_in_with_them(either: Broker, mechanism: str) -> None:
    with Admin(**either.sasl.options("ann")) as admin:
        token = admin.create_delegation_token(renewers=["User:bob", "cleo"], max_lifetime_ms=HOUR)
        assert (token.owner, token.requester, token.renewers) == ("User:ann", "User:ann", ("User:bob", "User:cleo"))
        until(lambda: token in admin.describe_delegation_tokens(["User:ann"]))
        login = {**either.sasl.options("ann"), **token.login(mechanism)}
        with Admin(**login) as by_token:
            assert by_token.describe_cluster().nodes
            with pytest.raises(KafkaError) as refused:
                by_token.create_delegation_token()
            assert refused.value.code == 64
        wrong = {**login, "sasl_plain_password": "x"}
        with pytest.raises(AuthenticationFailedError), Admin(**wrong):
            pass
        as_user = {**login, "sasl_token_auth": False}
        with pytest.raises(AuthenticationFailedError), Admin(**as_user):
            pass
        assert admin.renew_delegation_token(token) == token.max_ms
        admin.expire_delegation_token(token)
        until(lambda: token.token_id not in {each.token_id for each in admin.describe_delegation_tokens()})
    with pytest.raises(AuthenticationFailedError), Admin(**login):
        pass


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_java_client_logs_in_with_a_token(kafka: ApacheKafka, either: Broker, mechanism: str, tmp_path: Path) -> None:
    with Admin(**either.sasl.options("root")) as admin:
        token = admin.create_delegation_token()
        until(lambda: token in admin.describe_delegation_tokens(["User:root"]))
    login = tmp_path / "token.properties"
    login.write_text(java_login(token.token_id, token.password, mechanism, 'tokenauth="true"'))
    given = ("--bootstrap-server", either.sasl.bootstrap_servers, "--command-config", str(login))
    kafka.run("org.apache.kafka.tools.TopicCommand", *given, "--create", "--topic", f"by-token-{mechanism}")
    assert f"by-token-{mechanism}" in kafka.run("org.apache.kafka.tools.TopicCommand", *given, "--list")


def test_the_command_line_works_with_both(either: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    options = either.sasl.options("ann")
    given = ["-b", options.pop("bootstrap_servers"), "--json"]
    for name, value in options.items():
        given += ["-X", f"{name}={value}"]

    def tokens(*words: str) -> list[dict[str, Any]]:
        assert main(["tokens", *words, *given]) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    (made,) = tokens("create", "--max-lifetime", "1h", "--renewer", "User:bob")
    until_listed(either, made["token_id"])
    listed = {each["token_id"]: each for each in tokens("list")}
    assert listed[made["token_id"]] == {name: value for name, value in made.items() if name != "hmac"}
    tokens("renew", made["token_id"], "--period", "10m")
    tokens("expire", made["token_id"])
    until_listed(either, made["token_id"], gone=True)


def test_the_journal_of_kafka_is_read(theirs: TokenKafka) -> None:
    with Admin(**theirs.sasl.options("ann")) as admin:
        token = admin.create_delegation_token(renewers=["bob"])
        until(lambda: token in admin.describe_delegation_tokens(["User:ann"]))
    theirs.restart()
    stored = read_kafka(DiskFiles(), theirs.data_dir / "__cluster_metadata-0").tokens.find(token.token_id)
    assert stored is not None
    assert (stored.owner, stored.renewers, stored.ends) == ("User:ann", ("User:bob",), token.max_ms)


def test_a_directory_of_kafka_keeps_its_users_and_tokens(theirs: TokenKafka, tmp_path: Path) -> None:
    with Admin(**theirs.sasl.options("root")) as admin:
        token = admin.create_delegation_token()
        admin.set_user("dan", "of-dan")
        until(lambda: token in admin.describe_delegation_tokens(["User:root"]))
    theirs.stop()
    shutil.copytree(theirs.data_dir, tmp_path / "data")
    theirs.start()
    assert main(["log", "repair", str(tmp_path / "data"), "--adopt", "--apply"]) == 0
    taken_over = TokenBroker(tmp_path)
    taken_over.start()
    try:
        with Admin(**taken_over.sasl.options("root") | token.login()) as admin:
            assert admin.describe_cluster().nodes
        with Admin(**taken_over.sasl.options("dan", "SCRAM-SHA-512", "of-dan")) as admin:
            assert admin.describe_cluster().nodes
    finally:
        taken_over.stop()


def test_kafka_decodes_our_records(kafka: ApacheKafka, ours: TokenBroker) -> None:
    with Admin(**ours.sasl.options("ann")) as admin:
        token = admin.create_delegation_token(renewers=["bob"])
        gone = admin.create_delegation_token()
        admin.expire_delegation_token(gone)
    (log,) = (ours.data_dir / "__cluster_metadata-0").glob("*.log")
    dumped = kafka.dump([log], "--cluster-metadata-decoder")
    records = [
        json.loads(line.partition("payload: ")[2])["data"] for line in dumped.splitlines() if "DELEGATION_TOKEN" in line
    ]
    assert {"tokenId": gone.token_id} in records
    assert {
        "owner": "User:ann",
        "requester": "User:ann",
        "renewers": ["User:bob"],
        "issueTimestamp": token.issued_ms,
        "maxTimestamp": token.max_ms,
        "expirationTimestamp": token.expires_ms,
        "tokenId": token.token_id,
    } in records
