"""`kafkawire transactions`, and transactions of `produce` and `consume`, on a running broker."""

from __future__ import annotations

import io
import json
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.topics import until

from kafkawire.cli.main import main
from kafkawire.client import ConfigResource, FencedError, ResourceType
from kafkawire.client.blocking import Admin, Producer
from kafkawire.messages import InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse
from kafkawire.records import BatchBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.client.topics import Topics

VERIFICATION = "transaction.partition.verification.enable"


@pytest.fixture
def run(broker: Topics, capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    def call(*arguments: str, code: int = 0) -> list[dict[str, Any]]:
        as_json = [] if arguments[0] == "abort" or code else ["--json"]
        assert main(["transactions", *arguments, "-b", broker.bootstrap, *as_json]) == code
        return [json.loads(line) for line in capfdbinary.readouterr().out.splitlines() if not code]

    return call


@pytest.fixture
def topic(broker: Topics, request: pytest.FixtureRequest) -> str:
    return broker.create_topic(request.node.name.replace("[", ".").replace("]", ""), 2)


@contextmanager
def unverified(broker: Topics) -> Iterator[None]:
    """Let the broker accept records of transactions that no coordinator knows, as releases before KIP-890 did."""
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        everywhere = ConfigResource(ResourceType.BROKER, "")
        admin.alter_configs(everywhere, {VERIFICATION: "false"})
        try:
            yield
        finally:
            admin.alter_configs(everywhere, {VERIFICATION: None})


def leave_hanging(broker: Topics, topic: str, transactional_id: str) -> int:
    """Write a record of a transaction that has no coordinator; its producer id."""
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        admin.fence_producers([transactional_id])
        made = admin.raw(InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000))
        assert isinstance(made, InitProducerIdResponse)
        builder = BatchBuilder(
            is_transactional=True,
            producer_id=made.producer_id,
            producer_epoch=made.producer_epoch,
            base_sequence=0,
        )
        builder.append(None, b"hangs", timestamp=time.time_ns() // 1_000_000)
        data = ProduceRequest.PartitionProduceData(index=0, records=builder.build())
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=5_000,
            topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[data])],
        )

        def is_stored() -> bool:
            answer = admin.raw(request, version=9)
            assert isinstance(answer, ProduceResponse)
            return answer.responses[0].partition_responses[0].error_code == 0

        until(is_stored)  # the setting takes a moment
    return made.producer_id


def test_an_open_transaction_is_listed_and_described(run: Any, broker: Topics, topic: str) -> None:
    with Producer(bootstrap_servers=broker.bootstrap, transactional_id="listed") as producer:
        producer.begin()
        for number in range(2):
            producer.send_and_wait(topic, b"v", partition=number)
        (listed,) = [each for each in run("list", "--state", "Ongoing") if each["transactional_id"] == "listed"]
        (described,) = run("describe", "listed")
        assert (described["state"], described["partitions"]) == ("Ongoing", f"{topic}:0,1")
        assert described["producer_id"] == listed["producer_id"]
        assert described["timeout_ms"] == 60_000
        assert described["duration_ms"] >= 0
        producer.commit()
    until(lambda: run("describe", "listed")[0]["state"] == "CompleteCommit")
    assert run("describe", "listed")[0]["partitions"] == ""


def test_the_list_is_filtered_by_state_producer_and_duration(run: Any, broker: Topics, topic: str) -> None:
    server = {"bootstrap_servers": broker.bootstrap}
    with (
        Producer(server, transactional_id="filter-open") as opened,
        Producer(server, transactional_id="filter-empty"),
    ):
        opened.begin()
        opened.send_and_wait(topic, b"v")

        def names(*arguments: str) -> set[str]:
            found = {each["transactional_id"] for each in run("list", *arguments)}
            return {name for name in found if name.startswith("filter-")}

        assert names() == {"filter-open", "filter-empty"}
        assert names("--state", "Ongoing", "--state", "PrepareAbort") == {"filter-open"}
        producer_id = next(each["producer_id"] for each in run("list") if each["transactional_id"] == "filter-empty")
        assert names("--producer-id", str(producer_id)) == {"filter-empty"}
        assert names("--longer-than-ms", "600000", "--state", "Ongoing") == set()
        opened.abort()


def test_the_list_is_filtered_by_a_pattern(run: Any, broker: Topics) -> None:
    server = {"bootstrap_servers": broker.bootstrap}
    with Producer(server, transactional_id="pattern-1"), Producer(server, transactional_id="pattern-2"):
        assert [each["transactional_id"] for each in run("list", "--pattern", "pattern-[1]")] == ["pattern-1"]
    run("list", "--pattern", "(", code=1)


def test_an_id_that_nobody_uses_is_an_error(run: Any, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    run("describe", "nobody", code=1)
    run("list", "--state", "Unheard", code=1)


def test_a_hanging_transaction_is_found_and_aborted(run: Any, broker: Topics, topic: str) -> None:
    with unverified(broker):
        producer_id = leave_hanging(broker, topic, "hanging")
    with Producer(bootstrap_servers=broker.bootstrap, transactional_id="healthy") as healthy:
        healthy.begin()
        healthy.send_and_wait(topic, b"healthy", partition=1)
        assert run("find-hanging", "-t", topic) == []
        (found,) = run("find-hanging", "-t", topic, "--max-transaction-timeout", "-1")
        assert (found["topic"], found["partition"], found["producer_id"]) == (topic, 0, producer_id)
        assert found["start_offset"] == 0
        everywhere = run("find-hanging", "--max-transaction-timeout", "-1")
        assert [each["producer_id"] for each in everywhere if each["topic"] == topic] == [producer_id]
        states = {each["producer_id"]: each for each in run("producers", "-t", topic)}
        assert states[producer_id]["start_offset"] == 0
        run("abort", "-t", f"{topic}:0", "--start-offset", "99", code=2)
        run("abort", "-t", topic, "--start-offset", "0", code=2)
        run("abort", "-t", f"{topic}:0", "--start-offset", "0", "--producer-id", "1", code=2)
        run("abort", "-t", f"{topic}:0", "--start-offset", "0")
        assert run("find-hanging", "-t", topic, "--max-transaction-timeout", "-1") == []
        healthy.commit()


def test_a_hanging_transaction_is_aborted_by_its_producer(run: Any, broker: Topics, topic: str) -> None:
    with unverified(broker):
        leave_hanging(broker, topic, "hanging-by-id")
    (found,) = run("producers", "-t", f"{topic}:0")
    values = [f"--{name.replace('_', '-')}" for name in ("producer_id", "producer_epoch", "coordinator_epoch")]
    given = [str(found[name]) for name in ("producer_id", "producer_epoch", "coordinator_epoch")]
    run("abort", "-t", f"{topic}:0", *(text for each in zip(values, given, strict=True) for text in each))
    assert run("producers", "-t", f"{topic}:0")[0]["start_offset"] is None


def test_fencing_ends_the_transaction_and_refuses_the_producer(run: Any, broker: Topics, topic: str) -> None:
    with Producer(bootstrap_servers=broker.bootstrap, transactional_id="zombie") as producer:
        producer.begin()
        producer.send_and_wait(topic, b"v")
        (fenced,) = run("fence", "zombie")
        assert fenced["transactional_id"] == "zombie"
        with pytest.raises(FencedError):
            producer.commit()
    assert run("describe", "zombie")[0]["state"] == "Empty"


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Any:
    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


@pytest.fixture
def consume(broker: Topics, topic: str, capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    def lines(*arguments: str) -> list[bytes]:
        capfdbinary.readouterr()
        assert main(["consume", topic, "-b", broker.bootstrap, "-e", "-p", "0", *arguments]) == 0
        return capfdbinary.readouterr().out.splitlines()

    return lines


@pytest.mark.parametrize("option", [["--transactional-id", "lines"], ["-X", "transactional.id=lines"]])
def test_lines_are_sent_in_one_transaction(
    broker: Topics, topic: str, stdin: Any, consume: Any, option: list[str]
) -> None:
    stdin(b"one\ntwo\nthree\n")
    assert main(["produce", topic, "-p", "0", "-b", broker.bootstrap, *option]) == 0
    assert consume("--isolation", "read_committed") == [b"one", b"two", b"three"]


def test_lines_are_sent_in_transactions_of_a_size(broker: Topics, topic: str, stdin: Any, consume: Any) -> None:
    stdin(b"one\ntwo\nthree\n")
    arguments = ["--transactional-id", "sized", "--commit-every", "2"]
    assert main(["produce", topic, "-p", "0", "-b", broker.bootstrap, *arguments]) == 0
    assert consume("--isolation", "read_committed", "-f", "%o %s\n") == [b"0 one", b"1 two", b"3 three"]
    assert main(["produce", topic, "-b", broker.bootstrap, "--commit-every", "2"]) == 2


def test_input_that_fails_leaves_nothing_for_readers_of_committed_records(
    broker: Topics, topic: str, consume: Any, tmp_path: Any
) -> None:
    (tmp_path / "first").write_bytes(b"first")
    files = [str(tmp_path / "first"), str(tmp_path / "missing")]
    assert main(["produce", topic, *files, "-p", "0", "-b", broker.bootstrap, "--transactional-id", "half"]) == 1
    assert consume("--isolation", "read_committed") == []
