"""Schemas that came in an archive, as `spark-submit --py-files` brings them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from kafkawire.messages._schema_files import find_schemas

SOURCES = Path(__file__).parents[2] / "src"
SCRIPT = """
import kafkawire
from kafkawire.cli.registry import load
from kafkawire.messages import MetadataRequest
from kafkawire.messages.errors import error

assert "archive.zip" in kafkawire.__file__
print(len(MetadataRequest().encode(version=12)), error(3).name, bool(load("decode").HELP))
"""


def test_beside_the_modules_they_are_used_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "kafkawire" / "schemas").mkdir(parents=True)
    assert find_schemas(tmp_path / "kafkawire") == tmp_path / "kafkawire" / "schemas"


def test_messages_errors_and_commands_work_out_of_an_archive(tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "archive"), "zip", SOURCES, "kafkawire")
    environment = {**os.environ, "PYTHONPATH": archive, "TMPDIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["4", "UNKNOWN_TOPIC_OR_PARTITION", "True"]
    assert [path.name for path in tmp_path.iterdir()] == ["archive.zip"]
