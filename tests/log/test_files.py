"""The disk behind its protocol, and the disk that is played."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from kafkawire.log import DiskFiles, FileSystem, MemoryFiles
from kafkawire.log.storage.files import GATHER, map_file, read_file, replace_file
from kafkawire.testing.faulty_files import Fault, FaultyFiles


@pytest.fixture(params=["disk", "memory", "faulty"])
def files(request: pytest.FixtureRequest) -> FileSystem:
    kinds: dict[str, type[DiskFiles | MemoryFiles]] = {"disk": DiskFiles, "memory": MemoryFiles, "faulty": FaultyFiles}
    return kinds[request.param]()


@pytest.fixture
def root(files: FileSystem, tmp_path: Path) -> Path:
    files.make_directory(tmp_path)
    return tmp_path


def test_written_bytes_are_read_back(files: FileSystem, root: Path) -> None:
    file = files.open(root / "a", create=True)
    file.write(0, [b"hello ", memoryview(b"world")])
    file.write(6, [b"there"])
    assert (file.size(), file.read(0, 100), file.read(6, 3)) == (11, b"hello there", b"the")
    file.truncate(5)
    assert read_file(files, root / "a") == b"hello"


def test_more_parts_than_one_call_takes(files: FileSystem, root: Path) -> None:
    parts = [bytes([number % 256]) * (number % 5) for number in range(3 * GATHER)]
    file = files.open(root / "a", create=True)
    file.write(0, parts)
    assert file.read(0, file.size()) == b"".join(parts)


def test_a_file_in_hand_outlives_its_name(files: FileSystem, root: Path) -> None:
    file = files.open(root / "a", create=True)
    file.write(0, [b"kept"])
    files.rename(root / "a", root / "b")
    files.remove(root / "b")
    assert not files.exists(root / "b")
    assert file.read(0, 4) == b"kept"


def test_names_come_and_go(files: FileSystem, root: Path) -> None:
    files.make_directory(root / "x")
    replace_file(files, root / "x" / "f", b"1")
    replace_file(files, root / "x" / "f", b"22")
    assert [(entry.name, entry.size, entry.is_directory) for entry in files.list(root / "x")] == [("f", 2, False)]
    files.rename(root / "x", root / "y")
    assert read_file(files, root / "y" / "f") == b"22"
    with pytest.raises(OSError, match=r"."):
        files.remove_directory(root / "y")
    files.remove(root / "y" / "f")
    files.remove(root / "y" / "f")
    files.remove_directory(root / "y")
    assert files.list(root) == []


def test_a_missing_file_cannot_be_opened(files: FileSystem, root: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.open(root / "nothing")


def test_descriptors_are_bounded_and_reopened(tmp_path: Path) -> None:
    files = DiskFiles(limit=3)
    for number in range(20):
        files.open(tmp_path / str(number), create=True).write(0, [str(number).encode()])
    assert files.open_count == 3
    assert [read_file(files, tmp_path / str(number)) for number in range(20)] == [b"%d" % n for n in range(20)]
    assert files.open_count == 3


def test_an_evicted_descriptor_closes_when_nobody_holds_it(tmp_path: Path) -> None:
    files = DiskFiles(limit=1)
    held = files.open(tmp_path / "a", create=True)
    held.write(0, [b"x"])
    files.open(tmp_path / "b", create=True)
    descriptor = held.fileno()
    assert held.read(0, 1) == b"x"
    del held
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_entries_that_vanish_while_they_are_listed_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept").touch()
    (tmp_path / "gone.tmp").symlink_to(tmp_path / "nowhere")  # its stat fails as that of a file removed meanwhile
    assert [entry.name for entry in DiskFiles().list(tmp_path)] == ["kept"]


def test_listing_while_others_replace_files(tmp_path: Path) -> None:
    files, done = DiskFiles(), Event()

    def replace() -> None:
        while not done.is_set():
            replace_file(files, tmp_path / "a", b"x", durable=False)

    replacing = Thread(target=replace)
    replacing.start()
    try:
        for _ in range(2000):
            assert len(files.list(tmp_path)) <= 2
    finally:
        done.set()
        replacing.join()


def test_a_directory_that_is_renamed_may_be_removed_at_once(tmp_path: Path) -> None:
    files, done = DiskFiles(), Event()

    def purge() -> None:
        while not done.is_set():
            for name in [entry.name for entry in files.list(tmp_path) if entry.name.endswith("-delete")]:
                with suppress(OSError):
                    for entry in files.list(tmp_path / name):
                        files.remove(tmp_path / name / entry.name)
                    files.remove_directory(tmp_path / name)

    purging = Thread(target=purge)
    purging.start()
    try:
        for number in range(300):
            files.make_directory(tmp_path / "t-0")
            file = files.open(tmp_path / "t-0" / "log", create=True)
            assert file.size() == 0
            file.write(0, [b"x"])
            files.rename(tmp_path / "t-0", tmp_path / f"t-0.{number}-delete")
    finally:
        done.set()
        purging.join()


WITHOUT_DESCRIPTORS = """
import os, resource, sys
from pathlib import Path
from kafkawire.log import DiskFiles, LogDirectory
from kafkawire.messages.errors import KafkaStorageError
from kafkawire.records import BatchBuilder

assert KafkaStorageError().retriable  # read from a file when it is first asked for
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
builder = BatchBuilder()
builder.append(None, b"value")
data = builder.build()
files = DiskFiles(limit=1000)
logs = LogDirectory(Path(sys.argv[1]), files=files)

def take_all():
    taken = []
    while True:
        try:
            taken.append(os.dup(0))
        except OSError:
            return taken

partitions = [logs.create("t", number) for number in range(150)]
for log in partitions:
    assert log.append(data).base_offset == 0
taken = take_all()
for log in partitions:
    assert log.append(data).base_offset == 1
    log.roll()
    log.flush()
in_hand = []
try:
    for number in range(1000):
        in_hand.append(files.open(Path(sys.argv[1]) / f"other{number}", create=True))
except OSError:
    pass
else:
    raise AssertionError("expected that descriptors run out")
for log in partitions:
    for refused in (
        lambda: log.append(data),
        lambda: log.read(0, 1),
        lambda: logs.create("u", 0),
    ):
        try:
            refused()
        except KafkaStorageError as error:
            assert error.retriable
        else:
            raise AssertionError("expected a refusal")
    assert (log.log_start_offset, log.end_offset, len(log.segments)) == (0, 2, 2)
assert len(logs.partitions) == 150
in_hand.clear()
for descriptor in taken:
    os.close(descriptor)
for log in partitions:
    assert log.append(data).base_offset == 2
logs.close()
again = LogDirectory(Path(sys.argv[1]))
assert again.was_clean
assert {(log.end_offset, len(log.findings)) for log in again.partitions.values()} == {(3, 0)}
"""


def test_descriptors_that_others_took_are_made_up_for_and_a_refusal_is_retriable(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_DESCRIPTORS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_directory_has_one_owner(tmp_path: Path) -> None:
    lock = DiskFiles().lock(tmp_path / ".lock")
    other = (
        "from pathlib import Path; from kafkawire.log import DiskFiles; import sys; DiskFiles().lock(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", other, str(tmp_path / ".lock")]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "another broker uses it" in refused.stderr
    with pytest.raises(BlockingIOError):
        DiskFiles().lock(tmp_path / ".lock")
    lock.release()
    assert subprocess.run(command, check=False).returncode == 0


def test_a_file_can_be_mapped(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"mapped")
    (tmp_path / "empty").touch()
    assert (bytes(map_file(tmp_path / "a")), bytes(map_file(tmp_path / "empty"))) == (b"mapped", b"")


class TestFaultyDisk:
    root = Path("/d")

    @pytest.fixture
    def disk(self) -> FaultyFiles:
        disk = FaultyFiles()
        disk.make_directory(self.root)
        return disk

    def test_only_what_was_synced_survives_a_power_cut(self, disk: FaultyFiles) -> None:
        file = disk.open(self.root / "a", create=True)
        file.write(0, [b"one"])
        file.sync()
        disk.sync_directory(self.root)
        file.write(3, [b"two"])
        assert read_file(disk.killed(), self.root / "a") == b"onetwo"
        assert read_file(disk.unplugged(), self.root / "a") == b"one"

    def test_a_name_survives_only_with_its_directory(self, disk: FaultyFiles) -> None:
        disk.open(self.root / "a", create=True).sync()
        assert not disk.unplugged().exists(self.root / "a")
        disk.sync_directory(self.root)
        disk.rename(self.root / "a", self.root / "b")
        after = disk.unplugged()
        assert (after.exists(self.root / "a"), after.exists(self.root / "b")) == (True, False)

    def test_a_torn_write_keeps_its_first_bytes(self, disk: FaultyFiles) -> None:
        file = disk.open(self.root / "a", create=True)
        disk.arm(Fault("write", after=1, error=errno.ENOSPC, keep=2))
        file.write(0, [b"whole"])
        with pytest.raises(OSError, match="injected"):
            file.write(5, [b"torn"])
        assert file.read(0, 100) == b"wholeto"

    def test_after_a_failed_sync_the_bytes_count_as_clean(self, disk: FaultyFiles) -> None:
        file = disk.open(self.root / "a", create=True)
        disk.sync_directory(self.root)
        file.write(0, [b"lost"])
        disk.arm(Fault("sync"))
        with pytest.raises(OSError, match="injected"):
            file.sync()
        file.sync()
        assert read_file(disk.unplugged(), self.root / "a") == bytes(4)
