"""AlterUserScramCredentials and DescribeUserScramCredentials, with right and wrong requests."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.broker._dispatch.registry import RequestContext, served_apis
from kafkawire.messages import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
    api,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._node import Node
    from kafkawire.messages import Message

Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion


def serve(node: Node, request: Message) -> Any:
    key = type(request).__schema__.key
    assert key is not None

    async def main() -> Any:
        return await served_apis()[key].handle(node, request, RequestContext(api(key), 0, 1, "test"))  # type: ignore[misc]

    return asyncio.run(main())


def alter(node: Node, *changes: Deletion | Upsertion) -> dict[str, int]:
    answer = serve(
        node,
        AlterUserScramCredentialsRequest(
            deletions=[each for each in changes if isinstance(each, Deletion)],
            upsertions=[each for each in changes if isinstance(each, Upsertion)],
        ),
    )
    assert len(answer.results) == len({each.user for each in answer.results})
    return {each.user: each.error_code for each in answer.results}


def described(node: Node, *names: str) -> dict[str, tuple[int, list[tuple[int, int]]]]:
    users = [DescribeUserScramCredentialsRequest.UserName(name=name) for name in names]
    answer = serve(node, DescribeUserScramCredentialsRequest(users=users or None))
    assert answer.error_code == 0
    return {
        each.user: (each.error_code, [(info.mechanism, info.iterations) for info in each.credential_infos])
        for each in answer.results
    }


def upsert(name: str, mechanism: int = 1, iterations: int = 4096) -> Upsertion:
    return Upsertion(name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"p" * 32)


def test_credentials_are_set_described_replaced_and_removed(open_node: Callable[..., Node]) -> None:
    node = open_node()
    assert alter(node, upsert("ann"), upsert("bob", 2, 8192)) == {"ann": 0, "bob": 0}
    assert alter(node, upsert("ann", 2)) == {"ann": 0}
    assert described(node) == {"ann": (0, [(1, 4096), (2, 4096)]), "bob": (0, [(2, 8192)])}
    assert alter(node, Deletion(name="ann", mechanism=1), Deletion(name="bob", mechanism=2)) == {"ann": 0, "bob": 0}
    assert described(node) == {"ann": (0, [(2, 4096)])}
    node.close()
    assert described(open_node()) == {"ann": (0, [(2, 4096)])}


def test_only_the_keys_are_kept(open_node: Callable[..., Node]) -> None:
    node = open_node()
    alter(node, upsert("ann"))
    (kept,) = node.scram_users.of("ann").values()
    client_key = hmac.digest(b"p" * 32, b"Client Key", "sha256")
    assert kept.stored_key == hashlib.sha256(client_key).digest()
    assert kept.server_key == hmac.digest(b"p" * 32, b"Server Key", "sha256")
    assert "p" * 32 not in repr(kept)


@pytest.mark.parametrize(("change", "code"), [
    (upsert(""), 93),
    (upsert("ann", iterations=4095), 93),
    (upsert("ann", iterations=16385), 93),
    (Upsertion(name="ann", mechanism=1, iterations=4096, salt=b"", salted_password=b"p"), 93),
    (Upsertion(name="ann", mechanism=1, iterations=4096, salt=b"s", salted_password=b""), 93),
    (upsert("ann", 3), 33),
    (upsert("ann", 0), 33),
    (Deletion(name="ann", mechanism=1), 91),
    (Deletion(name="ann", mechanism=9), 33),
])  # fmt: skip
def test_a_wrong_change_is_refused_alone(open_node: Callable[..., Node], change: Any, code: int) -> None:
    node = open_node()
    assert alter(node, change, upsert("bob")) == {change.name: code, "bob": 0}
    assert described(node) == {"bob": (0, [(1, 4096)])}


def test_a_user_that_occurs_twice_does_not_change(open_node: Callable[..., Node]) -> None:
    node = open_node()
    assert alter(node, upsert("ann", 1), upsert("ann", 2), upsert("bob")) == {"ann": 92, "bob": 0}
    assert described(node) == {"bob": (0, [(1, 4096)])}
    assert described(node, "ann", "bob", "bob") == {"ann": (91, []), "bob": (92, [])}
