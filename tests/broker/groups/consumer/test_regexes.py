"""Subscriptions by regular expression: resolved by the broker, in the background."""

from __future__ import annotations

from tests.broker.groups.consumer.consumer_stage import PAUSE, Stage, settle

from kafkawire.broker.groups.consumer.settings import REGEX_PAUSE_MS


def test_first_answer_has_no_topics_and_the_next_ones_have(stage: Stage) -> None:
    stage.create("orders-1", 1)
    stage.create("orders-2", 1)
    stage.create("my-orders-1", 1)
    client = stage.client("a", regex="orders-.*")
    assert client.partitions == set()
    settle(stage, client, rounds=2)
    assert client.partitions == {("orders-1", 0), ("orders-2", 0)}


def test_new_topics_are_found_not_more_often_than_every_ten_seconds(stage: Stage) -> None:
    stage.create("orders-1", 1)
    client = stage.client("a", regex="orders-.*")
    settle(stage, client, rounds=1)
    stage.create("orders-2", 1)
    client.poll()
    client.poll()
    assert client.partitions == {("orders-1", 0)}
    stage.pass_time(REGEX_PAUSE_MS)
    settle(stage, client, rounds=2)
    assert client.partitions == {("orders-1", 0), ("orders-2", 0)}


def test_deleted_topic_goes_at_once_and_its_name_with_the_next_refresh(stage: Stage) -> None:
    topic = stage.create("orders-1", 1)
    client = stage.client("a", regex="orders-.*")
    settle(stage, client, rounds=2)
    stage.topics.remove(topic)
    settle(stage, client, rounds=2)
    assert client.partitions == set()


def test_names_and_expression_are_united(stage: Stage) -> None:
    stage.create("orders-1", 1)
    stage.create("other", 1)
    client = stage.client("a", "other", regex="orders-.*")
    settle(stage, client, rounds=2)
    assert client.partitions == {("orders-1", 0), ("other", 0)}


def test_second_subscriber_of_an_expression_gets_topics_at_once(stage: Stage) -> None:
    stage.create("orders-1", 2)
    first = stage.client("a", regex="orders-.*")
    settle(stage, first, rounds=2)
    epoch = stage.consumers.epoch
    second = stage.client("b", regex="orders-.*")
    assert stage.consumers.epoch == epoch + 1
    settle(stage, first, second, rounds=4)
    assert len(first.partitions) == len(second.partitions) == 1


def test_expression_of_the_last_subscriber_is_forgotten(stage: Stage) -> None:
    stage.create("orders-1", 1)
    client = stage.client("a", regex="orders-.*")
    stage.client("b", "orders-1")
    settle(stage, client, rounds=2)
    assert set(stage.consumers.resolved) == {"orders-.*"}
    client.said["regex"] = ""
    client.poll()
    assert not stage.consumers.resolved
    stage.pass_time(PAUSE)
    client.poll()
    assert client.partitions == set()


def test_restart_resolves_again_when_topics_came_meanwhile(stage: Stage) -> None:
    stage.create("orders-1", 1)
    client = stage.client("a", regex="orders-.*")
    settle(stage, client, rounds=2)
    stage.create("orders-2", 1)
    later = stage.restarted()
    later.pass_time(REGEX_PAUSE_MS + 1)
    settle(later, client, rounds=3)
    assert client.partitions == {("orders-1", 0), ("orders-2", 0)}
