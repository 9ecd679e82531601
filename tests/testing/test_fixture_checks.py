"""The checks of faults at the end of a test, in projects of users that pytest runs."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def run(directory: Path, project: str) -> str:
    """Run pytest over a file of tests; what it prints."""
    (directory / "test_project.py").write_text(dedent(project))
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-W", "ignore"]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=300).stdout


def test_an_unused_fault_is_one_line_and_not_a_traceback(tmp_path: Path) -> None:
    printed = run(
        tmp_path,
        """
        def test_it(kafka_broker):
            kafka_broker.fail_next("Produce", "MESSAGE_TOO_LARGE")
        """,
    )
    assert "no request met fail_next MESSAGE_TOO_LARGE (Produce); expected one" in printed
    assert "ExitStack" not in printed
    assert "1 passed, 1 error" in printed


def test_a_test_that_failed_is_not_blamed_for_its_fault_too(tmp_path: Path) -> None:
    printed = run(
        tmp_path,
        """
        def test_it(kafka_broker):
            kafka_broker.fail_next("Produce", "MESSAGE_TOO_LARGE")
            assert 1 == 2
        """,
    )
    assert "assert 1 == 2" in printed
    assert "1 failed in" in printed


def test_a_fault_of_one_test_is_not_met_by_the_next_on_the_same_broker(tmp_path: Path) -> None:
    printed = run(
        tmp_path,
        """
        import pytest

        def test_first(kafka_broker_session):
            kafka_broker_session.fail_next("Produce", "MESSAGE_TOO_LARGE")

        def test_second(kafka_broker_session):
            assert kafka_broker_session.unused_faults == []

        def test_third(kafka_broker_session):
            kafka_broker_session.fail_next("Produce", "MESSAGE_TOO_LARGE")
            assert 1 == 2

        def test_last(kafka_broker_session):
            assert kafka_broker_session.unused_faults == []
        """,
    )
    assert "ERROR test_project.py::test_first" in printed
    assert "1 failed, 3 passed, 1 error" in printed


def test_an_assertion_about_a_request_fails_the_test(tmp_path: Path) -> None:
    printed = run(
        tmp_path,
        """
        import kafkawire.client.blocking as client

        def test_it(kafka_broker, kafka_topic):
            def check(request):
                assert request.acks == 1, "every replica was asked for"

            kafka_broker.reply_next("Produce", check)
            options = {"delivery_timeout_ms": 2000, "request_timeout_ms": 1000}
            with client.Producer(bootstrap_servers=kafka_broker.bootstrap_servers, **options) as producer:
                try:
                    producer.send(kafka_topic, b"x").result(20)
                except Exception:
                    pass
        """,
    )
    assert "every replica was asked for" in printed
    assert "while reply_next answered Produce" in printed
    assert "1 error" in printed


def test_faults_are_ordered_on_the_asynchronous_broker_itself(tmp_path: Path) -> None:
    printed = run(
        tmp_path,
        """
        import asyncio

        def test_used(async_kafka_broker):
            async def main():
                await async_kafka_broker.create_topic("t")
                async_kafka_broker.fail_next("Produce", "MESSAGE_TOO_LARGE")
                assert async_kafka_broker.requests == []
                async_kafka_broker.clear_faults()

            asyncio.run(main())

        def test_unused(async_kafka_broker):
            async_kafka_broker.close_next("Produce")
        """,
    )
    assert "no request met close_next (Produce)" in printed
    assert "2 passed, 1 error" in printed
