"""`kafkawire groups` on a running broker."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.raw_connection import Peer

from kafkawire.cli.main import main
from kafkawire.client.blocking import Consumer
from kafkawire.messages import ApiVersionsRequest, ConsumerGroupHeartbeatRequest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.topics import Topics

TIME = 1_700_000_000_000
CONSUMER_GROUP_HEARTBEAT = 68


@pytest.fixture
def run(broker: Topics, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> list[dict[str, Any]]:
        assert main(["groups", *arguments, "-b", broker.bootstrap, "--json"]) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return call


@pytest.fixture(scope="module")
def topic(broker: Topics) -> str:
    broker.create_topic("grouped", 2)
    broker.fill("grouped", 10)
    return "grouped"


def read(broker: Topics, topic: str, group: str, count: int) -> Consumer:
    consumer = Consumer(topic, bootstrap_servers=broker.bootstrap, group_id=group, auto_offset_reset="earliest")
    for _ in range(count):
        consumer.getone()
    consumer.commit()
    return consumer


def test_a_living_group_with_its_lag(run: Any, broker: Topics, topic: str) -> None:
    consumer = read(broker, topic, "living", 4)
    try:
        rows = {row["partition"]: row for row in run("describe", "living")}
        assert (rows[0]["state"], rows[0]["committed"], rows[0]["end"], rows[0]["lag"]) == ("Stable", 4, 10, 6)
        assert rows[0]["client"] == "kafkawire"
        listed = {row["group"]: row for row in run("list")}
        assert listed["living"]["protocol"] == "consumer"
    finally:
        consumer.close()


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        *(("earliest", 0), ("latest", 10), ("current", 4), ("7", 7), ("99", 10), ("+3", 7), ("-3", 1)),
        *((f"@{TIME + 5}", 5), ("@2023-11-14T22:13:20.003", 3), ("@2023-11-14T23:13:20.003+01:00", 3), ("@-1h", 10)),
    ],
)
def test_offsets_are_moved(run: Any, broker: Topics, topic: str, goal: str, expected: int) -> None:
    group = f"moved{goal}".replace(":", "-").replace("@", "at")
    read(broker, topic, group, 4).close()
    (row,) = [row for row in run("reset", group, "-t", topic, f"--to={goal}", "--execute") if row["partition"] == 0]
    assert (row["before"], row["after"]) == (4, expected)
    rows = {row["partition"]: row for row in run("describe", group)}
    assert rows[0]["committed"] == expected


@pytest.mark.parametrize("option", [[], ["--dry-run"]], ids=str)
def test_a_plan_moves_nothing(
    run: Any, broker: Topics, topic: str, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    group = f"dry{len(option)}"
    read(broker, topic, group, 4).close()
    assert run("reset", group, "--to", "earliest", *option)[0]["after"] == 0
    assert main(["groups", "reset", group, "--to", "earliest", *option, "-b", broker.bootstrap]) == 0
    assert capsys.readouterr().err == "kafkawire: nothing was changed; --execute sets these offsets\n"
    assert {row["partition"]: row["committed"] for row in run("describe", group)}[0] == 4


def test_some_partitions_are_moved(run: Any, broker: Topics, topic: str) -> None:
    read(broker, topic, "some", 4).close()
    assert [row["partition"] for row in run("reset", "some", "-t", f"{topic}:1", "--to", "earliest")] == [1]
    for named in (["-t", f"{topic}:7"], ["-t", f"{topic}:7", "-t", topic]):
        assert main(["groups", "reset", "some", *named, "--to", "earliest", "-b", broker.bootstrap]) == 2


@pytest.mark.parametrize("parts", [":0 :1", ":1,0 :1", ":0 ", " :1", ""])
def test_partitions_of_a_topic_may_be_named_one_by_one(run: Any, topic: str, parts: str) -> None:
    named = [word for part in parts.split(" ") for word in ("-t", topic + part)]
    rows = run("reset", "parted", *named, "--to", "latest", "--dry-run")
    assert sorted((row["topic"], row["partition"]) for row in rows) == [(topic, 0), (topic, 1)]


def test_printed_settings_can_be_set_again(run: Any, broker: Topics, topic: str, tmp_path: Path) -> None:
    read(broker, topic, "again", 4).close()
    saved, kafkas = tmp_path / "saved.json", tmp_path / "saved.csv"
    saved.write_text("".join(f"{json.dumps(row)}\n" for row in run("reset", "again", "--to", "current", "--dry-run")))
    kafkas.write_text(f'"{topic}",0,2\n')
    run("reset", "again", "--to", "earliest", "--execute")
    assert {row["partition"]: row["after"] for row in run("reset", "again", "--from-file", str(saved), "--execute")}[
        0
    ] == 4
    assert run("reset", "again", "--from-file", str(kafkas), "--execute") == [
        {"topic": topic, "partition": 0, "before": 4, "after": 2}
    ]


def test_offsets_of_a_file_become_those_that_there_are(run: Any, broker: Topics, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "beyond.csv"
    path.write_text(f"{topic},0,99\n{topic},1,-5\n")
    rows = run("reset", "beyond", "--from-file", str(path))
    assert [(row["partition"], row["after"]) for row in rows] == [(0, 10), (1, 0)]
    path.write_text(f"{topic},7,1\n")
    assert main(["groups", "reset", "beyond", "--from-file", str(path), "-b", broker.bootstrap]) == 1


def test_offsets_are_forgotten(run: Any, broker: Topics, topic: str) -> None:
    read(broker, topic, "forgetful", 4).close()
    run("forget", "forgetful", "-t", topic)
    (row,) = run("describe", "forgetful")
    assert (row["group"], row["topic"], row["committed"]) == ("forgetful", None, None)


def test_members_and_state_of_a_group(run: Any, broker: Topics, topic: str) -> None:
    consumer = read(broker, topic, "watched", 1)
    try:
        (member,) = run("describe", "watched", "--members")
        assert (member["client"], member["assignment"]) == ("kafkawire", f"{topic}:0,1")
        states = {row["group"]: row for row in run("describe", "--state")}
        assert (states["watched"]["state"], states["watched"]["members"]) == ("Stable", 1)
        assert "watched" in {row["group"] for row in run("list", "--state", "stable")}
        assert "watched" not in {row["group"] for row in run("list", "--state", "empty")}
    finally:
        consumer.close()


def test_a_group_is_deleted(run: Any, broker: Topics, topic: str) -> None:
    read(broker, topic, "doomed", 1).close()
    run("delete", "doomed")
    assert "doomed" not in {row["group"] for row in run("list")}


def test_impossible_changes_are_refused(
    broker: Topics, topic: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["groups", "reset", "nobody", "--to", "earliest", "-b", broker.bootstrap]) == 2
    assert "group 'nobody' has no offsets; choose topics with -t" in capsys.readouterr().err
    assert main(["groups", "reset", "nobody", "-t", topic, "--to", "soon", "-b", broker.bootstrap]) == 2
    assert "--to 'soon': expected earliest" in capsys.readouterr().err
    assert main(["groups", "reset", "nobody", "-t", topic, "--to", "@soon", "-b", broker.bootstrap]) == 2
    assert "time 'soon': expected milliseconds" in capsys.readouterr().err
    odd = tmp_path / "odd.csv"
    odd.write_text("orders 0 1\n")
    assert main(["groups", "reset", "nobody", "--from-file", str(odd), "-b", broker.bootstrap]) == 2
    assert "line 1: expected topic,partition,offset, found 'orders 0 1'" in capsys.readouterr().err


def test_consumer_group_has_epochs_and_a_target(run: Any, broker: Topics, topic: str) -> None:
    join = ConsumerGroupHeartbeatRequest(
        group_id="modern",
        member_id="m",
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=[topic],
        topic_partitions=[],
    )
    with Peer(SimpleNamespace(bootstrap_servers=broker.bootstrap)) as peer:
        asking = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        if CONSUMER_GROUP_HEARTBEAT not in {each.api_key for each in peer.call(asking, 3).api_keys}:
            pytest.skip("the broker does not serve consumer groups")
        assert peer.call(join, 1).error_code == 0
        (member,) = run("describe", "modern", "--members")
        assert (member["epoch"], member["assignment"], member["target"]) == (2, f"{topic}:0,1", f"{topic}:0,1")
        (state,) = run("describe", "modern", "--state")
        assert (state["type"], state["strategy"], state["epoch"]) == ("consumer", "uniform", 2)
        assert {row["group"] for row in run("list", "--type", "consumer")} == {"modern"}
        join.member_epoch = -1
        peer.call(join, 1)
