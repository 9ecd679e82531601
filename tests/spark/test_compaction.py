"""Compaction of Parquet tables: every record once for every reader, at every moment, whatever is killed when."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from threading import Event, Thread
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.simulated_file_sink import SCHEMA, SimulatedSink

from kafkawire import _platforms
from kafkawire.spark._pipeline.compaction import parquet_tables
from kafkawire.spark._pipeline.compaction.choice import STAGING, files_to_merge
from kafkawire.spark._pipeline.compaction.parquet_files import merge
from kafkawire.spark._pipeline.compaction.parquet_tables import can_exchange
from kafkawire.spark._pipeline.compaction.sink_log import SinkLog
from kafkawire.spark._pipeline.compaction.tables import compact_table, format_of, is_compactable
from kafkawire.spark._pipeline.storage import LocalStorage
from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the call that exchanges two directories")
TARGET = 1 << 20


def sink_with(tmp_path: Path, batches: int, seed: int = 1, interval: int = 10) -> SimulatedSink:
    sink = SimulatedSink(tmp_path, Random(seed), interval)
    for _ in range(batches):
        sink.add_batch()
    return sink


def compact(sink: SimulatedSink, target: int = TARGET) -> int:
    """Compact; the number of files that were written."""
    done = compact_table(LocalStorage(sink.root), sink.table, target=target)
    return 0 if done is None else done.after


def check(sink: SimulatedSink) -> None:
    assert sink.rows_by_log() == sorted(sink.committed)
    assert sink.rows_by_listing() == sorted(sink.committed)


class Killed(BaseException):
    """The process is gone: nothing after this changes a file."""


class Killer:
    """Ends a compaction at the n-th of its calls of the file system, and lets none of the later ones happen."""

    _CALLS = frozenset(
        {"open", "os.mkdir", "os.link", "os.rename", "os.remove", "os.rmdir", "os.utime", "os.chmod", "shutil.rmtree"}
    )
    _is_installed = False
    _current: Killer | None = None

    def __init__(self, root: Path, at: int) -> None:
        self._root, self._at, self.calls = str(root), at, 0
        if not Killer._is_installed:
            sys.addaudithook(lambda name, words: Killer._heard(name, words))
            Killer._is_installed = True

    @classmethod
    def _heard(cls, name: str, words: tuple[object, ...]) -> None:
        if cls._current is not None and name in cls._CALLS:
            cls._current._step(name, words)

    def _step(self, name: str, words: tuple[object, ...]) -> None:
        is_write = name != "open" or (isinstance(words[1], str) and words[1] != "rb" and "r" not in words[1])
        if is_write and (name in {"os.remove", "os.rmdir"} or str(words[0]).startswith(self._root)):
            self.step()

    def step(self) -> None:
        self.calls += 1
        if self.calls >= self._at:
            raise Killed

    @contextmanager
    def watching(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        exchange = _platforms.exchange

        def watched(one: Path, other: Path) -> None:
            self.step()
            exchange(one, other)

        with monkeypatch.context() as patched:
            patched.setattr(parquet_tables, "exchange", watched)
            Killer._current = self
            try:
                yield
            finally:
                Killer._current = None


def test_small_files_become_one_for_each_topic_and_the_log_keeps_its_batches(tmp_path: Path) -> None:
    sink = sink_with(tmp_path, 27)
    before = {each.name for each in sink.log.glob("[0-9]*")}
    assert sum(1 for _ in sink.path.rglob("*.parquet")) > 40
    assert compact(sink) == 2
    assert [each.parent.name for each in sorted(sink.path.rglob("*.parquet"))] == ["topic=a", "topic=b"]
    assert {each.name for each in sink.log.glob("[0-9]*")} == before
    check(sink)
    for _ in range(30):
        sink.add_batch()
    check(sink)
    compact(sink)
    check(sink)
    assert not (tmp_path / STAGING).exists()


@pytest.mark.parametrize("seed", range(12))
def test_random_histories_with_kills_leave_every_record_once(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches, batches that were killed before they were committed, compactions, and compactions that were killed."""
    random = Random(seed)
    sink = SimulatedSink(tmp_path, random, interval=random.choice([1, 2, 3, 10]))
    kills = 0
    for _ in range(40):
        event = random.random()
        if event < 0.6:
            sink.add_batch(SCHEMA if random.random() < 0.8 else SCHEMA.append(pa.field("decoded", pa.string())))
        elif event < 0.7:  # the files of a batch whose driver was killed; a start of a stream removes them
            left = sink.write_files([("a", 10**6), ("b", 10**6)])
            assert left
            if not sink.committed:
                for path in sink.path.rglob("*.parquet"):
                    path.unlink()
                continue
            compact(sink)
            for path in sink.path.rglob("*.parquet"):
                if str(10**6) in str(pq.read_table(path, columns=["offset"])["offset"].to_pylist()):
                    path.unlink()
        elif sink.committed:
            killer = Killer(tmp_path, at=random.randint(1, 90))
            with suppress(Killed), killer.watching(monkeypatch):
                compact(sink, target=random.choice([3_000, TARGET]))
            kills += killer.calls >= killer._at
            check(sink)
        if sink.committed:
            check(sink)
    assert kills


def test_a_kill_at_any_call_leaves_the_old_table_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, files = 1, set()
    while True:
        root = tmp_path / str(at)
        sink = sink_with(root, 5, seed=3, interval=3)
        before = len(list(sink.path.rglob("*.parquet")))
        killer = Killer(root, at)
        with killer.watching(monkeypatch):
            try:
                compact(sink)
                break
            except Killed:
                pass
        check(sink)
        files.add(len(list(sink.path.rglob("*.parquet"))))
        sink.add_batch()
        check(sink)
        compact(sink)
        check(sink)
        assert not (root / STAGING).exists()
        at += 1
    assert files == {before, 2}, "kills before and after the exchange"
    assert at > 40


def test_readers_during_compactions_count_every_record_once_or_miss_a_file(tmp_path: Path) -> None:
    sink = sink_with(tmp_path, 12)
    over, problems, reads = Event(), [], [0, 0]

    def read(number: int) -> None:
        while not over.is_set():
            try:
                rows = sink.rows_by_listing() if number else sink.rows_by_log()
            except FileNotFoundError:
                continue
            reads[number] += 1
            if rows != sorted(sink.committed):
                problems.append(rows)

    readers = [Thread(target=read, args=(number,)) for number in (0, 1)]
    for each in readers:
        each.start()
    for target in range(40):
        compact(sink, target=2_000 + 150 * target)
    over.set()
    for each in readers:
        each.join()
    assert not problems
    assert min(reads) > 3
    check(sink)


def test_files_of_a_batch_that_was_not_committed_are_left_out(tmp_path: Path) -> None:
    sink = sink_with(tmp_path, 5)
    sink.write_files([("a", 999)])
    (sink.path / "topic=c").mkdir()
    (sink.path / "topic=c" / "unfinished.parquet").write_bytes(b"PAR1")
    compact(sink)
    check(sink)


def test_other_files_links_and_permissions_stay(tmp_path: Path) -> None:
    sink = sink_with(tmp_path, 5)
    (sink.path / "_SUCCESS").touch()
    (sink.path / "topic=a" / "notes.txt").write_text("mine")
    (sink.path / "elsewhere").symlink_to(tmp_path)
    (sink.path / "topic=a").chmod(0o750)
    compact(sink)
    assert (sink.path / "topic=a" / "notes.txt").read_text() == "mine"
    assert (sink.path / "_SUCCESS").exists()
    assert (sink.path / "elsewhere").readlink() == tmp_path
    assert (sink.path / "topic=a").stat().st_mode & 0o777 == 0o750


def test_a_large_file_is_linked_and_not_copied(tmp_path: Path) -> None:
    sink = sink_with(tmp_path, 9)
    [big, *_] = sorted(sink.path.rglob("*.parquet"), key=lambda each: -each.stat().st_size)
    inode = big.stat().st_ino
    assert compact(sink, target=big.stat().st_size)
    assert big.stat().st_ino == inode
    assert big.stat().st_nlink == 1
    check(sink)


def test_a_byte_is_rewritten_a_few_times_however_often_compaction_runs(tmp_path: Path) -> None:
    sizes: list[int] = []
    rewritten = 0
    for _ in range(1_000):
        sizes.append(10)
        for group in files_to_merge(sizes, target=1_000_000):
            merged = sum(sizes[position] for position in group)
            rewritten += merged
            sizes = [size for position, size in enumerate(sizes) if position not in group] + [merged]
        assert len(sizes) <= 11
    assert sum(sizes) == 10_000
    assert rewritten <= 10_000 * 10


def test_files_of_different_schemas_stay_apart(tmp_path: Path) -> None:
    sink = sink_with(tmp_path, 6)
    wider = SCHEMA.append(pa.field("decoded_value", pa.struct([("id", pa.int64())])))
    for _ in range(6):
        sink.add_batch(wider)
    assert compact(sink) == 4
    check(sink)
    kinds = {tuple(pq.read_schema(path).names) for path in sink.path.rglob("*.parquet")}
    assert kinds == {tuple(SCHEMA.names), tuple(wider.names)}


def test_types_and_descriptions_of_schemas_are_kept(tmp_path: Path) -> None:
    types: dict[str, pa.DataType] = {
        "when": pa.timestamp("us", tz="UTC"),
        "price": pa.decimal128(20, 3),
        "tags": pa.map_(pa.string(), pa.int64()),
        "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    }
    schema = pa.schema(types)
    row = {
        "when": datetime(9999, 12, 31, 23, tzinfo=UTC),
        "price": Decimal("12345678901234567.890"),
        "tags": [("a", 1), ("b", None)],
        "headers": [{"key": "k", "value": None}],
    }
    empty = dict.fromkeys(row)
    for int96 in (False, True):
        paths = [tmp_path / f"{int96}{number}.parquet" for number in range(3)]
        for path in paths:
            table = pa.Table.from_pylist([row, empty], schema=schema)
            with pq.ParquetWriter(
                path, schema, store_schema=False, use_deprecated_int96_timestamps=int96, compression="zstd"
            ) as writer:
                writer.write_table(table)
                writer.add_key_value_metadata({"org.apache.spark.version": "4.3.0"})
        merged = tmp_path / f"{int96}.parquet"
        assert merge(paths, merged) == merged.stat().st_size
        unit = "us" if int96 else None
        found, given = (pq.read_table(each, coerce_int96_timestamp_unit=unit) for each in (merged, paths))
        assert found.equals(given)
        written, original = pq.read_metadata(merged), pq.read_metadata(paths[0])
        assert written.metadata == original.metadata == {b"org.apache.spark.version": b"4.3.0"}
        assert written.schema.equals(original.schema)
        assert written.row_group(0).column(0).compression == "ZSTD"
        assert written.num_row_groups == 1


def test_a_log_that_lacks_an_entry_or_a_file_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    sink = sink_with(tmp_path, 25)
    (sink.log / "21").rename(tmp_path / "21")
    with pytest.raises(PipelineError, match=r"records/_spark_metadata lacks an entry; it has 19.compact, 20, 22"):
        compact(sink)
    (tmp_path / "21").rename(sink.log / "21")
    [gone, *_] = sink.path.rglob("*.parquet")
    gone.unlink()
    before = sorted(sink.path.rglob("*"))
    with pytest.raises(PipelineError, match=r"\.parquet is missing; _spark_metadata lists it"):
        compact(sink)
    assert sorted(sink.path.rglob("*")) == before


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("v2\n", "has version 'v2', expected v1"),
        ("v1\n{", "'{' is not JSON"),
        ('v1\n{"path":"file:///a","action":"delete"}', "is not a file that was added"),
        ("v1\n[]", "is not a file that was added"),
    ],
)
def test_a_log_of_another_form_is_refused(text: str, problem: str) -> None:
    with pytest.raises(PipelineError, match=problem.replace("{", r"\{")):
        SinkLog.parse("records", ["0"], lambda _: text)


def test_a_system_or_a_file_system_without_the_exchange_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = sink_with(tmp_path, 5)
    monkeypatch.setattr(sys, "platform", "win32")
    assert not can_exchange(tmp_path)
    assert not is_compactable(LocalStorage(tmp_path), "parquet")
    assert is_compactable(LocalStorage(tmp_path), "delta")
    with pytest.raises(
        PipelineError, match=r"cannot exchange two directories at once .* use --format delta or iceberg"
    ):
        compact(sink)
    check(sink)
    assert not (tmp_path / STAGING).exists()


def test_a_full_disk_leaves_the_table_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = sink_with(tmp_path, 5)

    def full(descriptor: int) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr("kafkawire.spark._pipeline.compaction.parquet_files.datasync", full)
    with pytest.raises(OSError, match="no space"):
        compact(sink)
    check(sink)
    assert not (tmp_path / STAGING).exists()


def test_a_table_is_known_by_its_log(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    assert format_of(storage, "records") == ""
    assert compact_table(storage, "records") is None
    (tmp_path / "d" / "_delta_log").mkdir(parents=True)
    (tmp_path / "i" / "metadata").mkdir(parents=True)
    assert (format_of(storage, "d"), format_of(storage, "i")) == ("delta", "iceberg")
    sink = sink_with(tmp_path, 5)
    done = compact_table(storage, "records")
    assert done is not None
    assert (done.table, done.format, done.after) == ("records", "parquet", 2)
    assert compact_table(storage, "records") is None
    assert json.loads((sink.log / "0").read_text().splitlines()[1])["path"].startswith(f"file://{tmp_path}/records/t")
