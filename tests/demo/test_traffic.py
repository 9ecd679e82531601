"""The shop's traffic over real sockets: every client sends and reads, incidents leave their traces in the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pytest

from kafkawire._demo import clients
from kafkawire._demo.agreement import compare, fetched_records, produced_records, sent_records
from kafkawire._demo.events import CLICKS, TOPICS
from kafkawire._demo.incidents import INCIDENTS
from kafkawire._demo.stage import Stage
from kafkawire._demo.traffic import ROLES, create_topics, run_traffic
from kafkawire.inspect import find_incidents
from kafkawire.inspect._tables.read import read_captures

if TYPE_CHECKING:
    from pathlib import Path

CLOCK = {"timestamp": (CLICKS,)}
# kafka-python reads its schemas by a way that Python has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")


@pytest.mark.parametrize("installed", [True, False], ids=["all clients", "ours only"])
def test_records_of_clients_are_in_the_recording_as_produced_and_as_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    if not installed:
        monkeypatch.setattr(clients, "find_spec", lambda name: None)
    capture = tmp_path / "traffic.pcapng"
    with Stage(tmp_path / "data", capture) as stage:
        create_topics(stage.bootstrap)
        sent = run_traffic(stage.bootstrap, [role._replace(amount=300) for role in ROLES])
    tables = read_captures([capture], values=True).tables
    records = tables["records"].filter(pc.field("topic").isin(list(TOPICS)))
    expected = sent_records(sent)
    assert expected.num_rows == 1200
    produced = produced_records(records, tables["exchange_partitions"])
    assert compare(expected, produced, again=True).difference is None
    assert compare(expected, fetched_records(records), unknown=CLOCK, again=True).difference is None


def test_every_incident_is_found_in_the_recording(tmp_path: Path) -> None:
    capture = tmp_path / "traffic.pcapng"
    with Stage(tmp_path / "data", capture) as stage:
        create_topics(stage.bootstrap)
        run_traffic(stage.bootstrap, [role._replace(amount=1_000) for role in ROLES if role.sender == "bank"])
        for incident in INCIDENTS:
            incident.act(stage)
    found = {finding.rule for finding in find_incidents(read_captures([capture]).tables)}
    assert {incident.rule for incident in INCIDENTS} <= found
