"""The memory of a JVM by kind, as the JVM itself counts it (`jcmd VM.native_memory`).

The JVM must be started with `-XX:NativeMemoryTracking=summary`. It does not count the
memory that its libraries allocate by themselves, such as codecs.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

from tests.lakes.streams import descendants

TRACKED: Final = "-XX:NativeMemoryTracking=summary"
_KIND: Final = re.compile(r"^-\s+([A-Z][\w ]*?) \(reserved=\d+KB, committed=(\d+)KB\)", re.MULTILINE)
_TOTAL: Final = re.compile(r"^Total: reserved=\d+KB, committed=(\d+)KB", re.MULTILINE)


def by_kind(report: str) -> dict[str, int]:
    """The committed KB of each kind.

    >>> by_kind("Total: reserved=9KB, committed=7KB\\n\\n-   Java Heap (reserved=5KB, committed=4KB)\\n")
    {'Java Heap': 4, 'total': 7}
    """
    total = _TOTAL.search(report)
    return {name: int(size) for name, size in _KIND.findall(report)} | ({"total": int(total[1])} if total else {})


def of_driver(pid: int) -> dict[str, int]:
    """The committed KB of the JVM of a driver, and its resident KB; empty if it has just ended."""
    for each in descendants(pid):
        try:
            status = (Path("/proc") / str(each) / "status").read_text()
        except OSError:
            continue
        if "Name:\tjava" in status:
            command = ["jcmd", str(each), "VM.native_memory", "summary", "scale=KB"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            resident = re.search(r"VmRSS:\s+(\d+)", status)
            return by_kind(done.stdout) | ({"resident": int(resident[1])} if resident else {})
    return {}
