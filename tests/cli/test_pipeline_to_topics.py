"""`kafkawire pipeline stream --to-topic` and `recover`: streams that write to topics."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.spark.filled_broker import FilledBroker
from tests.spark.shared_session import spark

from kafkawire.cli.main import main
from kafkawire.client import BulkReader, BulkWriter
from kafkawire.spark._exactly_once.cluster_sink import commit_on_cluster
from kafkawire.spark._exactly_once.decision import Part
from kafkawire.spark._exactly_once.options import SinkOptions
from kafkawire.spark.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["spark"]

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def broker() -> Iterator[FilledBroker]:
    with FilledBroker() as broker:
        broker.create_topic("t", 2)
        broker.create_topic("out")
        yield broker


def stream(broker: FilledBroker, root: Path, *more: str) -> int:
    places = ["--checkpoint", str(root / "checkpoint"), "--trigger", "available-now"]
    return main(["pipeline", "stream", "-b", broker.bootstrap_servers, "t", *places, *more])


def committed(broker: FilledBroker, topic: str) -> Counter[tuple[bytes | None, bytes | None]]:
    with BulkReader(broker.bootstrap_servers, isolation_level="read_committed", fetch_max_wait_ms=20) as reader:
        return Counter(
            (row["key"], row["value"])
            for partition in reader.partitions(topic)
            for batch in reader.read(topic, partition, 0, columns=["key", "value"])
            for row in batch.to_pylist()
        )


@pytest.mark.usefixtures("spark")
def test_a_stream_copies_records_once_and_goes_on_from_there(
    tmp_path: Path, broker: FilledBroker, capsys: Capture
) -> None:
    broker.fill("t", 30)
    assert stream(broker, tmp_path, "--to-topic", "out", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"target": "out", "rows": 30}
    broker.fill("t", 20, partition=1, first=30)
    query = "SELECT key, concat(value, '!') AS value, topic FROM records WHERE offset < 10"
    assert stream(broker, tmp_path, "--to-topic", "{topic}.copy", "--sql", query) == 0
    assert committed(broker, "out") == Counter((b"k%d" % n, b"v%d" % n) for n in range(30))
    assert committed(broker, "t.copy") == Counter((b"k%d" % n, b"v%d!" % n) for n in range(30, 40))
    assert broker.count("EndTxn") > 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "expected --out DIR for tables, or --to-topic TOPIC"),
        (("--out", "o", "--to-topic", "out"), "--to-topic writes no tables"),
        (("--out", "o", "--sql", "SELECT 1"), "--sql needs --to-topic"),
        (("--out", "o", "--to-option", "a=b"), "--to-option needs --to-topic"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_spark_starts(
    tmp_path: Path, broker: FilledBroker, capsys: Capture, arguments: tuple[str, ...], problem: str
) -> None:
    assert stream(broker, tmp_path, *arguments) == 2
    assert problem in capsys.readouterr().err


def prepare(options: SinkOptions, sink: str, task: int) -> Part:
    writer = BulkWriter(
        config=dict(options.client),
        transactional_id=options.names(sink).of_task("run", task, 0),
        transaction_timeout_ms=options.timeout_ms,
    )
    writer.begin()
    writer.write("out", pa.record_batch({"value": pa.array([b"%d" % task], pa.binary())}))
    prepared = writer.prepare()
    writer.close()
    assert prepared is not None
    return Part(task, 1, 1, prepared)


def test_recover_commits_what_a_dead_driver_has_decided(broker: FilledBroker, capsys: Capture) -> None:
    client = {"bootstrap.servers": broker.bootstrap_servers}
    options = SinkOptions.parse({"deliveryguarantee": "exactly-once"}, client, is_stream=True)
    assert options is not None
    parts = [prepare(options, "shop", task) for task in range(3)]
    broker.delay_next("EndTxn", 0)  # the decision
    broker.fail_next("EndTxn", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", times=2)
    with pytest.raises(SinkError, match="within 900 s"):
        commit_on_cluster(options, "shop", 7, "run", parts)
    recover = ["pipeline", "recover", "-b", broker.bootstrap_servers, "--json"]
    assert main(recover) == 0
    found = {"sink": "kafkawire.shop", "batch": 7, "transactions": 3}
    assert json.loads(capsys.readouterr().out) == {**found, "state": "open"}
    assert main([*recover, "kafkawire.shop"]) == 0
    assert json.loads(capsys.readouterr().out) == {**found, "state": "committed"}
    assert committed(broker, "out") == Counter((None, b"%d" % task) for task in range(3))
    assert main(recover) == 0
    assert capsys.readouterr().out == ""
    assert main([*recover, "kafkawire.shop"]) == 2
    assert "kafkawire.shop: no open decision; open are none" in capsys.readouterr().err
