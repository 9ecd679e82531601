"""A topic behind OAUTHBEARER, with tokens of a function that an option names, as for AWS MSK with IAM."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from tests.broker.security.tokens import GOOD, claims, jwks, signed

from kafkawire.client import NewTopic
from kafkawire.client.blocking import Admin, Producer
from kafkawire.exceptions import KafkaWireError
from kafkawire.spark._topics.lookup import plan_batch
from kafkawire.spark._topics.options import TopicOptions
from kafkawire.spark._topics.tasks import read_range
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def token_of_ann() -> str:
    return signed(claims(time.time(), **GOOD))


@pytest.fixture
def options(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The options for a topic with three records, as Spark passes them: all are text, keys in lower case."""
    (tmp_path / "jwks.json").write_text(json.dumps(jwks()))
    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.sasl_plaintext.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": (
            tmp_path / "jwks.json"
        ).as_uri(),
        "sasl.oauthbearer.expected.issuer": "https://issuer",
        "sasl.oauthbearer.expected.audience": "kafka",
        "connection.failed.authentication.delay.ms": "1",
    }
    with RunningBroker(config=settings) as broker:
        client = {
            "bootstrap.servers": broker.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauth.token.provider": f"{__name__}:token_of_ann",
        }
        with Admin(client) as admin:
            admin.create_topics([NewTopic(name="t", num_partitions=1)])
        with Producer(client) as producer:
            for number in range(3):
                producer.send("t", b"v%d" % number)
            producer.flush()
        yield {"subscribe": "t", **{f"kafka.{name}": text for name, text in client.items()}}


def test_driver_and_tasks_log_in_with_tokens_of_the_named_function(options: dict[str, str]) -> None:
    parsed = TopicOptions.parse(options, is_stream=False)
    rows = [
        row["value"]
        for each in plan_batch(parsed)
        for batch in read_range(each, ("value",), parsed)
        for row in batch.to_pylist()
    ]
    assert rows == [b"v0", b"v1", b"v2"]


def test_a_name_that_is_no_function_is_refused_under_the_name_of_the_option(options: dict[str, str]) -> None:
    wrong = {**options, "kafka.sasl.oauth.token.provider": "no_module"}
    with pytest.raises(KafkaWireError, match=r"no_module: expected a function, or its name as module:function"):
        plan_batch(TopicOptions.parse(wrong, is_stream=False))
