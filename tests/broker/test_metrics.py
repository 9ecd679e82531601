"""The metrics page: what is counted, and how it is written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.broker.raw_connection import Peer

from kafkawire.broker._config.settings import keys
from kafkawire.broker._coordinator import Gauge
from kafkawire.broker._metrics import page as metrics_page
from kafkawire.broker._metrics.counters import Metrics, error_paths, errors_at
from kafkawire.broker._metrics.http import gauges
from kafkawire.broker._metrics.page import GaugeLines
from kafkawire.messages import FetchRequest, FetchResponse, MetadataRequest

if TYPE_CHECKING:
    from kafkawire.testing import RunningBroker

LINE = re.compile(r'(# (HELP|TYPE) .+|[a-z_]+(\{([a-z_]+="[^"]*",?)+\})? [-+.e0-9]+)')


def test_requests_errors_and_logs_are_on_the_page(kafka_broker: RunningBroker, kafka_topic: str) -> None:
    asked = FetchRequest.FetchPartition(fetch_offset=99)
    with Peer(kafka_broker) as peer:
        peer.call(MetadataRequest(topics=[]))
        peer.call(FetchRequest(topics=[FetchRequest.FetchTopic(topic=kafka_topic, partitions=[asked])]), 11)
        page = kafka_broker.call(
            lambda: metrics_page.page(kafka_broker.broker.metrics, GaugeLines(gauges(kafka_broker.broker)))
        )
    lines = page.splitlines()
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    for expected in (
        'kafkawire_requests_total{api="Metadata"} 1',
        'kafkawire_errors_total{api="Fetch",error="OFFSET_OUT_OF_RANGE"} 1',
        'kafkawire_request_seconds_count{api="Fetch"} 1',
        'kafkawire_client_requests_total{client_id="peer"} 2',
        "kafkawire_connections 1",
        f'kafkawire_log_end_offset{{topic="{kafka_topic}",partition="0"}} 0',
    ):
        assert expected in lines


def test_labels_are_escaped() -> None:
    page = metrics_page.page(Metrics(), GaugeLines([Gauge("odd", {"name": 'a"b\\c\nd'}, 1)]))
    assert page.endswith('odd{name="a\\"b\\\\c\\nd"} 1\n')


def test_error_codes_are_found_at_every_depth() -> None:
    failed = FetchResponse.PartitionData(error_code=3)
    response = FetchResponse(
        error_code=70, responses=[FetchResponse.FetchableTopicResponse(partitions=[failed, failed])]
    )
    assert errors_at(error_paths(response.__shape__), response) == [70, 3, 3]


def test_large_numbers_are_written_to_the_last_digit() -> None:
    page = metrics_page.page(Metrics(), GaugeLines([Gauge("kafkawire_log_end_offset", {"topic": "t"}, 12_345_678_901)]))
    assert 'kafkawire_log_end_offset{topic="t"} 12345678901\n' in page


def test_the_page_of_defaults_says_what_the_table_of_settings_says() -> None:
    text = (Path(__file__).parents[2] / "docs" / "broker.md").read_text()
    rows = re.findall(r"^\| `([a-z.]+)` \| [^|]* \| `([^`]*)` \|", text, re.MULTILINE)
    settings = keys("broker")
    assert len(rows) >= 10
    assert dict(rows) == {name: settings[name].default or "" for name, _ in rows}
