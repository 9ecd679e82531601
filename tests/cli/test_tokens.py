"""`kafkawire tokens` against a running broker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.security.test_sasl import SECRET, login
from tests.broker.security.test_token_login import with_tokens

from kafkawire.cli.main import main
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUR = 3_600_000


@pytest.fixture
def broker() -> Iterator[RunningBroker]:
    with RunningBroker(config=with_tokens()) as broker:
        yield broker


def tokens(broker: RunningBroker, *words: str) -> int:
    options = login(broker, "PLAIN")
    given = ["-b", options.pop("bootstrap_servers")]
    for name, value in options.items():
        given += ["-X", f"{name.replace('_', '.')}={value}"]
    return main(["tokens", *words, *given])


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_tokens_are_created_listed_renewed_and_expired(
    broker: RunningBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tokens(broker, "create", "--owner", "User:bob", "--renewer", "ann", "--max-lifetime", "2h", "--json") == 0
    (made,) = rows(capsys)
    assert (made["owner"], made["requester"], made["renewers"]) == ("User:bob", "User:ann", "User:ann")
    assert tokens(broker, "list", "--json") == 0
    (listed,) = rows(capsys)
    assert listed == {name: value for name, value in made.items() if name != "hmac"}
    assert tokens(broker, "list", "--owner", "User:cleo", "--json") == 0
    assert rows(capsys) == []
    assert tokens(broker, "list", "--show-hmac", "--json") == 0
    assert rows(capsys) == [made]
    assert tokens(broker, "renew", made["token_id"], "--period", "1h", "--json") == 0
    (renewed,) = rows(capsys)
    assert renewed["expires"] < made["max"]
    monkeypatch.setenv("KAFKAWIRE_TOKEN_HMAC", made["hmac"])
    assert tokens(broker, "renew") == 0
    assert tokens(broker, "expire") == 0
    assert tokens(broker, "expire") != 0
    assert "DELEGATION_TOKEN_NOT_FOUND" in capsys.readouterr().err


def test_a_token_logs_in_on_the_command_line(broker: RunningBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert tokens(broker, "create", "--json") == 0
    (made,) = rows(capsys)
    given = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-512", "sasl.token.auth=true"]
    given += [f"sasl.username={made['token_id']}", f"sasl.password={made['hmac']}"]
    options = [word for each in given for word in ("-X", each)]
    assert main(["topics", "list", "-b", broker.bootstrap_servers, *options]) == 0
    module = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    jaas = f'{module} username="{made["token_id"]}" password="{made["hmac"]}" tokenauth="true";'
    options = [word for each in (*given[:2], f"sasl.jaas.config={jaas}") for word in ("-X", each)]
    assert main(["topics", "list", "-b", broker.bootstrap_servers, *options]) == 0
    assert SECRET not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("renew",), "KAFKAWIRE_TOKEN_HMAC"),
        (("renew", "another"), "no token 'another'"),
        (("create", "--owner", ":"), "expected Type:name"),
    ],
)
def test_wrong_usage_is_explained(
    broker: RunningBroker,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    error: str,
) -> None:
    monkeypatch.delenv("KAFKAWIRE_TOKEN_HMAC", raising=False)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert tokens(broker, *words) != 0
    assert error in capsys.readouterr().err


def test_a_span_is_a_number_with_a_unit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokens", "create", "--max-lifetime", "soon"]) == 2
    assert "12h or 7d" in capsys.readouterr().err
