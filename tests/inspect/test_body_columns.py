"""The columns of bodies that are read without objects equal those of the reference, `body_columns`."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.inspect.captures import Conversation, merge, write_pcap
from tests.inspect.cluster_traffic import cluster_traffic, impaired
from tests.inspect.incidents import INCIDENTS
from tests.inspect.sample_messages import batch, fetch, fetched
from tests.messages.samples import random_message

from kafkawire.inspect import TopicNames, read_captures
from kafkawire.inspect._tables import bodies, exchange_columns, partition_columns, partition_rows, read
from kafkawire.inspect._tables import body_programs as programs
from kafkawire.inspect._tables.body_programs import exchange_program
from kafkawire.inspect._tables.exchange_columns import ExchangeColumns, Repeats
from kafkawire.messages import (
    Api,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
    apis,
    message_class,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inspect.captures import Packet

    from kafkawire.messages import Message

pytestmark = pytest.mark.twin
TABLES = ("connections", "exchanges", "gaps")


def both_forms_agree(path: Path, packets: list[Packet]) -> None:
    path.write_bytes(write_pcap(packets, nanoseconds=True))
    everything, columns = read_captures([path]).tables, read_captures([path], partitions=False).tables
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange_columns, "_native", bodies)
        patch.setattr(partition_rows, "_native", partition_columns)
        patch.setattr(Repeats, "find", lambda *_: None)
        objects = read_captures([path]).tables
    assert set(columns) == set(TABLES)
    for name, reference in objects.items():
        for table in (everything, columns):
            if table is everything or name in TABLES:
                assert table[name].schema == reference.schema
                assert table[name].to_pylist() == reference.to_pylist()


@pytest.mark.parametrize("name", INCIDENTS)
def test_incidents_have_the_same_columns(name: str, tmp_path: Path) -> None:
    for talks in (INCIDENTS[name].shows(), INCIDENTS[name].nearly()):
        both_forms_agree(tmp_path / "x.pcap", merge(talks))


@pytest.mark.parametrize("which", apis(), ids=lambda which: which.name)
def test_random_exchanges_of_every_version_have_the_same_columns(which: Api, tmp_path: Path) -> None:
    dice = Random(which.key)
    talk = Conversation(segment=700).open()
    for version in which.versions:
        for tags in (False, False, True):
            request = random_message(message_class(f"{which.name}Request"), version, dice, unknown_tags=tags)
            response = random_message(message_class(f"{which.name}Response"), version, dice, unknown_tags=tags)
            talk.exchange(request, response, version)
    both_forms_agree(tmp_path / "x.pcap", talk.packets)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_bodies_have_the_same_columns(seed: int, tmp_path: Path) -> None:
    dice = Random(seed)
    packets = list(cluster_traffic(8, 40, payload=60, seed=seed).packets)
    for at, packet in enumerate(packets):
        if len(packet.payload) > 20 and dice.random() < 0.3:
            body = bytearray(packet.payload)
            body[dice.randrange(12, len(body))] ^= 1 << dice.randrange(8)
            packets[at] = replace(packet, payload=bytes(body))
    both_forms_agree(tmp_path / "x.pcap", packets)


def test_captures_with_gaps_have_the_same_columns(tmp_path: Path) -> None:
    both_forms_agree(tmp_path / "x.pcap", impaired(cluster_traffic(12, 30, payload=3_000), lost=25).packets)


def test_fetch_sessions_have_the_same_columns(tmp_path: Path) -> None:
    talk = Conversation().open()
    for session, epoch, partitions in (
        (0, 0, ((0, 5), (1, 6))),
        (7, 1, ()),
        (7, 2, ((2, 0),)),
        (7, -1, ((0, 5),)),
        (0, -1, ((0, 5),)),
        (0, -1, ((0, 5), (0, 6), (1, 7))),
        (0, -1, ()),
        (9, 4, ((0, 1),)),
    ):
        talk.exchange(fetch(session, epoch, *partitions), fetched(7 if epoch >= 0 else 0, (0, 9, b"")), 11)
    both_forms_agree(tmp_path / "x.pcap", talk.packets)


def test_most_apis_have_a_program() -> None:
    having = {which.name for which in apis() if exchange_program(which.key, which.versions.last) is not None}
    assert {"Produce", "Fetch", "Metadata", "Heartbeat", "OffsetCommit", "ListOffsets", "JoinGroup"} <= having
    assert len(having) > 60


def test_the_compiled_form_leaves_few_exchanges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not exchange_columns._native.__name__.endswith("._bodies"):
        pytest.skip("the compiled form is not built")
    left: list[int] = []
    read = ExchangeColumns.read

    def counted(self: ExchangeColumns, talk: object) -> object:
        found = read(self, talk)  # type: ignore[arg-type]
        left.extend(found[0])
        return found

    monkeypatch.setattr(ExchangeColumns, "read", counted)
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(cluster_traffic(8, 40, payload=60).packets))
    assert len(read_captures([path], partitions=False).tables["exchanges"]) == 320
    assert left == []


def test_operations_have_the_numbers_of_the_compiled_form() -> None:
    names = ("FIXED", "INTEGER", "TEXT", "KEPT_TEXT", "BYTES", "ARRAY", "STRUCT", "ERROR", "TAGS", "LISTED")
    assert [getattr(programs, name) for name in names] == list(range(len(names)))


def test_repeated_exchanges_have_the_same_rows(tmp_path: Path) -> None:
    talk = Conversation().open()
    topic = MetadataResponse.MetadataResponseTopic(
        name="orders", partitions=[MetadataResponse.MetadataResponsePartition(partition_index=at) for at in range(3)]
    )
    for version in (8, 8, 9, 8):
        talk.exchange(MetadataRequest(topics=None), MetadataResponse(topics=[topic]), version)
    talk.exchange(HeartbeatRequest(group_id="g"), HeartbeatResponse(error_code=27), 3)
    talk.exchange(HeartbeatRequest(group_id="g"), HeartbeatResponse(error_code=27), 3)
    both_forms_agree(tmp_path / "x.pcap", talk.packets)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(exchange_columns, "MOST", 2)
    monkeypatch.setattr(exchange_columns, "LARGEST", 120)
    test_repeated_exchanges_have_the_same_rows(tmp_path)


def _fetched_partitions(numbers: list[int], version: int = 11) -> tuple[Message, Message, int]:
    asked = [FetchRequest.FetchPartition(partition=number, fetch_offset=number * 10) for number in numbers]
    given = [
        FetchResponse.PartitionData(partition_index=number, high_watermark=number, records=batch(b"x" * number))
        for number in reversed(numbers)
    ]
    request = FetchRequest(topics=[FetchRequest.FetchTopic(topic="orders", partitions=asked)])
    answer = FetchResponse.FetchableTopicResponse(topic="orders", partitions=given)
    return request, FetchResponse(responses=[answer]), version


@pytest.mark.parametrize(
    "numbers", [[], [3, 1, 2], [1, 2, 1], [-1, 0], list(range(1, 40)) * 2, list(range(1500))], ids=len
)
def test_partitions_in_any_number_and_order_have_the_same_rows(numbers: list[int], tmp_path: Path) -> None:
    talk = Conversation(segment=9_000).open().exchange(*_fetched_partitions([5, 6]))
    talk.exchange(*_fetched_partitions(numbers)).exchange(*_fetched_partitions([7], 4))
    both_forms_agree(tmp_path / "x.pcap", talk.packets)


def test_rows_are_the_same_if_exchanges_are_read_in_short_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "_RUN_BYTES", 300)
    monkeypatch.setattr(partition_rows, "RUN", 7)
    talks = [INCIDENTS[name].shows() for name in INCIDENTS]
    both_forms_agree(tmp_path / "x.pcap", merge([*talks[0], *talks[1], *talks[2]]))
    both_forms_agree(tmp_path / "y.pcap", list(cluster_traffic(8, 40, payload=60).packets))


@pytest.mark.skipif(partition_rows._native is partition_columns, reason="this form leaves every exchange")
def test_most_exchanges_with_partitions_are_read_without_objects(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(cluster_traffic(8, 40, payload=60).packets))
    talks = read_captures([path], bodies=False).conversations
    rows = partition_rows.PartitionRows(TopicNames())
    read_ones = [len(rows.read(talk, np.ones(len(talk), np.bool_), 0, len(talk))) for talk in talks]
    assert read_ones == [len(talk) for talk in talks]
