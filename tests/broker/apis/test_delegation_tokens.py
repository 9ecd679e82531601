"""Delegation tokens: every API, who may do what, the end of tokens, and what is stored of them."""

from __future__ import annotations

import asyncio
import hmac
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from tests.broker.node_requests import ask

from kafkawire import messages as m
from kafkawire.broker._acls.authorizer import STANDARD
from kafkawire.broker._metadata.journal.records import everything
from kafkawire.broker._ops.maintenance import Maintenance
from kafkawire.broker._security.peer import ANONYMOUS, Peer, Principal, SecurityProtocol
from kafkawire.messages.errors import ErrorCode
from kafkawire.wire.acls import Acl, Operation, Pattern, Permission, ResourceType

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node
    from kafkawire.testing import ManualClock

NOW = 1_700_000_000_000
DAY, HOUR = 86_400_000, 3_600_000
SECRET = "the-secret-key"
SETTINGS = {"delegation.token.secret.key": SECRET, "delegation.token.max.lifetime.ms": str(2 * DAY)}
REQUESTS = (
    m.CreateDelegationTokenRequest(),
    m.RenewDelegationTokenRequest(hmac=b"x"),
    m.ExpireDelegationTokenRequest(hmac=b"x"),
    m.DescribeDelegationTokenRequest(owners=None),
)


def sasl(name: str) -> Peer:
    return Peer("SASL", SecurityProtocol.SASL_SSL, ("10.0.0.1", 1), Principal("User", name))


@pytest.fixture
def node(open_node: Callable[..., Node]) -> Node:
    return open_node(**SETTINGS)


def create(node: Node, by: str = "ann", *, lifetime: int = -1, renewers: tuple[str, ...] = (), version: int = 3) -> Any:
    kind = m.CreateDelegationTokenRequest.CreatableRenewers
    request = m.CreateDelegationTokenRequest(
        max_lifetime_ms=lifetime, renewers=[kind(principal_type="User", principal_name=each) for each in renewers]
    )
    return ask(node, request, version, peer=sasl(by))


def renew(node: Node, password: bytes, by: str = "ann", period: int = -1) -> Any:
    return ask(node, m.RenewDelegationTokenRequest(hmac=password, renew_period_ms=period), peer=sasl(by))


def expire(node: Node, password: bytes, by: str = "ann", period: int = -1) -> Any:
    return ask(node, m.ExpireDelegationTokenRequest(hmac=password, expiry_time_period_ms=period), peer=sasl(by))


def seen(node: Node, by: str, *owners: str, everybody: bool = True) -> set[str]:
    """The owners of the tokens that a client sees."""
    kind = m.DescribeDelegationTokenRequest.DescribeDelegationTokenOwner
    named = None if everybody and not owners else [kind(principal_type="User", principal_name=each) for each in owners]
    answer = ask(node, m.DescribeDelegationTokenRequest(owners=named), peer=sasl(by))
    assert answer.error_code == 0
    return {each.principal_name for each in answer.tokens}


@pytest.mark.parametrize("version", range(4))
def test_a_token_belongs_to_its_requester(node: Node, version: int) -> None:
    made = create(node, renewers=("bob",), version=version)
    assert (made.error_code, made.principal_type, made.principal_name) == (0, "User", "ann")
    assert (made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms) == (NOW, NOW + DAY, NOW + 2 * DAY)
    assert bytes(made.hmac) == hmac.digest(SECRET.encode(), made.token_id.encode(), "sha512")
    (listed,) = ask(node, m.DescribeDelegationTokenRequest(owners=None), version, peer=sasl("ann")).tokens
    assert (listed.token_id, bytes(listed.hmac)) == (made.token_id, bytes(made.hmac))
    assert [(each.principal_type, each.principal_name) for each in listed.renewers] == [("User", "bob")]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
def test_a_connection_must_prove_who_it_is_and_not_by_a_token(node: Node, request_: Any) -> None:
    certified = Principal("User", "CN=ann")
    by_token = sasl("ann")
    by_token.used_token = True
    for peer in (
        Peer(),
        Peer("PLAINTEXT", SecurityProtocol.PLAINTEXT, ("", 0), certified),
        Peer("SSL", SecurityProtocol.SSL, ("", 0), ANONYMOUS),
        by_token,
    ):
        answer = ask(node, request_, peer=peer)
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    answer = ask(node, request_, peer=Peer("SSL", SecurityProtocol.SSL, ("", 0), certified))
    assert answer.error_code in (0, ErrorCode.DELEGATION_TOKEN_NOT_FOUND)


@pytest.mark.parametrize("key", [None, ""])
@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
def test_without_a_secret_key_there_are_no_tokens(
    open_node: Callable[..., Node], request_: Any, key: str | None
) -> None:
    node = open_node(**({} if key is None else {"delegation.token.secret.key": key}))
    assert ask(node, request_, peer=sasl("ann")).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    assert ask(node, request_, peer=Peer()).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


@pytest.mark.parametrize(
    ("asked", "given"), [(-1, 2 * DAY), (0, 2 * DAY), (HOUR, HOUR), (3 * DAY, 2 * DAY), (2**63 - 1, 2 * DAY)]
)
def test_the_lifetime_has_a_limit(node: Node, asked: int, given: int) -> None:
    made = create(node, lifetime=asked)
    assert (made.expiry_timestamp_ms - NOW, made.max_timestamp_ms - NOW) == (min(given, DAY), given)


def test_a_lifetime_beyond_all_numbers_ends_at_the_last(open_node: Callable[..., Node]) -> None:
    longest = str(2**63 - 1)
    node = open_node(**SETTINGS | {name: longest for name in SETTINGS if name.endswith("ms")})
    made = create(node)
    assert made.max_timestamp_ms == 2**63 - 1
    assert expire(node, bytes(made.hmac), period=2**63 - 1).expiry_timestamp_ms == 2**63 - 1


def test_renewers_must_be_users(node: Node) -> None:
    kind = m.CreateDelegationTokenRequest.CreatableRenewers
    request = m.CreateDelegationTokenRequest(renewers=[kind(principal_type="Group", principal_name="g")])
    answer = ask(node, request, peer=sasl("ann"))
    assert answer.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
    assert (answer.principal_name, answer.issue_timestamp_ms, bytes(answer.hmac)) == ("ann", -1, b"")
    assert len(node.tokens.stored) == 0


def test_the_owner_and_renewers_renew_and_the_requester_alone_does_not(node: Node, clock: ManualClock) -> None:
    kind = m.CreateDelegationTokenRequest.CreatableRenewers
    renewer = kind(principal_type="User", principal_name="bob")
    request = m.CreateDelegationTokenRequest(
        owner_principal_type="User", owner_principal_name="ann", renewers=[renewer]
    )
    made = ask(node, request, peer=sasl("ops"))
    assert (made.principal_name, made.token_requester_principal_name) == ("ann", "ops")
    password = bytes(made.hmac)
    clock.advance(HOUR)
    for name in ("ann", "bob"):
        assert renew(node, password, name).expiry_timestamp_ms == NOW + HOUR + DAY
    for change in (renew, expire):
        refused = change(node, password, "ops")
        assert (refused.error_code, refused.expiry_timestamp_ms) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
    assert seen(node, "ops") == {"ann"}


@pytest.mark.parametrize(("period", "given"), [(-1, DAY), (0, DAY), (HOUR, HOUR), (3 * DAY, DAY), (2**63 - 1, DAY)])
def test_a_renewal_has_limits(node: Node, clock: ManualClock, period: int, given: int) -> None:
    password = bytes(create(node).hmac)
    clock.advance(1000)
    assert renew(node, password, period=period).expiry_timestamp_ms == NOW + 1000 + given
    for _ in range(3):
        clock.advance(HOUR - 1)
        renew(node, password)
    clock.advance(20 * HOUR)
    assert renew(node, password).expiry_timestamp_ms <= NOW + 2 * DAY


def test_a_token_past_its_end_cannot_be_renewed_but_removed(node: Node, clock: ManualClock) -> None:
    password = bytes(create(node, lifetime=HOUR).hmac)
    clock.advance(HOUR)
    assert renew(node, password).error_code == 0
    clock.advance(1)
    assert renew(node, password, "bob").error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert expire(node, password, "bob").error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert expire(node, password, period=HOUR).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert seen(node, "ann") == {"ann"}
    assert expire(node, password).error_code == 0
    assert seen(node, "ann") == set()
    for change in (renew, expire):
        assert change(node, password).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


@pytest.mark.parametrize("password", [b"", b"x" * 64, b"x" * 100_000])
def test_an_hmac_of_no_token_is_not_found(node: Node, password: bytes) -> None:
    create(node)
    for change in (renew, expire):
        assert change(node, password).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_clients_see_their_own_tokens_and_those_they_may_renew(open_node: Callable[..., Node]) -> None:
    node = open_node(**SETTINGS, **{"authorizer.class.name": STANDARD, "super.users": "User:root"})
    token = create(node, "ann", renewers=("bob",)).token_id
    create(node, "cleo")
    assert [seen(node, each) for each in ("ann", "bob", "cleo", "dan")] == [{"ann"}, {"ann"}, {"cleo"}, set()]
    assert seen(node, "root") == {"ann", "cleo"}
    assert (seen(node, "root", "cleo"), seen(node, "root", "bob"), seen(node, "root", everybody=False)) == (
        {"cleo"},
        {"ann"},  # as its renewer
        set(),
    )
    for operation, resource, name in (
        (Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token),
        (Operation.DESCRIBE_TOKENS, ResourceType.USER, "User:cleo"),
    ):
        node.acls.add(uuid4(), Acl(Pattern(resource, name), "User:dan", "*", operation, Permission.ALLOW))
    assert seen(node, "dan") == {"ann", "cleo"}


def test_a_token_for_somebody_else_needs_a_permission(open_node: Callable[..., Node]) -> None:
    node = open_node(**SETTINGS, **{"authorizer.class.name": STANDARD})
    kind = m.CreateDelegationTokenRequest.CreatableRenewers
    wrong = kind(principal_type="Group", principal_name="g")
    request = m.CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name="ann", renewers=[wrong])
    denied = ask(node, request, peer=sasl("ops"))
    assert denied.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert (denied.principal_name, denied.token_requester_principal_name) == ("ann", "ops")
    pattern = Pattern(ResourceType.USER, "User:ann")
    node.acls.add(uuid4(), Acl(pattern, "User:ops", "*", Operation.CREATE_TOKENS, Permission.ALLOW))
    assert ask(node, request, peer=sasl("ops")).error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
    request.renewers = []
    assert ask(node, request, peer=sasl("ops")).error_code == 0


def test_tokens_survive_a_restart_and_their_passwords_are_not_stored(
    node: Node, open_node: Callable[..., Node], clock: ManualClock
) -> None:
    password = bytes(create(node, renewers=("bob",)).hmac)
    gone = create(node, "cleo")
    expire(node, bytes(gone.hmac), "cleo")
    clock.advance(HOUR)
    renew(node, password)
    before = list(node.tokens.stored)
    node.close()
    assert all(password not in bytes(each.encode(0)) for each in node.tokens.stored.records())
    again = open_node(**SETTINGS)
    assert list(again.tokens.stored) == before
    assert renew(again, password).error_code == 0
    again.journal.replace(everything(again))
    again.close()
    last = open_node(**SETTINGS | {"delegation.token.secret.key": "another"})
    assert [each.id for each in last.tokens.stored] == [each.id for each in before]
    assert renew(last, password).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_expired_tokens_are_removed_after_a_while(node: Node, clock: ManualClock) -> None:
    create(node, "ann", lifetime=HOUR)
    create(node, "bob")
    maintenance = Maintenance(node)
    asyncio.run(maintenance.remove_tokens())
    assert len(node.tokens.stored) == 2
    clock.advance(HOUR + 1)
    asyncio.run(maintenance.remove_tokens())
    assert {each.owner for each in node.tokens.stored} == {"User:bob"}


def test_only_a_valid_token_logs_in(node: Node, clock: ManualClock) -> None:
    made = create(node, lifetime=HOUR)
    login = node.tokens.login(made.token_id, "SCRAM-SHA-256")
    assert login is not None
    assert (str(login.principal), login.expires_ms, login.used_token) == ("User:ann", NOW + HOUR, True)
    assert node.tokens.login("another", "SCRAM-SHA-256") is None
    clock.advance(HOUR + 1)
    assert node.tokens.login(made.token_id, "SCRAM-SHA-256") is None
    clock.advance(-2)
    expire(node, bytes(made.hmac))
    assert node.tokens.login(made.token_id, "SCRAM-SHA-256") is None


def test_no_text_about_tokens_contains_a_secret(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    made = create(node)
    renew(node, bytes(made.hmac))
    expire(node, bytes(made.hmac))
    words = [record.getMessage() + str(record.__dict__) for record in caplog.records]
    texts = [repr(node.tokens), repr(node.tokens.stored), *words]
    secrets = (SECRET, bytes(made.hmac).hex(), repr(bytes(made.hmac))[2:20])
    assert words
    assert not [text for text in texts if any(each in text for each in secrets)]
