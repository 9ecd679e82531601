"""The bytes view in a browser: links both ways, the keyboard, faults, differences, hostile names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from kafkawire.messages import MetadataRequest
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from tests.browser.conftest import Visitor

Topic = MetadataRequest.MetadataRequestTopic


def metadata(*names: str) -> str:
    request = MetadataRequest(topics=[Topic(name=name) for name in names])
    return bytes(encode_request(request, version=8, correlation_id=1, client_id="c")).hex()


def lit(tab: Page, name: str) -> str:
    """The text that a highlight covers in the column of hex."""
    return str(tab.evaluate("name => [...CSS.highlights.get(name) ?? []].map(String)[0] ?? ''", name)).strip()


def test_pasted_bytes_are_explained(visitor: Visitor) -> None:
    tab = visitor.go("/")
    tab.get_by_label("Bytes", exact=True).fill("0000000c 0012 0000 00000001 0002 6d65")
    tab.keyboard.press("Control+Enter")
    expect(tab.get_by_role("heading", name="ApiVersionsRequest v0")).to_be_visible()
    expect(tab.get_by_role("treeitem").filter(has_text="client_id")).to_contain_text('"me"')
    expect(tab.get_by_text("no faults")).to_be_visible()


def test_the_token_leaves_the_address(visitor: Visitor) -> None:
    tab = visitor.go("/")
    expect(tab.get_by_role("heading", name="What is in these bytes?")).to_be_visible()
    assert visitor.running.server.token not in tab.url
    tab.reload()
    expect(tab.get_by_role("heading", name="What is in these bytes?")).to_be_visible()


def test_without_a_token_the_page_says_so(visitor: Visitor) -> None:
    tab = visitor.tab
    tab.goto(f"http://{visitor.running.host}/")
    expect(tab.get_by_role("heading", name="This page has no access")).to_be_visible()
    visitor.complaints.clear()  # the browser itself notes the refused request


def test_the_cursor_in_the_tree_lights_the_bytes(visitor: Visitor) -> None:
    tab = visitor.go(f"/bytes?hex={metadata('orders')}")
    tab.get_by_role("treeitem").filter(has_text="correlation_id").click()
    assert lit(tab, "main-picked") == "00 00 00 01"
    tab.keyboard.press("ArrowDown")
    assert lit(tab, "main-picked") == "00 01 63"
    assert "node=header.client_id" in tab.url


def test_hovering_lights_the_other_side(visitor: Visitor) -> None:
    tab = visitor.go(f"/bytes?hex={metadata('orders')}")
    tab.get_by_role("treeitem").filter(has_text="correlation_id").hover()
    assert lit(tab, "main-lit") == "00 00 00 01"
    box = tab.locator(".hexes").bounding_box()
    assert box is not None
    tab.mouse.move(box["x"] + 9 * 3 * box["width"] / 47, box["y"] + 10)  # the tenth byte
    expect(tab.locator(".row.lit")).to_contain_text("correlation_id")


def test_a_click_on_a_byte_opens_its_field(visitor: Visitor) -> None:
    tab = visitor.go(f"/bytes?hex={metadata('orders')}")
    box = tab.locator(".texts").bounding_box()
    assert box is not None
    hexes = metadata("orders")
    offset = bytes.fromhex(hexes).index(b"orders") + 2
    tab.mouse.click(box["x"] + (offset % 16 + 0.5) * box["width"] / 16, box["y"] + (offset // 16) * 20 + 10)
    expect(tab.get_by_role("treeitem", selected=True)).to_contain_text('"orders"')


def test_keys_walk_through_fields_and_back(visitor: Visitor) -> None:
    tab = visitor.go(f"/bytes?hex={metadata('orders')}")
    tab.get_by_role("treeitem").filter(has_text="body").first.click()
    tab.keyboard.press("ArrowLeft")
    expect(tab.get_by_role("treeitem").filter(has_text="topics")).to_have_count(0)
    tab.keyboard.press("ArrowRight")
    expect(tab.get_by_role("treeitem").filter(has_text="topics")).not_to_have_count(0)
    tab.get_by_role("treeitem").filter(has_text="request_api_key").click()
    tab.keyboard.press("]")
    expect(tab.get_by_role("treeitem", selected=True)).to_contain_text("request_api_version")
    tab.keyboard.press("?")
    expect(tab.get_by_role("dialog", name="Keys")).to_be_visible()
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("dialog")).to_have_count(0)


def test_a_fault_is_marked_and_n_goes_there(visitor: Visitor) -> None:
    damaged = metadata("orders").replace("0006" + b"orders".hex(), "0070" + b"orders".hex())
    tab = visitor.go(f"/bytes?hex={damaged}")
    expect(tab.get_by_role("button", name="1 fault")).to_be_visible()
    tab.get_by_role("button", name="1 fault").click()
    expect(tab.get_by_role("treeitem", selected=True)).to_contain_text("name")
    expect(tab.get_by_role("treeitem").filter(has_text="expected")).to_be_visible()
    expect(tab.get_by_text("if body.topics[0].name had a length of 6")).to_be_visible()


def test_another_version_of_the_same_bytes(visitor: Visitor) -> None:
    tab = visitor.go(f"/bytes?hex={metadata('orders')}")
    tab.get_by_label("Version", exact=True).select_option("v3")
    expect(tab.get_by_role("heading", name="MetadataRequest v3")).to_be_visible()
    assert "version=3" in tab.url
    tab.go_back()
    expect(tab.get_by_role("heading", name="MetadataRequest v8")).to_be_visible()


def test_two_frames_are_compared_by_field(visitor: Visitor) -> None:
    tab = visitor.go(f"/bytes?hex={metadata('orders', 'same')}")
    tab.get_by_role("button", name="Compare…").click()
    tab.get_by_label("Hex of the other frame").fill(metadata("payments", "same"))
    tab.get_by_role("button", name="Compare", exact=True).click()
    expect(tab.get_by_role("heading", name="1 difference")).to_be_visible()
    expect(tab.get_by_role("option")).to_contain_text("body.topics[0].name")
    expect(tab.get_by_role("option")).to_contain_text('"payments"')


def test_hostile_names_stay_text(visitor: Visitor) -> None:
    names = ("<img src=x onerror=alert(1)>", "\u202egnol", "a\x00b", "<script>alert(1)</script>", "x" * 30_000)
    tab = visitor.go("/")
    tab.get_by_label("Bytes", exact=True).fill(metadata(*names))
    tab.get_by_role("button", name="Explain").click()
    expect(tab.get_by_role("treeitem").filter(has_text="<img src=x onerror=alert(1)>")).to_be_visible()
    assert tab.locator("main img, main script").count() == 0


def test_no_serious_finding_of_axe(visitor: Visitor, axe: str) -> None:
    for view in (
        "/",
        f"/bytes?hex={metadata('orders')}",
        "/protocol",
        f"/diff?a_hex={metadata('a')}&b_hex={metadata('b')}",
    ):
        for scheme in ("light", "dark"):
            visitor.tab.emulate_media(color_scheme=scheme)
            tab = visitor.go(view)
            expect(tab.locator("h1, h2").first).to_be_visible()
            found = serious(tab, axe)
            assert found == [], (view, scheme)


def serious(tab: Page, axe: str) -> list[str]:
    """The serious findings of axe-core, which runs outside of the policy of the page."""
    session = tab.context.new_cdp_session(tab)
    session.send("Runtime.evaluate", {"expression": axe})
    asked = {"expression": "axe.run().then(found => JSON.stringify(found.violations))", "awaitPromise": True}
    import json

    violations = json.loads(session.send("Runtime.evaluate", asked)["result"]["value"])
    session.detach()
    return [
        f"{each['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for each in violations
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def test_g_goes_to_a_byte(visitor: Visitor) -> None:
    tab = visitor.go(f"/bytes?hex={metadata('orders')}")
    tab.get_by_role("treeitem").first.click()
    tab.keyboard.press("g")
    tab.get_by_label("Offset of a byte").fill("0x8")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("treeitem", selected=True)).to_contain_text("correlation_id")
    tab.keyboard.press("g")
    tab.get_by_label("Offset of a byte").fill("9999")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("alert")).to_contain_text("There is no such byte")


def test_a_field_is_changed_and_the_message_encoded_again(visitor: Visitor) -> None:
    tab = visitor.go(f"/bytes?hex={metadata('orders')}")
    tab.get_by_role("treeitem").filter(has_text='"orders"').click()
    tab.get_by_role("button", name="edit").click()
    tab.get_by_role("textbox", name="string").fill("payments-of-today")
    tab.get_by_role("button", name="Change", exact=True).click()
    expect(tab.get_by_role("treeitem", selected=True)).to_contain_text('"payments-of-today"')
    expect(tab.get_by_text("no faults")).to_be_visible()
    assert metadata("payments-of-today") in tab.url


def test_every_message_has_a_sample_to_open(visitor: Visitor) -> None:
    tab = visitor.go("/protocol/FetchResponse")
    tab.get_by_role("button", name="Show a sample").click()
    expect(tab.get_by_role("heading", name="FetchResponse v18")).to_be_visible()
    expect(tab.get_by_text("no faults")).to_be_visible()
