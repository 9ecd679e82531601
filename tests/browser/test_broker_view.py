"""A live broker in a browser."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.browser.test_bytes_view import serious
from tests.web.page_client import RunningPage

from kafkawire.messages import MetadataRequest
from kafkawire.testing import RunningBroker
from kafkawire.web import BrokerSource, PageOptions, Workspace
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.browser.conftest import Visitor

LARGE = 2**53 + 1


@pytest.fixture
def broker() -> Iterator[RunningBroker]:
    with RunningBroker() as running:
        running.create_topic("orders")
        for number in range(30):
            value = json.dumps({"id": LARGE + number, "note": "<img src=x onerror=alert(1)>"}).encode()
            running.produce("orders", value, key=b"k%d" % number)
        yield running


@pytest.fixture
def running(broker: RunningBroker) -> Iterator[RunningPage]:
    workspace = Workspace(PageOptions(write=True))
    workspace.add_source(BrokerSource({"bootstrap_servers": broker.bootstrap_servers}))
    with RunningPage(workspace) as page:
        yield page


def test_a_search_leads_to_a_record_and_to_its_bytes(visitor: Visitor) -> None:
    tab = visitor.go("/b1/topics")
    tab.get_by_role("link", name="orders").click()
    expect(tab.get_by_role("grid", name="Messages")).to_contain_text("k29")
    tab.get_by_label("Search messages").fill(f"value.id = {LARGE + 4}")
    expect(tab.get_by_role("status").filter(has_text="1 match, 30 of 30 scanned")).to_be_visible()
    expect(tab.get_by_label("Value")).to_contain_text(f'"id": {LARGE + 4}')
    expect(tab.get_by_label("Value")).to_contain_text("<img src=x onerror=alert(1)>")
    tab.get_by_role("link", name="Bytes", exact=True).last.click()
    expect(tab.get_by_role("tree")).to_contain_text("base_offset")


def test_following_shows_new_messages(visitor: Visitor, broker: RunningBroker) -> None:
    tab = visitor.go("/b1/topic/orders?tail=1")
    expect(tab.get_by_text("Waiting for messages")).to_be_visible()
    broker.produce("orders", b"fresh")
    expect(tab.get_by_role("grid", name="Messages")).to_contain_text("fresh")


def test_a_record_is_produced_and_a_topic_deleted_by_its_name(visitor: Visitor, broker: RunningBroker) -> None:
    tab = visitor.go("/b1/topic/orders")
    tab.get_by_role("button", name="Produce…").click()
    tab.get_by_role("textbox", name="Value", exact=True).fill("typed here")
    tab.get_by_role("button", name="Send", exact=True).click()
    expect(tab.get_by_text("Written to orders-0 at offset 30")).to_be_visible()
    assert bytes(broker.records("orders")[-1].value or b"") == b"typed here"
    tab.get_by_role("button", name="Delete…").click()
    expect(tab.get_by_role("button", name="Delete", exact=True)).to_be_disabled()
    tab.get_by_label("Type orders to confirm").fill("orders")
    tab.get_by_role("button", name="Delete", exact=True).click()
    expect(tab.get_by_text("There are no topics")).to_be_visible()


def test_a_broker_that_goes_away_is_said_so(visitor: Visitor, broker: RunningBroker) -> None:
    tab = visitor.go("/b1/topics")
    expect(tab.get_by_role("link", name="orders")).to_be_visible()
    broker.stop()
    tab = visitor.go("/b1/groups")
    expect(tab.get_by_text("The broker does not answer")).to_be_visible(timeout=30_000)
    visitor.complaints.clear()  # the browser notes the failed request


def test_no_serious_finding_of_axe(visitor: Visitor, axe: str) -> None:
    views = ("/b1/topics", "/b1/topic/orders", "/b1/topic/orders?part=configs", "/b1/groups", "/b1/cluster", "/b1/sent")
    for view in views:
        for scheme in ("light", "dark"):
            visitor.tab.emulate_media(color_scheme=scheme)
            tab = visitor.go(view)
            expect(tab.locator(".row, .card, .empty h2").first).to_be_visible()
            assert serious(tab, axe) == [], (view, scheme)


def test_a_frame_is_sent_and_its_answer_shown(visitor: Visitor) -> None:
    request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="orders")])
    frame = bytes(encode_request(request, version=8, correlation_id=1, client_id="c")).hex()
    tab = visitor.go(f"/bytes?hex={frame}")
    tab.get_by_role("button", name="Send to").click()
    tab.get_by_role("menuitem").click()
    expect(tab.get_by_role("heading", name="2 frames")).to_be_visible()
    expect(tab.get_by_role("treeitem").filter(has_text="MetadataResponse v8").first).to_be_visible()


def test_g_goes_to_an_offset(visitor: Visitor) -> None:
    tab = visitor.go("/b1/topic/orders")
    expect(tab.get_by_role("grid", name="Messages")).to_contain_text("k29")
    tab.get_by_role("grid", name="Messages").focus()
    tab.keyboard.press("g")
    tab.get_by_label("Offset, or time").fill("17")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("row", selected=True)).to_contain_text("k17")
