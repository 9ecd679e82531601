"""The compiled engine reads no byte beyond its buffer, on any cut or corruption of any message."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("kafkawire._codec._engine", reason="the compiled engine was not built")

CHILD = """
import sys
from random import Random
from tests.hostile.guarded_memory import GuardedMemory
from tests.messages.samples import random_message
from kafkawire.messages import DecodeError, message_class, message_names

memory = GuardedMemory(64 * 1024)
dice = Random(1)
count = 0
for name in message_names()[int(sys.argv[1])::2]:
    cls = message_class(name)
    for version in cls.__schema__.versions:
        data = random_message(cls, version, dice).encode(version)[:3000]
        ends = range(len(data)) if len(data) < 60 else sorted(dice.sample(range(len(data)), 60))
        for end in (*ends, len(data)):
            broken = bytearray(data[:end])
            if broken and dice.random() < 0.7:
                broken[dice.randrange(len(broken))] = dice.choice((0xFF, 0x7F, 0x80, 0x00, dice.randrange(256)))
            with memory.ending_with(broken) as view:
                try:
                    cls.decode(bytes(view) if not view else view, version)
                except DecodeError:
                    pass
                count += 1
print(count)
"""


@pytest.mark.parametrize("half", [0, 1])
def test_no_byte_beyond_the_buffer_is_read(half: int) -> None:
    root = str(Path(__file__).parents[2])
    code = f"import sys; sys.path.insert(0, {root!r})\n{CHILD}"
    environment = {"KAFKAWIRE_IMPL": "compiled", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(half)], check=False, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:] or f"killed by signal {-done.returncode}"
    assert int(done.stdout) > 10_000


BEYOND = """
import ctypes
from tests.hostile.guarded_memory import GuardedMemory

memory = GuardedMemory(10)
ctypes.string_at(memory._address + memory.size - 1, 1)
print("inside", flush=True)
ctypes.string_at(memory._address + memory.size, 1)
"""


def test_the_guard_kills_a_process_that_reads_beyond() -> None:
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n{BEYOND}"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stdout == "inside\n"
    assert done.returncode < 0
