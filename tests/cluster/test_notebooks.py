"""Notebooks in a real kernel of Jupyter: the format is found without registration, and cells read topics.

Rules:
- The kernel is a program that Jupyter starts, with its own standard streams and no terminal.
- Jupyter's packages are fetched into a directory of their own, so that they are not part of the environment.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

import pytest
from tests.cluster.processes import environment, run
from tests.cluster.test_standalone import base_python
from tests.lakes.places import BUILD, NotFetchedError, pip_into

if TYPE_CHECKING:
    from pathlib import Path

    from tests.spark.filled_broker import FilledBroker

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]
_JUPYTER: Final = BUILD.parent / "cluster" / "jupyter"
_WANTED: Final = ("ipykernel>=7", "nbclient>=0.10", "nbformat>=5.10")
_PROGRAM: Final = """
import sys

import nbformat
from nbclient import NotebookClient

cells = [nbformat.v4.new_code_cell(source) for source in sys.argv[1].split("# cell\\n")]
notebook = nbformat.v4.new_notebook(cells=cells)
NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
for cell in notebook.cells:
    for output in cell.outputs:
        if output.output_type == "stream":
            print(output.text)
"""
_PLAIN: Final = """from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.driver.memory", "1g").getOrCreate()
"""
_NAMED: Final = "import os, sys\nos.environ['PYSPARK_PYTHON'] = sys.executable\n" + _PLAIN
_OURS: Final = """from kafkawire.spark import build_session
spark = build_session("local[1]", settings={"spark.driver.memory": "1g"})
"""
_READ: Final = """# cell
topic = spark.read.format("kafkawire").option("kafka.bootstrap.servers", {servers!r}).option("subscribe", "t").load()
print("counted", topic.count())
# cell
topic.selectExpr("CAST(value AS STRING)").orderBy("value").limit(2).show()
# cell
stream = spark.readStream.format("kafkawire").option("kafka.bootstrap.servers", {servers!r}).option("subscribe", "t")
query = (
    stream.option("startingOffsets", "earliest").load().writeStream.format("memory").queryName("seen")
    .option("checkpointLocation", {checkpoint!r}).trigger(availableNow=True).start()
)
query.awaitTermination()
print("streamed", spark.table("seen").count())
spark.stop()
"""


@pytest.fixture(scope="module")
def jupyter() -> str:
    """The directory of Jupyter's packages."""
    try:
        if not (_JUPYTER / "fetched").exists():
            pip_into(_JUPYTER, _WANTED, "Jupyter's kernel for Python")
            (_JUPYTER / "fetched").touch()
    except NotFetchedError as error:
        pytest.fail(str(error))
    return os.fspath(_JUPYTER)


# The second and the third have a python3 on the PATH that is not that of the kernel, and has no kafkawire.
@pytest.mark.parametrize(("start", "is_first"), [(_PLAIN, True), (_NAMED, False), (_OURS, False)])
def test_a_notebook_reads_and_streams_a_topic(
    jupyter: str, broker: FilledBroker, tmp_path: Path, start: str, is_first: bool
) -> None:
    (tmp_path / "bin").mkdir()
    program = sys.executable if is_first else base_python()
    wrapper = tmp_path / "bin" / "python3"
    wrapper.write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
    wrapper.chmod(0o755)
    used = environment(PYTHONPATH=jupyter, JUPYTER_CONFIG_DIR=str(tmp_path / "config"), IPYTHONDIR=str(tmp_path))
    del used["PYSPARK_PYTHON"]
    used["PATH"] = f"{tmp_path / 'bin'}:{used['PATH']}"
    cells = start + _READ.format(servers=broker.bootstrap_servers, checkpoint=str(tmp_path / "checkpoint"))
    done = run([sys.executable, "-W", "ignore", "-c", _PROGRAM, cells], used)
    assert done.returncode == 0, done.stderr[-5000:]
    assert "counted 50" in done.stdout
    assert "streamed 50" in done.stdout
    assert "value" in done.stdout, "a table is shown"
