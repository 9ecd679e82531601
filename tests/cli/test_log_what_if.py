"""kafkawire log stats --what-if, over magic 0, 1 and 2."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.cli.main import main
from kafkawire.records import HEADER_SIZE, BatchBuilder

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_700_000_000_000
VALUE = b"the same words again and again " * 4


def built(magic: int, count: int, codec: str = "none", first: int = 0, value: bytes | None = VALUE) -> bytes:
    builder = BatchBuilder(magic=magic, compression=codec, base_offset=first)
    for number in range(first, first + count):
        builder.append(b"key-%d" % (number % 7), value, timestamp=NOW + number)
    return bytes(builder.build())


def write(root: Path, *parts: bytes, partition: str = "orders-0") -> Path:
    folder = root / partition
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(b"".join(parts))
    return root


def sections(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, dict[str, Any]]]:
    assert main(["log", "stats", "--json", *arguments]) == 0
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for line in capsys.readouterr().out.splitlines():
        row = json.loads(line)
        found.setdefault(row.pop("section"), {})[str(next(iter(row.values())))] = row
    return found


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_messages_of_old_formats_are_tried_as_magic_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], magic: int, codec: str
) -> None:
    old = built(magic, 100, codec)
    found = sections(capsys, "--what-if", str(write(tmp_path, old)))
    trials = found["size with other codecs"]
    assert trials["as stored"]["bytes"] == len(old)
    plain = built(2, 100) if magic == 1 else None
    if plain is not None and codec != "none":
        assert trials["none"]["bytes"] == len(plain)
    assert 0 < trials["gzip"]["bytes"] < trials["none"]["bytes"]
    assert trials["gzip"]["of stored"] == round(trials["gzip"]["bytes"] / len(old), 3)
    fields = found["old messages as magic 2, by field"]
    total = fields["all, without compression"]
    assert total["magic 0 and 1"] == len(built(magic, 100))
    assert total["magic 2"] == trials["none"]["bytes"]
    own = [row for name, row in fields.items() if not name.startswith("all")]
    for column in ("magic 0 and 1", "magic 2", "saved"):
        assert sum(row[column] for row in own) == total[column]
    assert fields["keys and values"]["saved"] == 0
    assert fields["timestamps"]["magic 0 and 1"] == (800 if magic == 1 else 0)
    assert fields["checksums"]["magic 0 and 1"] == 400
    assert total["of all"] == f"{total['saved'] / total['magic 0 and 1']:.1%}"


def test_a_mixed_log_is_compared_with_all_that_was_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = built(1, 50), built(2, 50, first=50)
    found = sections(capsys, "--what-if", str(write(tmp_path, old, new)))["size with other codecs"]
    assert found["as stored"]["bytes"] == len(old) + len(new)
    assert found["none"]["of stored"] == round(found["none"]["bytes"] / (len(old) + len(new)), 3)
    assert found["none"]["of stored"] > 0.5


def test_messages_are_collected_into_batches_of_a_producer_within_a_partition(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, built(1, 300))
    write(tmp_path, built(1, 1), partition="orders-1")
    found = sections(capsys, "--what-if", str(tmp_path))
    batches = found["old messages as magic 2, by field"]["checksums"]["magic 2"] // 4
    content = found["old messages as magic 2, by field"]["keys and values"]["magic 2"]
    assert batches == -(-content // 16_384) + 1
    assert content + batches * HEADER_SIZE < found["size with other codecs"]["none"]["bytes"]


def test_null_keys_values_and_compacted_offsets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [built(1, 1, first=number, value=None) for number in (0, 5, 900, 70_000)]
    found = sections(capsys, "--what-if", str(write(tmp_path, *parts)))
    total = found["old messages as magic 2, by field"]["all, without compression"]
    assert total["magic 2"] == found["size with other codecs"]["none"]["bytes"]


def test_a_log_of_magic_2_has_no_table_of_old_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = sections(capsys, "--what-if", str(write(tmp_path, built(2, 10))))
    assert "old messages as magic 2, by field" not in found
    assert found["size with other codecs"]["none"]["of stored"] == 1.0


def test_a_price_turns_bytes_into_money(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = sections(capsys, "--price", "1000/GB-month", str(write(tmp_path, built(1, 100))))
    stored = found["size with other codecs"]["as stored"]
    assert stored["per month"] == round(stored["bytes"] * 1000 / 1e9, 6)
    saved = found["old messages as magic 2, by field"]["all, without compression"]
    assert saved["per month"] == round(saved["saved"] * 1000 / 1e9, 6)


@pytest.mark.parametrize("text", ["0.023", "x/GB-month", "1/KB-month", "1/GB", "-1/GB-month"])
def test_a_price_that_cannot_be_read_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert main(["log", "stats", f"--price={text}", str(write(tmp_path, built(1, 1)))]) == 2
    assert "expected AMOUNT/UNIT-PERIOD, such as 0.023/GB-month" in capsys.readouterr().err


def test_diagnose_reports_a_log_that_still_holds_old_formats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, built(0, 2), built(1, 3, first=2), built(2, 1, first=5))
    write(tmp_path, built(2, 3), partition="orders-1")
    assert main(["diagnose", str(tmp_path), "--level", "info", "--json"]) == 1
    (finding,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (finding["rule"], finding["entity"], finding["count"]) == ("old-format", "orders-0", 5)
    assert "5 messages of magic 0 and 1" in finding["text"]


def test_offsets_that_do_not_rise_are_counted_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [built(1, 1, first=number) for number in (5, 5, 3, 2**40)]
    found = sections(capsys, "--what-if", str(write(tmp_path, *parts)))
    total = found["old messages as magic 2, by field"]["all, without compression"]
    assert total["magic 2"] == found["size with other codecs"]["none"]["bytes"]
