"""The broker that other tests compare with keeps its address and its data through a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkawire.client.blocking import Admin, Consumer, Producer

if TYPE_CHECKING:
    from tests.interop.apache_kafka import ApacheBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


def test_data_survives_a_restart(apache_kafka: ApacheBroker) -> None:
    with Producer(bootstrap_servers=apache_kafka.bootstrap) as producer:
        producer.send("restarted", b"v").result(30)
    apache_kafka.restart()
    with Consumer("restarted", bootstrap_servers=apache_kafka.bootstrap, auto_offset_reset="earliest") as consumer:
        assert next(iter(consumer)).value == b"v"
    with Admin(bootstrap_servers=apache_kafka.bootstrap) as admin:
        assert "restarted" in admin.list_topics()
    assert (apache_kafka.data_dir / "restarted-0").is_dir()
