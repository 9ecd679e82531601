"""A disk that fails on demand and knows the state that a power cut would leave.

Rules:
- Contents are durable as of their last `sync`, names as of their directory's last `sync_directory`; nothing else is.
- `killed` is the disk after the process alone died: all that was written. `unplugged` is the disk after a power cut:
  all that was durable, and the names of directories. With dice, the cut may also leave any part of other changes
  (`power_cuts`). The name of a directory is durable no sooner than any other.
- A fault applies once, to the n-th next operation of a kind, and may keep a part of a write.
- After a failed sync the bytes it was for count as clean: the next sync does not write them again, as on Linux. Without
  `dice` none of them reached the disk, with dice any of them may have.
- `cut_after` cuts the power at the n-th next change. From then on every change fails, and the change in progress counts
  as not synced. One such disk may be `unplugged` many times, each time with other dice.
- `freeze` and `thaw` simulate a killed process and the next one, on a disk that keeps its power.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log.storage.memory import MemoryFile, MemoryFiles, place
from kafkawire.testing.power_cuts import Change, Truncation, Write, apply, resize, scatter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from random import Random

    from kafkawire.log.storage.files import Bytes, Entry

ROOT = "/"


@dataclass
class Fault:
    """Fail the `after`-th operation of a kind; a write keeps its first `keep` bytes."""

    kind: str
    after: int = 0
    error: int = errno.EIO
    keep: int = 0
    sticky: bool = False


class FaultyFile(MemoryFile):
    """A file with a durable past."""

    def __init__(self, files: FaultyFiles) -> None:
        super().__init__(files.clock)
        self.durable = bytearray()
        self._files = files
        self._unsynced: list[Change] = []

    def write(self, position: int, parts: Sequence[Bytes]) -> None:
        content = b"".join(parts)
        with self._files.guard:
            fault = self._files.due("write")
            if fault is not None:
                content = content[: fault.keep]
            alive = self._files.change()
            if alive:
                super().write(position, [content])
            if alive or self._files.is_cut_now:
                self._unsynced.append(Write(position, content))
        if fault is not None:
            raise OSError(fault.error, "injected")
        self._files.check_power()

    def read(self, position: int, size: int) -> bytes:
        self._files.strike("read")
        return super().read(position, size)

    def truncate(self, size: int) -> None:
        with self._files.guard:
            self._files.strike("truncate")
            if self._files.change():
                super().truncate(size)
                self._unsynced.append(Truncation(size))
        self._files.check_power()

    def sync(self) -> None:
        with self._files.guard:
            fault = self._files.due("sync")
            if self._files.change():
                self.make_durable(whole=fault is None)
        if fault is not None:
            raise OSError(fault.error, "injected")
        self._files.check_power()

    def make_durable(self, *, whole: bool) -> None:
        """Let what was written reach the disk: all of it, or what a failed sync leaves. It counts as clean then."""
        unsynced, self._unsynced = self._unsynced, []
        if whole:
            apply(self.durable, unsynced)
            resize(self.durable, len(self.data))
        elif self._files.dice is not None:
            scatter(self.durable, unsynced, self._files.dice)

    def after_cut(self, dice: Random | None) -> bytes:
        """The content that a power cut leaves."""
        content = bytearray(self.durable)
        if dice is not None:
            scatter(content, self._unsynced, dice)
        return bytes(content)


@dataclass(eq=False)
class Folder:
    """A directory, and the names in it that are durable."""

    durable: dict[str, FaultyFile | Folder] = field(default_factory=dict)

    def copy(self, copies: dict[Folder, Folder]) -> Folder:
        """A copy of the whole tree; `copies` maps each original to its copy."""
        made = copies[self] = Folder()
        for name, inside in self.durable.items():
            made.durable[name] = inside.copy(copies) if isinstance(inside, Folder) else inside
        return made


class Rename(NamedTuple):
    """One change of names, applied as a whole or not at all: the new entry of each name, or None."""

    names: tuple[tuple[Folder, str, FaultyFile | Folder | None], ...]
    is_of_a_folder: bool

    def apply(self, copies: dict[Folder, Folder] | None = None) -> None:
        """Make the change durable, or make it in copies of its directories."""
        for folder, name, now in self.names:
            inside, then = folder, now
            if copies is not None:
                inside = _copied(folder, copies)
                then = _copied(now, copies) if isinstance(now, Folder) else now
            if then is None:
                inside.durable.pop(name, None)
            else:
                inside.durable[name] = then


class FaultyFiles(MemoryFiles):
    """A memory file system that counts, fails and crashes."""

    def __init__(self, clock: Callable[[], int] = lambda: 0, dice: Random | None = None) -> None:
        super().__init__(clock)
        self.faults: list[Fault] = []
        self.counts: dict[str, int] = {}
        self.struck = 0
        self.dice = dice
        self.guard = self._guard
        self.has_power = True
        self.is_cut_now = False
        self.power_gone = Event()
        self._changes_left: int | None = None
        self._nodes: dict[str, Folder] = {ROOT: Folder()}
        self._renamed: list[Rename] = []

    def arm(self, fault: Fault) -> None:
        self.faults.append(fault)

    def due(self, kind: str) -> Fault | None:
        """The fault that applies to this operation, if any."""
        with self.guard:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            struck = None
            for fault in [fault for fault in self.faults if fault.kind == kind]:
                if fault.after == 0 and struck is None:
                    struck = fault
                    self.struck += 1
                    if not fault.sticky:
                        self.faults.remove(fault)
                elif fault.after:
                    fault.after -= 1
            return struck

    def strike(self, kind: str) -> None:
        fault = self.due(kind)
        if fault is not None:
            raise OSError(fault.error, "injected")

    def cut_after(self, changes: int) -> None:
        """Cut the power after this many further changes."""
        self._changes_left = changes

    def freeze(self) -> None:
        """Fail every change from now on, as for a killed process; written bytes stay."""
        with self.guard:
            self.has_power = False
            self.power_gone.set()

    def thaw(self) -> None:
        """Let the next process use the disk after `freeze`; unsynced changes stay unsynced."""
        with self.guard:
            self.has_power, self._changes_left = True, None
            self.power_gone.clear()
            self.faults.clear()

    def change(self) -> bool:
        """Count a change; returns whether the disk still applies it."""
        self.is_cut_now = False
        if self.has_power and self._changes_left is not None:
            self._changes_left -= 1
            if self._changes_left < 0:
                self.has_power = False
                self.is_cut_now = True
                self.power_gone.set()
        return self.has_power

    def check_power(self) -> None:
        if not self.has_power:
            raise OSError(errno.EIO, "no power")

    def make_file(self, parent: str, name: str) -> FaultyFile:
        self.strike("create")
        self.change()
        self.check_power()
        file = FaultyFile(self)
        self._rename((self._nodes[parent], name, file))
        return file

    def open(self, path: Path, *, create: bool = False) -> MemoryFile:
        with self.guard:
            self.strike("open")
            return super().open(path, create=create)

    def list(self, path: Path) -> list[Entry]:
        self.strike("list")
        return super().list(path)

    def make_directory(self, path: Path) -> None:
        with self.guard:
            text = path.as_posix()
            if text in self._folders:
                return
            self.strike("make_directory")
            self.change()
            self.check_power()
            self._make_directory(text)
            self._make_nodes(text)

    def _make_nodes(self, text: str) -> None:
        if text not in self._nodes:
            parent, name = place(text)
            self._make_nodes(parent)
            node = self._nodes[text] = Folder()
            self._rename((self._nodes[parent], name, node), of_a_folder=True)

    def rename(self, source: Path, target: Path) -> None:
        with self.guard:
            self.strike("rename")
            self.change()
            self.check_power()
            before, after = source.as_posix(), target.as_posix()
            (parent, name), (new_parent, new_name) = place(before), place(after)
            moved = self._nodes.get(before) or self._folders.get(parent, {}).get(name)
            super().rename(source, target)
            if isinstance(moved, Folder):
                self._nodes = {_moved(text, before, after): node for text, node in self._nodes.items()}
            assert isinstance(moved, FaultyFile | Folder)
            self._rename(
                (self._nodes[parent], name, None),
                (self._nodes[new_parent], new_name, moved),
                of_a_folder=isinstance(moved, Folder),
            )

    def remove(self, path: Path) -> None:
        with self.guard:
            self.strike("remove")
            parent, name = place(path.as_posix())
            if name in self._folders.get(parent, {}):
                self.change()
                self.check_power()
                self._rename((self._nodes[parent], name, None))
            super().remove(path)

    def remove_directory(self, path: Path) -> None:
        with self.guard:
            self.strike("remove_directory")
            self.change()
            self.check_power()
            super().remove_directory(path)
            parent, name = place(path.as_posix())
            if self._nodes.pop(path.as_posix(), None) is not None:
                self._rename((self._nodes[parent], name, None), of_a_folder=True)

    def sync_directory(self, path: Path) -> None:
        with self.guard:
            self.strike("sync_directory")
            self.change()
            self.check_power()
            node = self._nodes[path.as_posix()]
            synced = [each for each in self._renamed if any(folder is node for folder, _, _ in each.names)]
            for renaming in synced:
                renaming.apply()
                self._renamed.remove(renaming)

    def whole_sync(self, path: Path) -> Callable[[], None]:
        return self._sync_all

    def _sync_all(self) -> None:
        """Sync everything. After a failure any part of it is durable, and counts as clean."""
        with self.guard:
            fault = self.due("whole_sync")
            if self.change():
                if fault is None:
                    for renaming in self._renamed:
                        renaming.apply()
                    self._renamed.clear()
                for file in self.names.values():
                    assert isinstance(file, FaultyFile)
                    file.make_durable(whole=fault is None)
        if fault is not None:
            raise OSError(fault.error, "injected")
        self.check_power()

    def killed(self) -> FaultyFiles:
        """The disk after the process dies now."""
        with self.guard:
            files = FaultyFiles(self.clock, self.dice)
            for folder, inside in self._folders.items():
                files._add_folder(folder)
                for name, file in inside.items():
                    if file is not None:
                        files._add_file(folder, name, bytes(file.data))
            return files

    def unplugged(self, dice: Random | None = None) -> FaultyFiles:
        """The disk after a power cut, now or at `cut_after`."""
        with self.guard:
            copies: dict[Folder, Folder] = {}
            root = self._nodes[ROOT].copy(copies)
            if dice is None:
                kept = [each for each in self._renamed if each.is_of_a_folder]
            else:
                kept = self._renamed[: dice.randint(0, len(self._renamed))]
            for renaming in kept:
                renaming.apply(copies)
            files = FaultyFiles(self.clock, dice or self.dice)
            files._grow(ROOT, root, dice)
            return files

    def _grow(self, text: str, folder: Folder, dice: Random | None) -> None:
        for name, inside in folder.durable.items():
            if isinstance(inside, Folder):
                below = f"{text.rstrip('/')}/{name}"
                self._add_folder(below)
                self._grow(below, inside, dice)
            else:
                self._add_file(text, name, inside.after_cut(dice))

    def _add_folder(self, text: str) -> None:
        """A directory that is durable."""
        self._make_directory(text)
        if text not in self._nodes:
            parent, name = place(text)
            self._add_folder(parent)
            self._nodes[text] = self._nodes[parent].durable[name] = Folder()

    def _add_file(self, parent: str, name: str, content: bytes) -> None:
        """A file that is durable."""
        file = FaultyFile(self)
        file.data, file.durable = bytearray(content), bytearray(content)
        self._folders[parent][name] = self._nodes[parent].durable[name] = file

    def _rename(self, *names: tuple[Folder, str, FaultyFile | Folder | None], of_a_folder: bool = False) -> None:
        self._renamed.append(Rename(names, of_a_folder))


def _copied(folder: Folder, copies: dict[Folder, Folder]) -> Folder:
    return copies[folder] if folder in copies else folder.copy(copies)


def _moved(text: str, source: str, target: str) -> str:
    """The new path after the rename of one of its parents."""
    return target + text.removeprefix(source) if text == source or text.startswith(f"{source}/") else text
