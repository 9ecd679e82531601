"""`kafkawire errors`: one error in full, a table, or a search."""

import json

import pytest

from kafkawire.cli.main import main


@pytest.mark.parametrize("wanted", ["3", "UNKNOWN_TOPIC_OR_PARTITION", "unknowntopicorpartitionexception"])
def test_one_error_is_printed_in_full(wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", wanted]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("UNKNOWN_TOPIC_OR_PARTITION (3)\n")
    assert "yes, after a refresh of the metadata" in printed
    assert "UnknownTopicOrPartitionError < InvalidMetadataError < RetriableError" in printed
    assert "UnknownTopicOrPartitionException" in printed


@pytest.mark.parametrize(
    ("wanted", "advice"),
    [("0", "not needed"), ("-1", "no, the same request will fail again"), ("16", "yes, the same request may")],
)
def test_advice_on_trying_again(wanted: str, advice: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", wanted]) == 0
    assert advice in capsys.readouterr().out


def test_an_unknown_number_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", "31999"]) == 0
    assert capsys.readouterr().out.startswith("UNKNOWN_SERVER_ERROR (31999)\n")


def test_without_arguments_every_code_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == ["code", "name", "retry", "meaning"]
    assert [int(line.split()[0]) for line in lines] == list(range(-1, 137))


def test_words_filter_by_name_exception_and_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", "session", "epoch"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == ["71", "122", "123"]


def test_words_that_find_one_error_print_it_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", "scram", "iterations"]) == 0
    assert capsys.readouterr().out.startswith("UNACCEPTABLE_CREDENTIAL (93)\n")


def test_json_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 138
    assert main(["errors", "35", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == rows[36]
    assert rows[36] == {
        "code": 35,
        "name": "UNSUPPORTED_VERSION",
        "retriable": False,
        "refresh_metadata": False,
        "exception": "UnsupportedVersionException",
        "meaning": "The broker does not serve this version of this API; ApiVersions lists the versions that it serves.",
    }


def test_a_name_that_nothing_has_is_a_usage_error_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", "UNKNOWN_TOPIK"]) == 2
    assert "did you mean UNKNOWN_TOPIC" in capsys.readouterr().err


def test_several_codes_and_names_are_printed_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", "74", "UNKNOWN_LEADER_EPOCH"]) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert first.startswith("FENCED_LEADER_EPOCH (74)\n")
    assert second.startswith("UNKNOWN_LEADER_EPOCH (75)\n")
    assert main(["errors", "74", "75", "--json"]) == 0
    assert [json.loads(line)["code"] for line in capsys.readouterr().out.splitlines()] == [74, 75]
