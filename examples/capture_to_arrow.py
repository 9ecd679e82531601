"""Record what a client and a broker say, and read the capture as Arrow tables: `python examples/capture_to_arrow.py`.

The proxy needs no root. A capture of tcpdump or Wireshark is read the same way.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from kafkawire.client.blocking import Producer
from kafkawire.inspect import read_captures
from kafkawire.testing import RunningBroker

with tempfile.TemporaryDirectory() as directory, RunningBroker() as broker:
    broker.create_topic("orders")
    capture = Path(directory, "traffic.pcapng")
    proxy = [sys.executable, "-m", "kafkawire", "proxy", "--quiet", "--listen", "0", "--record", str(capture)]
    proxy += ["--upstream", broker.bootstrap_servers]
    with subprocess.Popen(proxy, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        port = running.stderr.readline().split("port ")[1].split(";")[0]  # "listening on port N; ..."
        with Producer(bootstrap_servers=f"localhost:{port}", client_id="shop") as producer:
            producer.send_and_wait("orders", b"hello", key=b"k")
        running.terminate()

    tables = read_captures([capture], records=True, values=True).tables
    for row in tables["exchanges"].select(["api", "version", "client_id", "wait_us"]).to_pylist():
        print(row)
    print(tables["records"].select(["topic", "partition", "key", "value"]).to_pylist())
