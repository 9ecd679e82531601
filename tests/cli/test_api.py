"""`kafkawire api`: the list, the fields of a version, the difference of two."""

from __future__ import annotations

import json

import pytest

from kafkawire.cli.main import main

Captured = pytest.CaptureFixture[str]


def test_every_api_has_its_line(capsys: Captured) -> None:
    assert main(["api", "list"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split()[:6] == ["key", "name", "versions", "flexible", "deprecated", "unstable"]
    assert header.split()[6:] == ["sent_by", "sent_to", "listeners", "forwarded", "cluster_action"]
    assert [int(line.split()[0]) for line in lines] == list(range(95))
    assert lines[0].split()[:6] == ["0", "Produce", "0-13", "9+", "0-2", "-"]
    assert "producers  " in lines[0]
    assert lines[19].split()[-2:] == ["yes", "no"]


def test_the_list_as_json(capsys: Captured) -> None:
    assert main(["api", "list", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (rows[17]["name"], rows[17]["flexible"]) == ("SaslHandshake", None)


def test_messages_of_no_api_are_listed_apart(capsys: Captured) -> None:
    assert main(["api", "list", "--messages"]) == 0
    printed = capsys.readouterr().out
    assert "ConsumerProtocolSubscription" in printed
    assert "ProduceRequest" not in printed


@pytest.mark.parametrize("name", ["Produce", "produce", "0"])
def test_an_api_shows_both_its_messages_in_the_latest_version(name: str, capsys: Captured) -> None:
    assert main(["api", "show", name]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("ProduceRequest v13  key 0, versions 0-13, header v2, flexible")
    assert "\nProduceResponse v13" in printed


def test_fields_show_the_form_on_the_wire_in_that_version(capsys: Captured) -> None:
    assert main(["api", "show", "Produce", "--version", "8", "--request"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "ProduceRequest v8  key 0, versions 0-13, header v1, not flexible",
        "  sent by producers to leader of the partitions; listeners zkBroker, broker",
        "field             type                    default  more                   description",
    ]
    described = lines[2].index("description")
    assert [line[:described].rstrip() for line in lines[3:]] == [
        "transactional_id  string?                 null     v3+",
        "acks              int16",
        "timeout_ms        int32",
        "topic_data        []TopicProduceData",
        "  name            string                           v0-12, key, ignorable",
        "  partition_data  []PartitionProduceData",
        "    index         int32",
        "    records       records?                null",
    ]
    assert lines[-1][described:] == "Record batches to append"


def test_tags_are_shown(capsys: Captured) -> None:
    assert main(["api", "show", "Fetch", "--request", "--version", "12"]) == 0
    assert "tag 0, v12+" in capsys.readouterr().out


def test_a_data_message_by_its_name(capsys: Captured) -> None:
    assert main(["api", "show", "topicrecord"]) == 0
    assert capsys.readouterr().out.startswith("TopicRecord v0  versions 0, record type 2, flexible")


def test_fields_as_json(capsys: Captured) -> None:
    assert main(["api", "show", "Heartbeat", "--response", "--version", "1", "--json"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["path"], first["type"], first["versions"]) == ("throttle_time_ms", "int32", "1-4")
    assert (second["message"], second["version"]) == ("HeartbeatResponse", 1)


def test_changes_between_two_versions_are_listed(capsys: Captured) -> None:
    assert main(["api", "show", "Produce", "--request", "--diff", "8", "13"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ProduceRequest v8 to v13",
        "  ~ header v1 -> v2",
        "  ~ now flexible: lengths and counts are varints, every struct ends with tags",
        "  - topic_data.name      string",
        "  + topic_data.topic_id  uuid",
    ]


def test_versions_that_are_the_same_say_so(capsys: Captured) -> None:
    assert main(["api", "show", "Produce", "--request", "--diff", "5", "6"]) == 0
    assert "no changes" in capsys.readouterr().out


def test_changes_as_json(capsys: Captured) -> None:
    assert main(["api", "show", "Produce", "--request", "--diff", "12", "13", "--json"]) == 0
    kinds = [json.loads(line)["kind"] for line in capsys.readouterr().out.splitlines()]
    assert kinds == ["removed", "added"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["Producer"], "unknown API or message 'Producer'; did you mean Produce?"),
        (["ConsumerProtocolSubscripton"], "did you mean ConsumerProtocolSubscription?"),
        (["join", "--request"], "did you mean JoinGroup?"),
        (["999"], "no API 999"),
        (["Produce", "--version", "77"], "ProduceRequest: expected a version of 0-13, found 77"),
        (["Produce", "--diff", "1", "77"], "found 77"),
        (["TopicRecord", "--request"], "need the name of an API"),
    ],
)
def test_a_wrong_call_says_what_to_do(words: list[str], complaint: str, capsys: Captured) -> None:
    assert main(["api", "show", *words]) == 2
    assert complaint in capsys.readouterr().err
