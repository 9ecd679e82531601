"""Options, names and digests of exactly-once writes."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import StringType, StructField, StructType

from kafkawire.spark import SourceOptionError
from kafkawire.spark._exactly_once.digest import RowDigest
from kafkawire.spark._exactly_once.names import SinkNames
from kafkawire.spark._topics.writer import WriteOptions

TEXT = StructType([StructField("value", StringType())])
ONCE = {"deliveryGuarantee": "exactly-once"}


def parse(options: dict[str, str] | None = None, *, is_stream: bool = False) -> WriteOptions:
    named = {name.replace("__", "."): value for name, value in (options or {}).items()}
    return WriteOptions.parse({"kafka.bootstrap.servers": "k:1", "topic": "t", **named}, TEXT, is_stream=is_stream)


def test_a_write_is_at_least_once_unless_the_option_says_otherwise() -> None:
    assert parse().sink is None
    assert parse({"deliveryGuarantee": "at-least-once"}).sink is None


def test_an_exactly_once_write_has_the_longest_timeout_that_brokers_allow_by_default() -> None:
    sink = parse(ONCE).sink
    assert sink is not None
    assert (sink.timeout_ms, sink.prefix, sink.decisions, sink.sink) == (
        *(900_000, "kafkawire", "kafkawire-sink-decisions"),
        None,
    )
    given = parse(
        {**ONCE, "kafka__transaction__timeout__ms": "5000", "sinkId": "s", "sinkBatch": "7", "decisionTopic": "d"}
    ).sink
    assert given is not None
    assert (given.timeout_ms, given.sink, given.batch, given.decisions) == (5000, "s", 7, "d")


REFUSED = [
    ({"deliveryGuarantee": "twice"}, "deliveryGuarantee is 'twice', expected at-least-once, exactly-once"),
    ({"sinkId": "s"}, "sinkId: only with deliveryGuarantee=exactly-once"),
    ({**ONCE, "sinkId": ""}, "sinkId is ''"),
    ({**ONCE, "sinkBatch": "1"}, "a sinkId, which is missing"),
    ({**ONCE, "sinkId": "s", "sinkBatch": "one"}, "sinkBatch is 'one', expected a number"),
    ({**ONCE, "decisionTopic": "a b"}, "decisionTopic is 'a b', expected a name of a topic"),
    ({**ONCE, "kafka__transaction__timeout__ms": "0"}, "kafka.transaction.timeout.ms is '0', expected milliseconds"),
    ({**ONCE, "kafka__acks": "1"}, "transactional_id needs kafka.acks=all"),
    ({"kafka__transactional__id": "x"}, "set deliveryGuarantee=exactly-once, and transactionalIdPrefix"),
]


@pytest.mark.parametrize(("options", "problem"), REFUSED, ids=lambda value: str(value)[:60])
def test_options_that_do_not_fit_are_refused(options: dict[str, str], problem: str) -> None:
    with pytest.raises(SourceOptionError) as refused:
        parse(options)
    assert problem in str(refused.value)


def test_a_stream_numbers_its_own_batches() -> None:
    with pytest.raises(SourceOptionError, match="sinkBatch: a stream has its own"):
        parse({**ONCE, "sinkId": "s", "sinkBatch": "1"}, is_stream=True)


def test_ids_of_tasks_belong_to_exactly_one_sink() -> None:
    one, other = SinkNames("kafkawire", "a"), SinkNames("kafkawire", "a.b")
    assert other.run_of(other.of_task("r", 1, 0)) == "r"
    assert one.run_of(other.of_task("r", 1, 0)) is None
    assert one.run_of(one.of_driver) is None
    assert one.run_of("kafkawire.a.r.1.x") is None


def digest(*batches: pa.RecordBatch) -> tuple[int, int]:
    found = RowDigest()
    for batch in batches:
        found.add(batch)
    return found.rows, found.value


HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
ROWS = pa.record_batch(
    {
        "key": pa.array(["a", None, "", "dd"], pa.string()),
        "value": pa.array([b"1", b"22", None, b"333"], pa.binary()),
        "partition": pa.array([None, 0, 1, 2], pa.int32()),
        "headers": pa.array([None, [], [{"key": "h", "value": b"x"}], [{"key": "i", "value": None}] * 2], HEADERS),
    }
)


@pytest.mark.parametrize("cut", range(5))
def test_a_digest_does_not_depend_on_batches(cut: int) -> None:
    assert digest(ROWS.slice(0, cut), ROWS.slice(cut)) == digest(ROWS)
    assert digest(ROWS.slice(0, cut).take(pa.array(range(cut), pa.int64())), ROWS.slice(cut)) == digest(ROWS)


@pytest.mark.parametrize("name", ROWS.schema.names)
def test_a_digest_depends_on_every_value_and_null(name: str) -> None:
    index = ROWS.schema.get_field_index(name)
    column = ROWS.column(name)
    seen = {digest(ROWS)}
    for row in range(ROWS.num_rows):
        values = column.to_pylist()
        values[row] = values[row - 1]
        changed = ROWS.set_column(index, ROWS.schema.field(index), pa.array(values, column.type))
        if not changed.equals(ROWS):
            seen.add(digest(changed))
    assert len(seen) == 5, "two of the changes have one digest"


def test_a_digest_depends_on_where_values_end() -> None:
    def of(values: list[bytes]) -> tuple[int, int]:
        return digest(pa.record_batch({"value": pa.array(values, pa.binary())}))

    assert len({of([b"ab", b"c"]), of([b"a", b"bc"]), of([b"abc", b""]), of([b"c", b"ab"])}) == 4
