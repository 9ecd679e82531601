"""A broker of a test that cannot stop cleanly says so."""

from __future__ import annotations

import pytest

from kafkawire.messages.errors import KafkaStorageError
from kafkawire.testing import Fault, FaultyFiles, RunningBroker


def test_an_error_of_the_stop_is_raised_once() -> None:
    files = FaultyFiles()
    broker = RunningBroker("/data", files=files)
    broker.start()
    broker.create_topic("orders")
    broker.produce("orders", b"one")
    files.arm(Fault("sync", sticky=True))
    with pytest.raises(KafkaStorageError, match="/data"):
        broker.stop()
    files.faults.clear()
    broker.start()
    assert [record.value for record in broker.records("orders")] == [b"one"]
    broker.stop()
