"""Clients load pyarrow and numpy only for Arrow columns."""

from __future__ import annotations

import subprocess
import sys

import pytest

BUILDING = """
import asyncio
import sys

{statements}

print(*sorted(name for name in ("numpy", "pyarrow") if name in sys.modules))
"""
ASYNCIO = """
from kafkawire.client import Admin, Consumer, Producer

async def build():
    Producer(), Consumer("orders"), Admin()

asyncio.run(build())
"""
ARROW = """
from kafkawire.client import BulkReader
"""


def loaded(statements: str) -> list[str]:
    script = BUILDING.format(statements=statements)
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return found.stdout.split()


@pytest.mark.parametrize("statements", ["import kafkawire.client", "import kafkawire.client.blocking", ASYNCIO])
def test_clients_import_neither_pyarrow_nor_numpy(statements: str) -> None:
    assert loaded(statements) == []


def test_bulk_reading_imports_pyarrow() -> None:
    assert "pyarrow" in loaded(ARROW)
