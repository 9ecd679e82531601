"""The clients' errors travel between processes, and their names are all there."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

import kafkawire.client
from kafkawire.client import (
    AdminErrors,
    ConnectionLostError,
    CorruptFetchError,
    LogTruncatedError,
    RequestTimeoutError,
    TopicPartition,
)
from kafkawire.client.errors import is_retriable
from kafkawire.messages.errors import error_for

if TYPE_CHECKING:
    from kafkawire.exceptions import KafkaWireError


@pytest.mark.parametrize("name", kafkawire.client.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(kafkawire.client, name) is not None


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Broker'"):
        getattr(kafkawire.client, "Broker")  # noqa: B009 - a checker knows that it is not there


@pytest.mark.parametrize(
    "error",
    [
        ConnectionLostError("gone"),
        RequestTimeoutError("late"),
        AdminErrors({"a": error_for(3), "b": error_for(36)}),
        CorruptFetchError("t-0 at offset 5: bad", TopicPartition("t", 0), 5),
        LogTruncatedError("t-0: cut off at offset 5", TopicPartition("t", 0), 5),
    ],
)
def test_errors_survive_pickling(error: KafkaWireError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)


def test_retriable_errors_are_marked() -> None:
    assert is_retriable(ConnectionLostError("gone"))
    assert is_retriable(error_for(3))
    assert not is_retriable(error_for(29))
    assert not is_retriable(ValueError())
    assert isinstance(ConnectionLostError("gone"), ConnectionError)
    assert isinstance(RequestTimeoutError("late"), TimeoutError)
