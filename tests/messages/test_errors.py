"""Kafka's error codes: the table, the names, and the two ways between codes and exceptions."""

import pickle
import subprocess
import sys

import pytest

from kafkawire import KafkaWireError
from kafkawire.messages import _error_names as error_names
from kafkawire.messages._error_table import Facts, table
from kafkawire.messages.errors import (
    ApiError,
    AuthorizationError,
    ErrorCode,
    ErrorLookupError,
    InvalidMetadataError,
    InvalidTopicError,
    KafkaError,
    NetworkError,
    NotLeaderForPartitionError,
    NotLeaderOrFollowerError,
    OutOfOrderSequenceError,
    RequestTimedOutError,
    RetriableError,
    TopicAlreadyExistsError,
    TopicAuthorizationError,
    TopicExistsError,
    UnknownProducerIdError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
    code_for,
    error,
    error_for,
)

ROWS = list(table().values())
FAILURES = [row for row in ROWS if row.code != 0]


def named(row: Facts) -> str:
    return row.name


class TestTable:
    def test_codes_run_without_a_gap_and_names_are_unique(self) -> None:
        assert [row.code for row in ROWS] == list(range(-1, 137))
        assert len({row.name for row in ROWS}) == len(ROWS)

    @pytest.mark.parametrize("row", ROWS, ids=named)
    def test_a_meaning_is_one_plain_sentence_line(self, row: Facts) -> None:
        assert 20 < len(row.meaning) < 180
        assert row.meaning[-1] == "."
        assert row.meaning == row.meaning.strip()

    @pytest.mark.parametrize("row", FAILURES, ids=named)
    def test_flags_agree_with_the_ancestors(self, row: Facts) -> None:
        assert row.retriable == ("RetriableException" in row.ancestors)
        assert row.refresh_metadata == ("InvalidMetadataException" in row.ancestors)

    @pytest.mark.parametrize(
        ("code", "name", "retriable", "refresh"),
        [
            (-1, "UNKNOWN_SERVER_ERROR", False, False),
            (0, "NONE", False, False),
            (3, "UNKNOWN_TOPIC_OR_PARTITION", True, True),
            (7, "REQUEST_TIMED_OUT", True, False),
            (35, "UNSUPPORTED_VERSION", False, False),
            (133, "SHARE_SESSION_LIMIT_REACHED", True, False),
        ],
    )
    def test_known_facts(self, code: int, name: str, retriable: bool, refresh: bool) -> None:
        found = ErrorCode(code)
        assert (found.name, found.retriable, found.refresh_metadata) == (name, retriable, refresh)


class TestLookup:
    @pytest.mark.parametrize(
        "wanted",
        [
            35,
            "35",
            "UNSUPPORTED_VERSION",
            "unsupported_version",
            "Unsupported-Version",
            "UnsupportedVersionException",
            "UnsupportedVersionError",
        ],
    )
    def test_by_number_or_any_spelling_of_the_name(self, wanted: int | str) -> None:
        assert error(wanted) is ErrorCode.UNSUPPORTED_VERSION

    @pytest.mark.parametrize("number", [137, 31999, -2, -32768])
    def test_an_unknown_number_is_unknown_server_error_and_keeps_its_number(self, number: int) -> None:
        found = error(number)
        assert (found.name, found.code, found) == ("UNKNOWN_SERVER_ERROR", number, number)
        assert not found.retriable
        assert str(number) in found.meaning

    def test_an_unknown_number_is_not_the_code_minus_one(self) -> None:
        assert error(31999) != ErrorCode.UNKNOWN_SERVER_ERROR

    @pytest.mark.parametrize(
        ("wanted", "nearest"),
        [("UNKNOWN_TOPIC_OR_PARTITON", "UNKNOWN_TOPIC_OR_PARTITION"), ("notleader", "NOT_LEADER_OR_FOLLOWER")],
    )
    def test_an_unknown_name_is_refused_with_the_nearest(self, wanted: str, nearest: str) -> None:
        with pytest.raises(ErrorLookupError, match=f"did you mean {nearest}"):
            error(wanted)

    @pytest.mark.parametrize("wanted", ["", "-", "qqqqqqq"])
    def test_a_name_near_to_nothing_is_refused_without_a_suggestion(self, wanted: str) -> None:
        with pytest.raises(ErrorLookupError, match="no error code is named") as caught:
            error(wanted)
        assert "did you mean" not in str(caught.value)

    def test_a_code_is_an_integer_for_a_message_field(self) -> None:
        field: int = ErrorCode.NOT_COORDINATOR
        assert field == 16
        assert field.to_bytes(2, "big") == b"\x00\x10"


class TestExceptions:
    @pytest.mark.parametrize("row", FAILURES, ids=named)
    def test_every_code_has_its_class_and_comes_back_from_it(self, row: Facts) -> None:
        raised = error_for(row.code)
        assert type(raised) not in (KafkaError, ApiError)
        assert (raised.code, raised.name, raised.retriable) == (row.code, row.name, row.retriable)
        assert raised.refresh_metadata == row.refresh_metadata
        assert code_for(raised) == row.code
        assert isinstance(raised, KafkaWireError)

    @pytest.mark.parametrize("row", FAILURES, ids=named)
    def test_kinds_stand_between_as_in_java(self, row: Facts) -> None:
        above = [cls.__name__ for cls in type(error_for(row.code)).__mro__]
        expected = [name.replace("Exception", "Error") for name in row.ancestors]
        assert above[1 : len(expected) + 1] == expected

    @pytest.mark.parametrize(
        ("cls", "parent"),
        [
            (UnknownTopicOrPartitionError, InvalidMetadataError),
            (InvalidMetadataError, RetriableError),
            (NotLeaderOrFollowerError, NotLeaderForPartitionError),
            (UnknownProducerIdError, OutOfOrderSequenceError),
            (TopicAuthorizationError, AuthorizationError),
            (RequestTimedOutError, RetriableError),
            (KafkaError, KafkaWireError),
        ],
    )
    def test_chain(self, cls: type[KafkaError], parent: type[Exception]) -> None:
        assert issubclass(cls, parent)

    def test_the_name_of_the_code_is_an_alias(self) -> None:
        assert TopicAlreadyExistsError is TopicExistsError

    def test_names_ending_in_exception_do_not_double_it(self) -> None:
        assert (NetworkError.CODE, InvalidTopicError.CODE) == (13, 17)

    def test_text_is_the_message_or_else_the_meaning(self) -> None:
        assert str(error_for(36, "topic 'a'")) == "TOPIC_ALREADY_EXISTS (36): topic 'a'"
        assert str(error_for(36)) == f"TOPIC_ALREADY_EXISTS (36): {ErrorCode.TOPIC_ALREADY_EXISTS.meaning}"

    def test_an_unknown_code_is_raised_as_unknown_server_error_with_its_number(self) -> None:
        raised = error_for(31999, "from the future")
        assert isinstance(raised, UnknownServerError)
        assert (raised.code, code_for(raised)) == (31999, 31999)
        assert str(raised) == "UNKNOWN_SERVER_ERROR (31999): from the future: error code 31999 is not known"

    def test_an_unknown_code_is_logged_once(self, caplog: pytest.LogCaptureFixture) -> None:
        for _ in range(3):
            error_for(31777)
        (record,) = [each for each in caplog.records if "31777" in each.getMessage()]
        assert record.levelname == "WARNING"

    def test_success_has_no_exception(self) -> None:
        with pytest.raises(ErrorLookupError, match="success"):
            error_for(0)

    @pytest.mark.parametrize(
        "raised",
        [error_for(3), error_for(3, "orders-0"), error_for(31999, "x"), KafkaError(5), KafkaError(5, message="x")],
        ids=repr,
    )
    def test_survives_pickling(self, raised: KafkaError) -> None:
        copy = pickle.loads(pickle.dumps(raised))
        assert (type(copy), copy.code, copy.message) == (type(raised), raised.code, raised.message)

    @pytest.mark.parametrize("code", [ErrorCode.NOT_COORDINATOR, ErrorCode(31999)], ids=int)
    def test_codes_survive_pickling(self, code: ErrorCode) -> None:
        copy = pickle.loads(pickle.dumps(code))
        assert (type(copy), int(copy), copy.name) == (ErrorCode, int(code), code.name)


class TestCodeFor:
    def test_a_subclass_takes_the_code_of_its_nearest_ancestor(self) -> None:
        class HomeMadeError(UnknownTopicOrPartitionError):
            pass

        assert code_for(HomeMadeError()) == 3

    def test_any_class_takes_part_by_declaring_a_code(self) -> None:
        class CorruptError(KafkaWireError):
            CODE = 2

        class WorseError(CorruptError):
            pass

        assert code_for(WorseError()) == 2

    @pytest.mark.parametrize(
        ("exception", "code"),
        [
            (TimeoutError(), 7),
            (ConnectionResetError(), 13),
            (BrokenPipeError(), 13),
            (KafkaError(41), 41),
            (RetriableError(), -1),
            (ValueError("x"), -1),
            (KeyboardInterrupt(), -1),
        ],
        ids=repr,
    )
    def test_code(self, exception: BaseException, code: int) -> None:
        assert code_for(exception) == code


def test_generated_names_hide_no_name_of_python() -> None:
    assert "TimeoutError" not in error_names.__all__


def test_importing_reads_no_table() -> None:
    code = "import kafkawire.messages.errors as e; raise SystemExit(e.table.cache_info().currsize)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
