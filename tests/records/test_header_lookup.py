"""Headers of a record by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkawire.client import ConsumerRecord
from kafkawire.records import BatchBuilder, Record, read_batches

pytestmark = pytest.mark.twin

Make = Callable[[tuple[tuple[str, bytes | None], ...]], Record | ConsumerRecord]
HEADERS = (("trace", b"1"), ("empty", None), ("trace", b"2"), ("", b"unnamed"), ("Trace", b"3"))


def placed(headers: tuple[tuple[str, bytes | None], ...]) -> ConsumerRecord:
    return ConsumerRecord("orders", 0, 7, 0, 0, None, b"v", headers)


def plain(headers: tuple[tuple[str, bytes | None], ...]) -> Record:
    return Record(7, 0, None, b"v", headers)


@pytest.mark.parametrize("make", [plain, placed])
@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("trace", b"1", b"2"),
        ("Trace", b"3", b"3"),
        ("", b"unnamed", b"unnamed"),
        ("empty", None, None),
        ("missing", b"default", b"default"),
    ],
)
def test_the_first_and_the_last_header_of_a_name(
    make: Make, name: str, first: bytes | None, last: bytes | None
) -> None:
    record = make(HEADERS)
    assert record.header(name, b"default") == first
    assert record.last_header(name, b"default") == last


@pytest.mark.parametrize("make", [plain, placed])
def test_without_a_default_a_missing_header_is_none(make: Make) -> None:
    record = make(())
    assert record.header("trace") is None
    assert record.last_header("trace") is None


def test_a_decoded_record_has_its_headers_by_name() -> None:
    builder = BatchBuilder()
    builder.append(None, b"v", headers=HEADERS)
    (batch,) = read_batches(builder.build())
    (record,) = batch.records()
    assert (record.header("trace"), record.last_header("trace")) == (b"1", b"2")
