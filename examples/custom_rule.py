"""Diagnose a capture with a rule of your own, beside those of kafkawire: `python examples/custom_rule.py`.

A rule is a function of the evidence in a capture and of thresholds. It yields findings that name the exchanges which
prove them. This one reports clients without a client id, because their requests cannot be attributed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from kafkawire.client.blocking import Admin
from kafkawire.inspect import Evidence, Finding, Thresholds, about, find_incidents, grouped, read_captures, rule
from kafkawire.testing import RunningBroker


@rule("anonymous-client", "warning", "a client sends requests without a client id")
def anonymous_clients(evidence: Evidence, thresholds: Thresholds) -> list[Finding]:
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
    for finding in find_incidents(read_captures([capture]).tables, rules=[anonymous_clients]):
        print(finding.level, finding.rule, finding.connection, finding.text, f"({finding.count} exchanges)")
