"""The package's own names: all there, typed, and loaded only when they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kafkawire.inspect as door


def test_every_public_name_is_there_with_a_docstring() -> None:
    assert set(door.__all__) <= set(dir(door))
    for name in door.__all__:
        assert getattr(door, name).__doc__


def test_an_unknown_name_is_reported() -> None:
    name = "explain_all"
    with pytest.raises(AttributeError, match=r"'kafkawire\.inspect' has no attribute 'explain_all'"):
        getattr(door, name)


def test_explaining_a_frame_loads_neither_arrow_nor_numpy() -> None:
    code = """
import sys
from kafkawire.inspect import explain_request, parse_hex
assert explain_request(parse_hex("00120000 00000007 ffff")).title == "ApiVersionsRequest v0"
assert not {"pyarrow", "numpy"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
