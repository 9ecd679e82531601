"""Logs for tests: in memory, with a clock that stands still."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.log.batches import Clock

from kafkawire.log import LogConfig, MemoryFiles, Partition
from kafkawire.testing.faulty_files import FaultyFiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.log import FileSystem

    OpenLog = Callable[..., Partition]
    OpenOn = Callable[..., Partition]

DIRECTORY = Path("/logs/topic-0")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def files(clock: Clock) -> MemoryFiles:
    files = MemoryFiles(clock)
    files.make_directory(DIRECTORY)
    return files


@pytest.fixture
def open_log(files: MemoryFiles, clock: Clock) -> OpenLog:
    """Open the partition, with settings by field name; `clean` is whether its last stop is to be believed."""

    def open_(
        *,
        clean: bool = True,
        on: FileSystem | None = None,
        recovery_point: int = 0,
        log_start: int = 0,
        **settings: object,
    ) -> Partition:
        config = LogConfig(**{"file_delete_delay_ms": 0, **settings})  # type: ignore[arg-type]  # a field and its value
        return Partition(
            on or files,
            DIRECTORY,
            config,
            clock,
            clean=clean,
            recovery_point=recovery_point,
            log_start_offset=log_start,
        )

    return open_


@pytest.fixture
def disk(clock: Clock) -> FaultyFiles:
    """A disk that fails on demand."""
    disk = FaultyFiles(clock)
    disk.make_directory(DIRECTORY)
    return disk


@pytest.fixture
def open_on(clock: Clock) -> OpenOn:
    """Open the partition on a disk, with settings by field name."""

    def open_(disk: FaultyFiles, **settings: object) -> Partition:
        config = LogConfig(**{"file_delete_delay_ms": 0, **settings})  # type: ignore[arg-type]  # a field and its value
        return Partition(disk, DIRECTORY, config, clock)

    return open_
