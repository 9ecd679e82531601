"""Captures and log directories in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.browser.test_bytes_view import serious
from tests.inspect.captures import merge, write_pcap
from tests.inspect.incidents import INCIDENTS
from tests.web.page_client import RunningPage

from kafkawire.testing import RunningBroker
from kafkawire.web import CaptureSource, LogSource, Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.browser.conftest import Visitor


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningPage]:
    capture = tmp_path / "incidents.pcap"
    capture.write_bytes(write_pcap(merge(INCIDENTS["hanging transaction"].shows()), nanoseconds=True))
    folder = tmp_path / "data"
    with RunningBroker(folder) as broker:
        broker.create_topic("orders")
        for number in range(20):
            broker.produce("orders", b"value %d" % number, key=b"<b>k</b>")
    workspace = Workspace()
    workspace.add_source(CaptureSource([capture]))
    workspace.add_source(LogSource([folder]))
    with RunningPage(workspace) as page:
        yield page


def test_a_finding_leads_to_the_exchange_and_to_its_bytes(visitor: Visitor) -> None:
    tab = visitor.go("/c1/findings")
    expect(tab.get_by_role("heading", name="finding", exact=False).first).to_be_visible()
    tab.locator(".evidence a").first.click()
    expect(tab.get_by_role("heading", name="2 frames")).to_be_visible()
    tab.keyboard.press("Escape")
    expect(tab.locator(".evidence a").first).to_be_visible()


def test_a_filter_is_applied_while_it_is_typed_and_kept_in_the_address(visitor: Visitor) -> None:
    tab = visitor.go("/c1/exchanges")
    expect(tab.get_by_role("row").nth(1)).to_be_visible()
    tab.keyboard.press("/")
    tab.keyboard.type("api = Fetch")
    expect(tab.get_by_role("status").filter(has_text=" of ")).to_be_visible()
    assert "api+%3D+Fetch" in tab.url
    tab.reload()
    expect(tab.get_by_label("Filter exchanges")).to_have_value("api = Fetch")
    tab.get_by_label("Filter exchanges").fill("nonsense = 1")
    expect(tab.get_by_role("alert")).to_contain_text("there is no field 'nonsense'")
    visitor.complaints.clear()  # the browser notes the refused request
    tab.get_by_label("Filter exchanges").fill("api = Nothing")
    tab.get_by_role("button", name="Show all").click()
    expect(tab.get_by_role("row").nth(1)).to_be_visible()


def test_the_timeline_can_be_brushed(visitor: Visitor) -> None:
    tab = visitor.go("/c1/exchanges")
    over = tab.locator(".timeline svg")
    expect(over).to_be_visible()
    box = over.bounding_box()
    assert box is not None
    tab.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 20)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 20, steps=4)
    tab.mouse.up()
    expect(tab.get_by_title("Show all times")).to_be_visible()
    assert "since=" in tab.url


def test_keys_choose_and_open_an_exchange(visitor: Visitor) -> None:
    tab = visitor.go("/c1/exchanges")
    expect(tab.get_by_role("row").nth(1)).to_be_visible()
    tab.keyboard.press("j")
    expect(tab.get_by_role("row", selected=True)).to_have_attribute("aria-rowindex", "3")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("tree")).to_be_visible()


def test_a_connection_filters_the_exchanges(visitor: Visitor) -> None:
    tab = visitor.go("/c1/conversations")
    expect(tab.get_by_role("row").nth(1)).to_be_visible()
    tab.keyboard.press("Enter")
    expect(tab.get_by_label("Filter exchanges")).to_have_value("connection = 0")


def test_a_partition_leads_to_batches_records_and_bytes(visitor: Visitor) -> None:
    tab = visitor.go("/d1")
    tab.get_by_role("link", name="orders-0").click()
    expect(tab.get_by_role("img", name="20 batches in 1 segments")).to_be_visible()
    expect(tab.get_by_role("grid", name="Records")).to_contain_text('b"<b>k</b>"')
    tab.get_by_role("link", name="Bytes of the batch").click()
    expect(tab.get_by_role("tree")).to_contain_text("base_offset")


def test_no_serious_finding_of_axe(visitor: Visitor, axe: str) -> None:
    for view in ("/c1/exchanges", "/c1/conversations", "/c1/findings", "/d1", "/d1/partition/orders/0"):
        for scheme in ("light", "dark"):
            visitor.tab.emulate_media(color_scheme=scheme)
            tab = visitor.go(view)
            expect(tab.locator(".tabs")).to_be_visible()
            expect(tab.locator(".row, article").first).to_be_visible()
            assert serious(tab, axe) == [], (view, scheme)


def test_a_partition_is_verified_and_measured(visitor: Visitor) -> None:
    tab = visitor.go("/d1/partition/orders/0")
    tab.get_by_role("link", name="Verify and measure").click()
    expect(tab.get_by_text("no fault found")).to_be_visible()
    expect(tab.get_by_role("heading", name="contents")).to_be_visible()
    expect(tab.get_by_role("heading", name="size with other codecs")).to_have_count(0)
    tab.get_by_role("button", name="With other codecs").click()
    expect(tab.get_by_role("heading", name="size with other codecs")).to_be_visible()


def test_g_goes_to_a_row_and_to_an_exchange(visitor: Visitor) -> None:
    tab = visitor.go("/c1/exchanges")
    expect(tab.get_by_role("row").nth(1)).to_be_visible()
    tab.get_by_role("grid").focus()
    for typed, row in (("3", "4"), ("0/1", None)):
        tab.keyboard.press("g")
        tab.get_by_label("Row, time").fill(typed)
        tab.keyboard.press("Enter")
        expect(tab.get_by_role("dialog")).to_have_count(0)
        if row:
            expect(tab.get_by_role("row", selected=True)).to_have_attribute("aria-rowindex", row)
        else:
            expect(tab.get_by_role("row", selected=True)).to_contain_text("0/1")


def test_the_selection_is_exported_as_packets(visitor: Visitor) -> None:
    tab = visitor.go("/c1/exchanges")
    expect(tab.get_by_role("row").nth(1)).to_be_visible()
    tab.get_by_role("button", name="Export").click()
    with tab.expect_download() as started:
        tab.get_by_role("menuitem", name="pcapng").click()
    assert started.value.suggested_filename == "exchanges.pcapng"
    assert started.value.path().read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
