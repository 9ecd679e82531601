"""The examples of OAUTHBEARER in the manual, run as they stand there, against a broker that checks every token.

Rules:
- Only the addresses of the examples are replaced, and the authority of the test is trusted.
- Modules of the test stand in for the packages of AWS and Azure. They return a token with its end, as these do: in
  milliseconds, and in seconds.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.security.secured import tls_settings
from tests.broker.security.test_oauthbearer import Endpoint, endpoint
from tests.broker.security.tokens import GOOD, claims, jwks, signed

from kafkawire.cli.main import main
from kafkawire.client.blocking import Admin
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ConsumerOptions
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["endpoint"]
MANUAL = Path(__file__).parents[2] / "docs" / "client.md"
JAAS = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    (tmp_path / "jwks.json").write_text(json.dumps(jwks()))
    prefix = "listener.name.sasl_ssl.oauthbearer.sasl.oauthbearer"
    settings = {
        **tls_settings(tmp_path, "SASL_SSL"),
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{prefix}.jwks.endpoint.url": (tmp_path / "jwks.json").as_uri(),
        f"{prefix}.expected.issuer": GOOD["iss"],
        f"{prefix}.expected.audience": GOOD["aud"],
        "connection.failed.authentication.delay.ms": "1",
    }
    with RunningBroker(config=settings) as broker:
        broker.create_topic("orders", 1)
        yield broker


def example(words: str, language: str) -> str:
    """The code block of the manual that contains these words."""
    blocks = re.findall(rf"```{language}\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    (found,) = [block for block in blocks if words in block]
    assert isinstance(found, str)
    return found


def stand_in(name: str, **contents: Any) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(contents)
    return module


class Signer:
    """As MSKAuthTokenProvider of aws_msk_iam_sasl_signer."""

    @staticmethod
    def generate_auth_token(region: str) -> tuple[str, int]:
        assert region == "eu-west-1"
        return signed(claims(time.time(), **GOOD)), int((time.time() + 600) * 1000)


class Credential:
    """As DefaultAzureCredential of azure.identity."""

    def get_token(self, scope: str) -> SimpleNamespace:
        assert scope.endswith("/.default")
        return SimpleNamespace(token=signed(claims(time.time(), **GOOD)), expires_on=int(time.time() + 600))


@pytest.mark.parametrize("words", ["aws_msk_iam_sasl_signer", "azure.identity"])
def test_an_example_with_a_function_sends_a_record(
    words: str, broker: RunningBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        sys.modules, "aws_msk_iam_sasl_signer", stand_in("aws_msk_iam_sasl_signer", MSKAuthTokenProvider=Signer)
    )
    monkeypatch.setitem(sys.modules, "azure", stand_in("azure"))
    monkeypatch.setitem(sys.modules, "azure.identity", stand_in("azure.identity", DefaultAzureCredential=Credential))
    where = f'bootstrap_servers="{broker.bootstrap_servers}", ssl_cafile={str(tmp_path / "ca.pem")!r}'
    code, changed = re.subn(r'bootstrap_servers="[^"]*"', where, example(words, "python"))
    assert changed == 1
    names: dict[str, Any] = {}

    async def run() -> None:
        exec(code, names)  # the manual is ours
        async with names["producer"] as producer:
            await producer.send_and_wait("orders", b"a record")

    asyncio.run(run())
    assert [each.value for each in broker.records("orders")] == [b"a record"]


def confluent(broker: RunningBroker, tmp_path: Path, endpoint: str) -> str:
    """The properties of the manual for Confluent Cloud, with the addresses of the test."""
    text = example("logicalCluster", "properties")
    text = re.sub(r"(token\.endpoint\.url)=.*", rf"\1={endpoint}", text)
    text = re.sub(r"(client\.secret)=.*", r"\1=s:cret", text).replace("client.id=app", "client.id=app/1")
    more = f"ssl.truststore.location={tmp_path / 'ca.pem'}\nsasl.oauthbearer.scope=kafka\n"
    return f"bootstrap.servers={broker.bootstrap_servers}\n{text}{more}"


def test_the_example_with_client_credentials_lists_topics(
    broker: RunningBroker, tmp_path: Path, endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "client.properties"
    file.write_text(confluent(broker, tmp_path, endpoint))
    assert main(["topics", "list", "-F", str(file)]) == 0
    assert "orders" in capsys.readouterr().out


def test_client_credentials_may_be_a_jaas_login_of_several_lines(
    broker: RunningBroker, tmp_path: Path, endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        line
        for line in confluent(broker, tmp_path, endpoint).splitlines()
        if not re.match(r"sasl\.oauthbearer\.(client|scope|extensions)", line)
    ]
    login = f'sasl.jaas.config={JAAS} \\\n  clientId="app/1" \\\n  clientSecret="s:cret" scope="kafka" \\\n'
    file = tmp_path / "client.properties"
    file.write_text("\n".join(lines) + f'\n{login}  extension_logicalCluster="lkc-abc12";\n')
    Endpoint.asked = 0
    assert main(["topics", "list", "-F", str(file)]) == 0
    assert "orders" in capsys.readouterr().out


def test_extensions_come_from_both_places() -> None:
    options = read_options(
        ConsumerOptions,
        {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": f'{JAAS} clientId="a" clientSecret="b" extension_logicalCluster="l" extension_x="1";',
            "sasl.oauthbearer.extensions": "x=2, identityPoolId=p",
        },
        {},
    )
    assert dict(options.extensions()) == {"logicalCluster": "l", "x": "2", "identityPoolId": "p"}


def test_a_client_without_credentials_says_what_it_needs(broker: RunningBroker, tmp_path: Path) -> None:
    options = {
        "bootstrap_servers": broker.bootstrap_servers,
        "security_protocol": "SASL_SSL",
        "ssl_cafile": str(tmp_path / "ca.pem"),
        "sasl_mechanism": "OAUTHBEARER",
    }
    with pytest.raises(Exception, match="clientId and clientSecret in sasl_jaas_config"):
        Admin(options)
