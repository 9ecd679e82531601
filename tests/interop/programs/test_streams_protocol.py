"""Kafka Streams with `group.protocol=streams` on our broker: one instance, two, the loss of one, and its state.

The application counts words exactly once. Every update of a count is one record. So a lost state, a task that runs
twice, or a commit that is refused shows in the counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tests.broker.raw_connection import Peer
from tests.interop.our_broker import OurBroker
from tests.interop.programs.jvm import Program, compile_programs
from tests.interop.programs.topics import committed, create, produce
from tests.interop.waiting import until
from torture.victim import Victim

from kafkawire import messages as m

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheKafka

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]
PATIENCE = 120.0
KILLS = 4
GROUP = "words"
WORDS = "a broker stores records and a client reads records and commits offsets"
QUICK = {
    "group.streams.session.timeout.ms": "6000",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.initial.rebalance.delay.ms": "500",
}


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    compile_programs()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path / "broker", QUICK)
    running.start()
    yield running
    running.stop()


class Address(NamedTuple):
    """The address of a broker that is a process of its own."""

    bootstrap: str

    @property
    def bootstrap_servers(self) -> str:
        """The name that connections use."""
        return self.bootstrap


def word_count(broker: OurBroker | Address, directory: Path, name: str) -> Program:
    """One instance of the application, with a state directory of its own."""
    settings = {
        "application.id": GROUP,
        "bootstrap.servers": broker.bootstrap,
        "group.protocol": "streams",
        "processing.guarantee": "exactly_once_v2",
        "commit.interval.ms": "100",
        "state.dir": str(directory / name),
        "transaction.timeout.ms": "10000",
        "auto.offset.reset": "earliest",
        "input": "lines",
        "output": "counts",
    }
    return Program("WordCount", [f"{key}={value}" for key, value in settings.items()], directory / f"{name}.out")


def describe(broker: OurBroker | Address) -> Any:
    with Peer(broker, 20.0) as peer:
        return peer.call(m.StreamsGroupDescribeRequest(group_ids=[GROUP]), 0).groups[0]


def active_tasks(broker: OurBroker | Address) -> list[int]:
    """How many active tasks each member has, once the group is stable."""
    found = describe(broker)
    if found.group_state != "Stable":
        return []
    return sorted(sum(len(each.partitions) for each in member.assignment.active_tasks) for member in found.members)


def counts(broker: OurBroker | Address) -> dict[str | None, int]:
    return {word: int(count) for word, count in committed(broker.bootstrap, "counts")}


def expected(lines: int) -> dict[str | None, int]:
    return {word: lines * times for word, times in Counter(WORDS.split()).items()}


def test_word_count_scales_and_survives(broker: OurBroker, kafka: ApacheKafka, tmp_path: Path) -> None:
    create(broker.bootstrap, "lines", "counts")
    produce(broker.bootstrap, "lines", [WORDS] * 50)
    with word_count(broker, tmp_path, "first") as first:
        until(lambda: counts(broker) == expected(50), PATIENCE)
        assert active_tasks(broker) == [6]
        with word_count(broker, tmp_path, "second") as second:
            until(lambda: active_tasks(broker) == [3, 3], PATIENCE)
            produce(broker.bootstrap, "lines", [WORDS] * 50)
            until(lambda: counts(broker) == expected(100), PATIENCE)
            check_tool(kafka, broker)
            broker.restart()
            first.kill()
            produce(broker.bootstrap, "lines", [WORDS] * 50)
            until(lambda: counts(broker) == expected(150), PATIENCE)
            until(lambda: active_tasks(broker) == [6], PATIENCE)
            second.stop()
    assert_each_count_once(broker, 150)


def assert_each_count_once(broker: OurBroker | Address, lines: int) -> None:
    """Every word was counted up to its number, by steps of one."""
    updates = defaultdict(list)
    for word, count in committed(broker.bootstrap, "counts"):
        updates[word].append(int(count))
    assert updates == {word: list(range(1, count + 1)) for word, count in expected(lines).items()}


def test_word_count_survives_kills_of_its_broker(tmp_path: Path) -> None:
    """kill -9 of the broker while two instances work; then one of them is lost, and the broker is killed again."""
    with Victim(tmp_path / "victim", QUICK) as victim:
        victim.start()
        broker = Address(f"127.0.0.1:{victim.port}")
        create(broker.bootstrap, "lines", "counts")
        with (
            word_count(broker, tmp_path, "first") as first,
            word_count(broker, tmp_path, "second"),
        ):
            until(lambda: active_tasks(broker) == [3, 3], PATIENCE)
            for number in range(KILLS):
                produce(broker.bootstrap, "lines", [WORDS] * 30)
                wanted = 30 * number * len(WORDS.split())
                until(lambda wanted=wanted: sum(counts(broker).values()) > wanted, PATIENCE)  # type: ignore[misc]
                victim.kill()
                victim.start()
            until(lambda: counts(broker) == expected(30 * KILLS), PATIENCE)
            epoch = describe(broker).group_epoch
            first.kill()
            victim.kill()
            victim.start()
            assert describe(broker).group_epoch >= epoch
            produce(broker.bootstrap, "lines", [WORDS] * 30)
            until(lambda: counts(broker) == expected(30 * KILLS + 30), PATIENCE)
            until(lambda: active_tasks(broker) == [6], PATIENCE)
        assert_each_count_once(broker, 30 * KILLS + 30)
        assert victim.faults == []


def check_tool(kafka: ApacheKafka, broker: OurBroker) -> None:
    """The console tool for streams groups lists and describes the group."""

    def run(*options: str) -> str:
        main = "org.apache.kafka.tools.streams.StreamsGroupCommand"
        return kafka.run(main, "--bootstrap-server", broker.bootstrap, *options)

    assert GROUP in run("--list").split()
    assert "Stable" in run("--describe", "--group", GROUP, "--state")
    assert "lines" in run("--describe", "--group", GROUP)
    members = run("--describe", "--group", GROUP, "--members")
    assert members.count("ACTIVE") >= 1, members
