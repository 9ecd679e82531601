"""Diagnose a capture by a rule of your own, next to those of kafkawire: `python examples/custom_rule.py`.

A rule is a function of the evidence in a capture. It yields findings that name the exchanges which prove them. This one
reports clients that set no client id, because their requests cannot be attributed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from kafkawire.client.blocking import Admin
from kafkawire.inspect import Finding, find_incidents, read_captures
from kafkawire.inspect.diagnose.evidence import Evidence, grouped
from kafkawire.inspect.diagnose.findings import about
from kafkawire.testing import RunningBroker


def anonymous_clients(evidence: Evidence) -> list[Finding]:
    rows = [row for row in evidence.exchanges if not row["client_id"]]
    text, advice = "sends requests without a client id", "Set client.id in the client's configuration."
    by_connection = grouped(rows, lambda row: row["conn_id"])
    return [about("anonymous-client", "warning", each, text, advice) for each in by_connection.values()]


with tempfile.TemporaryDirectory() as directory, RunningBroker() as broker:
    capture = Path(directory, "traffic.pcapng")
    proxy = [sys.executable, "-m", "kafkawire", "proxy", "--quiet", "--listen", "0", "--record", str(capture)]
    proxy += ["--upstream", broker.bootstrap_servers]
    with subprocess.Popen(proxy, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        port = running.stderr.readline().split("port ")[1].split(";")[0]
        with Admin(bootstrap_servers=f"localhost:{port}", client_id="") as admin:
            admin.list_topics()
        running.terminate()
    tables = read_captures([capture]).tables
    for finding in [*find_incidents(tables), *anonymous_clients(Evidence(tables))]:
        print(finding.level, finding.rule, finding.connection, finding.text, f"({finding.count} exchanges)")
