"""For every request and every failure: every version of every API of groups has an answer for it."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.broker.groups.group_requests import talk as talk
from tests.messages.samples import random_message

from kafkawire.broker._dispatch.registry import RequestContext, error_response, served_apis
from kafkawire.messages import api
from kafkawire.messages.errors import ErrorCode, KafkaStorageError

if TYPE_CHECKING:
    from tests.broker.groups.group_requests import Talk

NAMES = [
    *("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "FindCoordinator", "DescribeGroups", "ListGroups"),
    *("DeleteGroups", "OffsetCommit", "OffsetFetch", "OffsetDelete"),
]
VERSIONS = [(name, version) for name in NAMES for version in api(name).versions]
HALF_AN_HOUR = 1_800_000


@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_every_version_can_carry_an_error(name: str, version: int) -> None:
    served, dice = served_apis()[api(name).key], Random(version)
    context = RequestContext(served.api, version, 1, "client")
    told = []
    for _ in range(10):
        request = random_message(served.api.request, version, dice)
        response = error_response(served, request, KafkaStorageError("the disk is gone"), context)
        assert response is not None
        told.append(repr(served.api.response.decode(response.encode(version), version)))
    assert any(f"error_code={ErrorCode.KAFKA_STORAGE_ERROR.value}" in each for each in told)


@pytest.mark.parametrize("name", NAMES)
def test_random_requests_are_answered_and_disturb_nobody(
    talk: Talk, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    joined, dice = talk.member(session_timeout_ms=HALF_AN_HOUR), Random(name)
    for version in api(name).versions:
        for _ in range(8):
            asked = talk.start(random_message(api(name).request, version, dice), version)
            talk.turn(1_000)
            assert asked.is_waiting or asked.answer is not None
    assert talk.heartbeat(joined) == ErrorCode.NONE
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
