"""`kafkawire acls`: the entries that options stand for, and wrong usage. Interop tests run it on Apache Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkawire.cli.main import main
from kafkawire.client._admin.acls import acl_text
from kafkawire.client._admin.blocking import Admin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.client.topics import Topics

    from kafkawire.wire.acls import Acl

ALICE = ("--allow-principal", "User:alice")
ORDERS = ("--topic", "orders")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((*ALICE, *ORDERS), {"ALLOW User:alice ALL on TOPIC orders from *"}),
        (
            ("--deny-principal", "User:b", "--deny-host", "::1", "--operation", "DescribeConfigs", "--cluster"),
            {"DENY User:b DESCRIBE_CONFIGS on CLUSTER kafka-cluster from ::1"},
        ),
        (
            (*ALICE, *ORDERS, "--consumer", "--group", "g"),
            {
                "ALLOW User:alice READ on TOPIC orders from *",
                "ALLOW User:alice DESCRIBE on TOPIC orders from *",
                "ALLOW User:alice READ on GROUP g from *",
            },
        ),
        (
            (*ALICE, *ORDERS, "--producer", "--idempotent"),
            {
                "ALLOW User:alice WRITE on TOPIC orders from *",
                "ALLOW User:alice DESCRIBE on TOPIC orders from *",
                "ALLOW User:alice CREATE on TOPIC orders from *",
                "ALLOW User:alice IDEMPOTENT_WRITE on CLUSTER kafka-cluster from *",
            },
        ),
    ],
)
def test_options_stand_for_entries(
    broker: Topics, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], expected: set[str]
) -> None:
    created: list[Acl] = []

    def create(self: Admin, acls: Iterable[Acl]) -> None:
        created.extend(acls)

    monkeypatch.setattr(Admin, "create_acls", create)
    assert main(["acls", "add", *options, "-b", broker.bootstrap]) == 0
    assert {acl_text(acl) for acl in created} == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("add", *ORDERS), "--allow-principal"),
        (("add", *ALICE), "name a resource"),
        (("add", "--allow-principal", "alice", *ORDERS), "User:alice"),
        (("add", *ALICE, *ORDERS, "--operation", "Reed"), "expected one of All, Read"),
        (("add", *ALICE, *ORDERS, "--consumer"), "--group"),
        (("add", *ALICE, *ORDERS, "--producer", "--operation", "Read"), "leave --operation out"),
        (("remove",), "name a resource"),
    ],
)
def test_wrong_usage_says_what_is_expected(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    assert main(["acls", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_broker_without_an_authorizer_says_so(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["acls", "list", "-b", broker.bootstrap]) == 1
    assert "SECURITY_DISABLED" in capsys.readouterr().err
