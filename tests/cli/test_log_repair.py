"""kafkawire log repair: what it finds, what it changes, and that it changes nothing unless asked."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from tests.log.batches import batch

from kafkawire.broker._config.settings import BrokerConfig
from kafkawire.broker._node import Node
from kafkawire.cli.main import main
from kafkawire.log import DiskFiles
from kafkawire.log._offline.findings import verify_paths
from kafkawire.log._offline.log_file import open_log
from kafkawire.log.checkpoints import read_offsets, write_offsets
from kafkawire.records import read_batches, scan_batches
from kafkawire.testing.manual_clock import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW = 1_700_000_000_000
FIRST = "00000000000000000000"
JOURNAL = "__cluster_metadata-0"


def start(root: Path) -> Node:
    return Node(BrokerConfig(), ManualClock(NOW), root=root, files=DiskFiles())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data directory that a broker left: two topics, one of them of several segments."""
    root = tmp_path / "data"
    node = start(root)
    node.create_topic("orders", 2, {"segment.bytes": "1500"})
    node.create_topic("clicks", 1, {"retention.ms": "77"})
    for number in range(40):
        node.append("orders", 0, batch(b"%03d" % number * 20, timestamp=NOW))
        node.append("clicks", 0, batch(b"%03d" % number, timestamp=NOW))
    node.close()
    return root


def tree(root: Path) -> dict[str, tuple[str, int]]:
    """Every file with the hash of its content and its time."""
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(root)): (sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in files
    }


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0xFF
    path.write_bytes(data)


def logs(root: Path, partition: str) -> list[Path]:
    return sorted((root / partition).glob("*.log"))


def values(root: Path, partition: str) -> list[bytes | None]:
    return [
        record.value
        for path in logs(root, partition)
        for each in read_batches(path.read_bytes())
        for record in each.records()
    ]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[dict[str, Any]]]:
    code = main(["log", "repair", "--json", *map(str, arguments)])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def repaired(root: Path, capsys: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    """The findings of a repair: a dry run changes nothing, --apply does all, and nothing is wrong afterwards."""
    before = tree(root)
    code, planned = run(capsys, root, *arguments)
    assert code == 1
    assert tree(root) == before
    assert not any(row["repaired"] for row in planned)
    code, done = run(capsys, root, "--apply", *arguments)
    assert code == 0
    assert all(row["repaired"] for row in done)
    assert {row["file"] for row in done} <= {row["file"] for row in planned}
    assert run(capsys, root) == (0, [])
    assert list(verify_paths([root])) == []
    return planned


def test_a_sound_directory_has_no_fault(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(root)
    assert main(["log", "repair", str(root)]) == 0
    assert capsys.readouterr().out == "no fault found\n"
    assert main(["log", "repair", str(root), "--apply"]) == 0
    assert tree(root) == before


def test_a_damaged_journal(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = {topic.name: topic.id for topic in start(shutil.copytree(root, root.with_name("copy"))).topics}
    path = root / JOURNAL / f"{FIRST}.log"
    second = scan_batches(path.read_bytes()).position[1]
    flip(path, second + 70)
    damaged = path.read_bytes()
    rows = repaired(root, capsys)
    assert (rows[0]["file"], rows[0]["position"]) == (str(path), second)
    assert "stated CRC" in rows[0]["fault"]
    assert path.with_name(path.name + ".damaged-1").read_bytes() == damaged
    assert {topic.name: topic.id for topic in start(root).topics} == ids


def test_a_missing_journal(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(root / JOURNAL)
    faults = [row["fault"] for row in repaired(root, capsys)]
    assert faults[0] == "the journal is missing, the directories of 2 topics are there"
    assert "the journal does not know topic orders" in faults
    node = start(root)
    assert (node.topics.get("orders").partitions, node.log("clicks", 0).end_offset) == (2, 40)


def test_a_bad_batch_is_cut_as_kafka_cuts_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    second = logs(root, "orders-0")[1]
    columns = open_log(second).columns
    position, offset = columns["position"][2], columns["base_offset"][2]
    flip(second, position + 70)
    damaged, last = second.read_bytes(), logs(root, "orders-0")[-1].read_bytes()
    row = repaired(root, capsys)[0]
    assert (row["file"], row["position"]) == (str(second), position)
    assert f"{39 - offset} whole batches of offsets {offset + 1} to 39 come after it" in row["fault"]
    assert f"the log is cut at offset {offset}" in row["remedy"]
    assert values(root, "orders-0") == [b"%03d" % number * 20 for number in range(offset)]
    assert second.with_name(second.name + ".damaged-1").read_bytes() == damaged
    assert last in [path.read_bytes() for path in (root / "orders-0").glob("*.log.damaged-1")]
    node = start(root)
    assert node.append("orders", 0, batch(b"new", timestamp=NOW)).base_offset == offset


@pytest.mark.parametrize("number", [0, 1, -1], ids=["first", "middle", "last"])
def test_batches_behind_a_bad_one_are_kept(root: Path, capsys: pytest.CaptureFixture[str], number: int) -> None:
    second = logs(root, "orders-0")[1]
    columns = open_log(second).columns
    offset = columns["base_offset"][number]
    flip(second, columns["position"][number] + 70)
    repaired(root, capsys, "--keep-after")
    expected = [b"%03d" % each * 20 for each in range(40) if each != offset]
    assert values(root, "orders-0") == expected
    for clean in (True, False):
        node = start(root)
        log = node.log("orders", 0)
        assert log.end_offset == 40
        assert log.read(offset, 1 << 20).read()
        if clean:
            node.close()
    assert values(root, "orders-0") == expected


@pytest.mark.parametrize("at", [0, 4, 7, 8, 11, 16, 17, 20, 22, 26, 60, 61, 70])
def test_any_flipped_byte_costs_one_batch_at_most(root: Path, capsys: pytest.CaptureFixture[str], at: int) -> None:
    second = logs(root, "orders-0")[1]
    columns = open_log(second).columns
    offset = columns["base_offset"][2]
    flip(second, columns["position"][2] + at)
    row = repaired(root, capsys, "--keep-after")[0]
    assert (row["file"], row["position"]) == (str(second), columns["position"][2])
    expected = [b"%03d" % each * 20 for each in range(40) if each != offset or at < 8]
    assert values(root, "orders-0") == expected
    assert start(root).log("orders", 0).end_offset == 40


def test_a_torn_tail_is_cut(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = logs(root, "clicks-0")[0]
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"torn")
    row = repaired(root, capsys)[0]
    assert (row["file"], row["position"]) == (str(path), size)
    assert "nothing whole comes after it" in row["fault"]
    assert len(values(root, "clicks-0")) == 40


def break_index(root: Path) -> str:
    path = logs(root, "orders-0")[0].with_suffix(".timeindex")
    flip(path, 3)
    return str(path)


def remove_index(root: Path) -> str:
    path = logs(root, "orders-0")[0].with_suffix(".index")
    path.unlink()
    return str(path)


def break_snapshot(root: Path) -> str:
    path = sorted((root / "orders-0").glob("*.snapshot"))[-1]
    flip(path, 4)
    return str(path)


def break_epochs(root: Path) -> str:
    path = root / "orders-0" / "leader-epoch-checkpoint"
    path.write_text("nonsense\n")
    return str(path)


def break_topic_id(root: Path) -> str:
    path = root / "orders-0" / "partition.metadata"
    path.write_text("nonsense\n")
    return str(path)


def break_checkpoint(root: Path) -> str:
    path = root / "recovery-point-offset-checkpoint"
    path.write_text("nonsense\n")
    return str(path)


def move_log_start(root: Path) -> str:
    path = root / "log-start-offset-checkpoint"
    write_offsets(DiskFiles(), path, {("orders", 0): 4000})
    return str(path)


def leave_something(root: Path) -> str:
    path = root / "orders-0" / f"{FIRST}.log.cleaned"
    path.write_bytes(b"half")
    return str(path)


def remove_identity(root: Path) -> str:
    (root / "meta.properties").unlink()
    return str(root / "meta.properties")


def remove_partition(root: Path) -> str:
    shutil.rmtree(root / "orders-1")
    return str(root / "orders-1")


@pytest.mark.parametrize(
    "damage",
    [
        *(break_index, remove_index, break_snapshot, break_epochs, break_topic_id, break_checkpoint),
        *(move_log_start, leave_something, remove_identity, remove_partition),
    ],
)
def test_other_files_cost_no_record(
    root: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], str]
) -> None:
    file = damage(root)
    assert file in [row["file"] for row in repaired(root, capsys)]
    assert len(values(root, "orders-0")) == len(values(root, "clicks-0")) == 40
    node = start(root)
    assert (node.log("orders", 0).log_start_offset, node.log("orders", 0).end_offset) == (0, 40)


def test_a_gap_between_segments_is_reported_and_stays(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    second, third = logs(root, "orders-0")[1:3]
    second.unlink()
    for path in (second.with_suffix(suffix) for suffix in (".index", ".timeindex")):
        path.unlink()
    code, rows = run(capsys, root, "--apply")
    assert code == 1
    missing = f"offsets {int(second.stem)} to {int(third.stem) - 1} are missing before this segment"
    assert [(row["file"], row["fault"], row["repaired"]) for row in rows] == [(str(third), missing, False)]


def test_one_partition_by_itself(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = logs(root, "clicks-0")[0]
    flip(path, open_log(path).columns["position"][10] + 65)
    shutil.rmtree(root / JOURNAL)
    partition = root / "clicks-0"
    code, rows = run(capsys, partition)
    assert (code, {row["file"] for row in rows} >= {str(path)}) == (1, True)
    assert run(capsys, partition, "--keep-after", "--apply")[0] == 0
    assert run(capsys, partition) == (0, [])
    assert len(values(root, "clicks-0")) == 39
    assert not (root / JOURNAL).exists()
    assert (read_offsets(DiskFiles(), root / "recovery-point-offset-checkpoint") or {})["clicks", 0] == 40


def test_a_directory_in_use_is_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = start(root)
    for path in (root, root / "orders-0"):
        assert main(["log", "repair", str(path)]) == 1
        assert f"{root / '.lock'}: another broker uses it" in capsys.readouterr().err
    node.close()


@pytest.mark.parametrize("adopt", [False, True])
def test_the_journal_of_apache_kafka_is_changed_only_if_asked(
    root: Path, capsys: pytest.CaptureFixture[str], adopt: bool
) -> None:
    (root / JOURNAL / "quorum-state").write_text("{}")
    kept = (root / JOURNAL / f"{FIRST}.log").read_bytes()
    if not adopt:
        assert run(capsys, root, "--apply") == (0, [])
        assert (root / JOURNAL / f"{FIRST}.log").read_bytes() == kept
        return
    repaired(root, capsys, "--adopt")
    assert (root / f"{JOURNAL}.kafka" / f"{FIRST}.log").read_bytes() == kept
    node = start(root)
    assert {topic.name: topic.configs for topic in node.topics} == {
        "orders": {"segment.bytes": "1500"},
        "clicks": {"retention.ms": "77"},
    }
    assert node.log("orders", 0).end_offset == 40


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_path_that_is_not_a_log_directory_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["log", "repair", str(tmp_path / name)]) == 2
    assert name in capsys.readouterr().err


def test_a_repair_that_the_disk_refuses_is_reported(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = logs(root, "clicks-0")[0]
    path.write_bytes(path.read_bytes() + b"torn")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("kafkawire.log._repair.partition.keep_copy", refuse)
    code, rows = run(capsys, root, "--apply")
    assert code == 1
    assert "failed: [Errno 28] No space left on device" in rows[0]["remedy"]
    assert path.read_bytes().endswith(b"torn")


def test_the_table_says_what_to_do(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = logs(root, "clicks-0")[0]
    path.write_bytes(path.read_bytes() + b"torn")
    assert main(["log", "repair", str(root)]) == 1
    text = capsys.readouterr().out
    assert text.splitlines()[0].split() == ["file", "position", "fault", "remedy"]
    assert text.endswith("1 faults; nothing was changed; --apply runs the remedies\n")
    assert main(["log", "repair", str(root), "--apply"]) == 0
    assert capsys.readouterr().out.endswith("1 faults, 1 repaired\n")
    assert main(["log", "repair", "--help"]) == 0
    assert "--keep-after --apply" in capsys.readouterr().out
