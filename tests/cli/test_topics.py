"""`kafkawire topics` on a running broker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.topics import until

from kafkawire.cli.main import main

if TYPE_CHECKING:
    from tests.client.topics import Topics


@pytest.fixture
def run(broker: Topics, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> list[dict[str, Any]]:
        assert main([*arguments, "-b", broker.bootstrap, "--json"]) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return call


def test_a_topic_from_its_making_to_its_end(run: Any, broker: Topics) -> None:
    run("topics", "create", "cli-topic", "-p", "2", "-c", "retention.ms=1000")
    broker.wait_for("cli-topic", 2)
    listed = {row["topic"]: row for row in run("topics", "list")}
    assert (listed["cli-topic"]["partitions"], listed["cli-topic"]["replicas"]) == (2, 1)
    assert run("topics", "grow", "cli-topic", "-p", "3") == [{"topic": "cli-topic", "done": "grown to 3 partitions"}]
    broker.wait_for("cli-topic", 3)
    broker.fill("cli-topic", 5, partition=2)
    assert run("topics", "offsets", "cli-topic") == [
        {"topic": "cli-topic", "partition": number, "earliest": 0, "latest": 5 if number == 2 else 0}
        for number in range(3)
    ]
    described = run("topics", "describe", "cli-topic")
    assert [row["partition"] for row in described] == [0, 1, 2]
    assert {(row["leader"], *row["replicas"]) for row in described} == {(1, 1)}
    run("topics", "delete", "cli-topic")
    until(lambda: "cli-topic" not in {row["topic"] for row in run("topics", "list")})


def test_a_change_is_one_line(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    for verb, arguments, said in (
        ("create", ["line-a,line-b", "-p", "2"], "created: line-a, line-b\n"),
        ("create", ["line-a", "--if-not-exists"], "nothing created\n"),
        ("create", ["line-c", "--dry-run"], "valid, not created (--dry-run): line-c\n"),
        ("grow", ["line-a", "-p", "3"], "grown to 3 partitions: line-a\n"),
        ("delete", ["line-*"], "deleted: line-a, line-b\n"),
        ("delete", ["line-*", "--if-exists"], "nothing deleted\n"),
    ):
        assert main(["topics", verb, *arguments, "-b", broker.bootstrap]) == 0
        assert capsys.readouterr().out == said
    assert main(["topics", "create", "x", "-p", "0", "-b", broker.bootstrap]) == 2


def test_patterns_stand_for_the_topics_that_fit(run: Any, broker: Topics) -> None:
    for name in ("pattern-1", "pattern-2", "other-pattern"):
        broker.create_topic(name, 1)
    assert {row["topic"] for row in run("topics", "list", "pattern-*", "other-p?ttern")} == {
        "pattern-1",
        "pattern-2",
        "other-pattern",
    }
    assert {row["topic"] for row in run("topics", "describe", "pattern-[1]", "other-pattern")} == {
        "pattern-1",
        "other-pattern",
    }
    assert main(["topics", "delete", "pattern-*", "nothing-*", "-b", broker.bootstrap]) == 1
    assert {row["topic"] for row in run("topics", "delete", "pattern-*", "nothing-*", "--if-exists")} == {
        "pattern-1",
        "pattern-2",
    }
    until(lambda: not {"pattern-1", "pattern-2"} & {row["topic"] for row in run("topics", "list")})
    assert "other-pattern" in {row["topic"] for row in run("topics", "list")}


def test_existing_and_missing_topics_can_be_left_alone(run: Any, broker: Topics) -> None:
    broker.create_topic("there", 2)
    run("topics", "create", "there", "not-there", "--if-not-exists", "-p", "1")
    broker.wait_for("not-there", 1)
    assert {row["topic"]: row["partitions"] for row in run("topics", "list", "*there")} == {"there": 2, "not-there": 1}
    assert run("topics", "delete", "never-there", "--if-exists") == []


def test_partitions_in_trouble_can_be_selected(run: Any, broker: Topics) -> None:
    broker.create_topic("healthy", 1)
    assert len(run("topics", "describe", "healthy")) == 1
    for trouble in ("--under-replicated", "--unavailable"):
        assert run("topics", "describe", "healthy", trouble) == []


def test_a_dry_run_makes_nothing(run: Any) -> None:
    run("topics", "create", "dry", "--dry-run")
    assert "dry" not in {row["topic"] for row in run("topics", "list")}


def test_a_table_for_people(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    broker.create_topic("for-people", 3)
    assert main(["topics", "list", "-b", broker.bootstrap]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == ["topic", "partitions", "replicas", "id"]
    assert any(line.split()[:3] == ["for-people", "3", "1"] for line in lines)


def test_a_failure_prints_its_reason(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "delete", "never-there", "-b", broker.bootstrap]) == 1
    assert "UNKNOWN_TOPIC_OR_PARTITION" in capsys.readouterr().err
    assert main(["topics", "create", "bad/name", "-b", broker.bootstrap]) == 1
    assert "INVALID_TOPIC_EXCEPTION" in capsys.readouterr().err
    assert main(["topics"]) == 2
