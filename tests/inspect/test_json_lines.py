"""Rows as lines of JSON: what `json.dumps` prints for each row, in both forms."""

from __future__ import annotations

import datetime
import json
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from kafkawire.inspect._tables import json_lines as reference
from kafkawire.inspect._tables.json_lines import json_lines

pytestmark = pytest.mark.twin
TIME = pa.timestamp("us", "UTC")


def dumped(table: pa.Table) -> str:
    return "".join(json.dumps(row, ensure_ascii=False, default=reference._as_json) + "\n" for row in table.to_pylist())


def random_table(dice: Random, rows: int) -> pa.Table:
    def some(make: Any, kind: pa.DataType, nulls: float) -> pa.Array[Any]:
        return pa.array([None if dice.random() < nulls else make() for _ in range(rows)], kind)

    nulls = dice.choice((0, 0.3, 1))
    texts = ("", "a", 'say "hi"', "tab\t, line\n, \\, \x00\x1f\x7f", "ünïcødé", "\U0001f980", "\u2028")
    return pa.table(
        {
            "small": some(lambda: dice.choice((-128, 0, 127)), pa.int8(), nulls),
            "large": some(lambda: dice.choice((-(2**63), -1, 0, 9, 10, 2**63 - 1)), pa.int64(), nulls),
            "unsigned": some(lambda: dice.choice((0, 2**64 - 1)), pa.uint64(), nulls),
            "truth": some(lambda: dice.random() < 0.5, pa.bool_(), nulls),
            'a "name"': some(lambda: dice.choice(texts), pa.string(), nulls),
            "time": some(
                lambda: dice.choice(
                    (0, -1, 1_700_000_000_000_000, 1_700_000_000_000_001, dice.randint(-(6 * 10**16), 2 * 10**17))
                ),
                TIME,
                nulls,
            ),
            "bytes": some(lambda: dice.randbytes(3), pa.binary(), nulls),
            "list": some(
                lambda: [{"x": dice.randrange(3)}] * dice.randrange(3), pa.list_(pa.struct([("x", pa.int16())])), nulls
            ),
            "float": some(lambda: dice.choice((0.5, -1e300)), pa.float64(), nulls),
        }
    )


@pytest.mark.parametrize("seed", range(30))
def test_any_table_is_printed_as_json_dumps_prints_it(seed: int) -> None:
    dice = Random(seed)
    table = random_table(dice, dice.choice((0, 1, 7, 200)))
    assert "".join(json_lines(table)) == dumped(table)


def test_every_day_of_many_years_is_printed_as_python_prints_it() -> None:
    first = datetime.datetime(1, 1, 1, 23, 59, 59, 999_999, tzinfo=datetime.UTC)
    days = [first + datetime.timedelta(days=number) for number in (*range(0, 3_652_058, 97), 3_652_058)]
    table = pa.table({"t": pa.array(days, TIME)})
    assert "".join(json_lines(table)) == dumped(table)


def test_a_name_of_two_numbers_comes_first() -> None:
    table = pa.table({"conn_id": [0, 12], "seq": [3, 4]})
    assert list(json_lines(table, named=("exchange", "conn_id", "seq"))) == [
        '{"exchange": "0/3", "conn_id": 0, "seq": 3}\n{"exchange": "12/4", "conn_id": 12, "seq": 4}\n'
    ]


def test_long_tables_come_in_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "RUN", 3)
    table = pa.concat_tables([pa.table({"a": [1, None]}), pa.table({"a": [3, 4, 5]})])
    runs = list(json_lines(table))
    assert [run.count("\n") for run in runs] == [3, 2]
    assert "".join(runs) == dumped(table)


def test_a_slice_of_a_table_is_printed() -> None:
    table = pa.table({"a": pa.array([None, 2, 3, None], pa.int32()), "b": ["x", "y", None, "z"]}).slice(1, 2)
    assert "".join(json_lines(table)) == dumped(table)
