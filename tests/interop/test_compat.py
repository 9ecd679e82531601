"""Brokers of Apache Kafka resemble their own release, and lack nothing of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kafkawire.cli.main import main
from kafkawire.messages.releases import find_release

if TYPE_CHECKING:
    from tests.interop.apache_kafka import ApacheBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

_OPTIONAL = {"GetTelemetrySubscriptions", "PushTelemetry"}
"""Kafka lists them only if a plugin receives the metrics of clients."""


def test_a_broker_is_recognised_by_its_versions(each_kafka: ApacheBroker, capsys: pytest.CaptureFixture[str]) -> None:
    release = find_release(each_kafka.release.version)
    assert main(["compat", each_kafka.bootstrap, "--against", release, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["resembles"] == [release]
    assert {each["api"] for each in found["lacks"]} <= _OPTIONAL
