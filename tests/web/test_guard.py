"""Attacks on the page: foreign hosts and sites, no token, paths outside, bodies without end."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING

import pytest
from tests.web.page_client import RunningPage

from kafkawire.exceptions import KafkaWireError
from kafkawire.web import PageServer, Workspace
from kafkawire.web._server.guard import HEADERS, TICKET_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1.evil.example:1", ""])
def test_a_name_that_was_rebound_to_this_address_is_refused(page: RunningPage, host: str) -> None:
    for path in ("/", "/api/about", "/static/app/main.js"):
        assert page.ask("GET", path, {**page.token, "host": host})[0] in (400, 421)


def test_two_hosts_are_refused(page: RunningPage) -> None:
    with socket.create_connection(("127.0.0.1", page.server.port), 10) as made:
        made.sendall(f"GET / HTTP/1.1\r\nHost: {page.host}\r\nHost: evil.example\r\n\r\n".encode())
        assert made.recv(64).split(b" ")[1] in (b"400", b"421")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
def test_a_foreign_origin_is_refused_even_with_the_token(page: RunningPage, origin: str) -> None:
    headers = {**page.token, **JSON, "origin": origin}
    assert page.ask("POST", "/api/bytes", headers, b'{"text":"00"}')[0] == 403


def test_our_own_origin_passes(page: RunningPage) -> None:
    headers = {**page.token, "origin": f"http://{page.host}"}
    assert page.ask("GET", "/api/about", headers)[0] == 200


def test_a_request_that_another_site_started_is_refused(page: RunningPage) -> None:
    assert page.ask("GET", "/api/about", {**page.token, "sec-fetch-site": "cross-site"})[0] == 403


def test_a_target_with_a_host_or_in_another_spelling_is_not_served_without_the_token(page: RunningPage) -> None:
    for target in (
        f"http://{page.host}/api/about",
        "http://evil.example/api/about",
        "//api/about",
        "/api//about",
        "/%61pi/about",
        "/api%2fabout",
        "/./api/about",
        "/static/../api/about",
        "/api;x/about",
    ):
        assert page.ask("GET", target)[0] in (401, 404), target


@pytest.mark.parametrize(
    "host", ["localhost.:{}", "127.1:{}", "0.0.0.0:{}", "localhost:{}@evil", "[::ffff:127.0.0.1]:{}"]
)
def test_another_spelling_of_the_host_is_refused(page: RunningPage, host: str) -> None:
    assert page.ask("GET", "/", {"host": host.format(page.server.port)})[0] == 421


@pytest.mark.parametrize("host", ["LOCALHOST:{}", "[::1]:{}"])
def test_the_host_is_compared_without_case_and_in_brackets(page: RunningPage, host: str) -> None:
    assert page.ask("GET", "/api/about", {**page.token, "host": host.format(page.server.port)})[0] == 200


def test_an_upgrade_is_an_ordinary_request(page: RunningPage) -> None:
    upgrade = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13", "sec-websocket-key": "x"}
    assert page.ask("GET", "/api/about", upgrade)[0] == 401
    assert page.ask("GET", "/api/about", {**page.token, **upgrade})[0] == 200


def test_a_second_request_hidden_in_a_body_passes_the_guard_too(page: RunningPage) -> None:
    head = f"POST /api/bytes HTTP/1.1\r\nhost: {page.host}\r\nauthorization: Bearer {page.server.token}\r\n"
    hidden = "GET /api/about HTTP/1.1\r\nhost: evil.example\r\n\r\n"
    lengths = "content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
    sent = f"{head}content-type: application/json\r\n{lengths}{hidden}"
    with socket.create_connection(("127.0.0.1", page.server.port), 10) as made:
        made.settimeout(10)
        made.sendall(sent.encode())
        found = b""
        while b"421" not in found and b"HTTP/1.1 400" not in found:
            part = made.recv(65536)
            if not part:
                break
            found += part
    assert b'"version"' not in found


def test_slow_heads_hold_up_nobody(page: RunningPage) -> None:
    slow = [socket.create_connection(("127.0.0.1", page.server.port), 10) for _ in range(200)]
    for each in slow:
        each.sendall(b"GET / HT")
    assert page.ask("GET", "/")[0] == 200
    for each in slow:
        each.close()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer "},
        {"authorization": "Bearer wrong"},
        {"cookie": "token=x"},
        {"authorization": "Basic {token}"},
        {"authorization": "Bearer {token}x"},
    ],
)
def test_nothing_below_api_is_answered_without_the_token(page: RunningPage, given: dict[str, str]) -> None:
    headers = {name: value.replace("{token}", page.server.token) for name, value in given.items()}
    for path in ("/api/about", "/api/protocol", "/api", "/api/nothing", "/api/tab"):
        status, _, body = page.ask("GET", path, headers)
        assert status == 401
        assert "sources" not in json.loads(body)


def test_the_token_in_the_query_is_no_token(page: RunningPage) -> None:
    assert page.ask("GET", f"/api/about?token={page.server.token}")[0] == 401


def test_the_token_of_an_earlier_start_is_refused(page: RunningPage) -> None:
    with RunningPage() as earlier:
        token = earlier.token
    assert page.ask("GET", "/api/about", token)[0] == 401


def test_the_page_itself_has_no_data_and_no_token(page: RunningPage) -> None:
    status, _, body = page.ask("GET", "/")
    assert status == 200
    assert page.server.token.encode() not in body


@pytest.mark.parametrize(
    "path",
    [
        "/static/../pyproject.toml",
        "/static/..%2f_server/app.py",
        "/static/%2e%2e/%2e%2e/__init__.py",
        "/static/..\\_server\\app.py",
        "/static//etc/passwd",
        "/_server/app.py",
        "/static/",
        "//etc/passwd",
    ],
)
def test_no_path_leads_outside_of_the_static_files(page: RunningPage, path: str) -> None:
    status, _, body = page.ask("GET", path)
    assert status in (400, 404)
    assert b"import" not in body


@pytest.mark.parametrize(
    "path", ["/", "/style.css", "/static/app/main.js", "/api/about", "/nothing", "/api/bytes/x/rows"]
)
def test_every_answer_has_the_policy(page: RunningPage, path: str) -> None:
    for headers in (page.token, {}, {"host": "evil.example"}):
        _, found, _ = page.ask("GET", path, headers)
        assert {name: found.get(name) for name in HEADERS} == HEADERS
        assert "set-cookie" not in found
        assert "access-control-allow-origin" not in found


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(page: RunningPage, method: str) -> None:
    assert page.ask(method, "/api/about", page.token)[0] == 405


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data", ""])
def test_a_body_that_a_form_could_send_is_refused(page: RunningPage, kind: str) -> None:
    assert page.ask("POST", "/api/bytes", {**page.token, "content-type": kind}, b'{"text":"00"}')[0] == 415


def test_a_compressed_body_is_refused(page: RunningPage) -> None:
    headers = {**page.token, **JSON, "content-encoding": "gzip"}
    assert page.ask("POST", "/api/bytes", headers, b"\x1f\x8b")[0] == 415


def test_a_body_that_claims_to_be_huge_is_refused_before_it_arrives(page: RunningPage) -> None:
    for length in (b"99999999999999999999999", b"1000000000000", b"-1", b"1e3"):
        head = f"POST /api/bytes HTTP/1.1\r\nHost: {page.host}\r\nAuthorization: Bearer {page.server.token}\r\n"
        with socket.create_connection(("127.0.0.1", page.server.port), 10) as made:
            made.sendall(head.encode() + b"Content-Type: application/json\r\nContent-Length: " + length + b"\r\n\r\n")
            assert made.recv(64).split(b" ")[1] in (b"400", b"413")


def test_a_body_without_a_length_is_cut_off_at_its_limit() -> None:
    with RunningPage() as page:
        page.server.guard._largest["/api/uploads"] = 100_000
        head = (
            f"POST /api/uploads HTTP/1.1\r\nHost: {page.host}\r\nAuthorization: Bearer {page.server.token}\r\n"
            "Content-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", page.server.port), 10) as made:
            made.sendall(head.encode())
            for _ in range(4):
                made.sendall(b"8000\r\n" + bytes(0x8000) + b"\r\n")
            assert made.recv(64).split(b" ")[1] == b"413"
        folder = page.workspace._folder
        assert folder is not None
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize("body", [b"", b"[", b"[]", b"null", b'{"text":5}', b"[" * 100_000, b'{"version":"x"}'])
def test_a_body_that_is_not_what_it_should_be_is_an_error_of_the_client(page: RunningPage, body: bytes) -> None:
    status, _, answer = page.ask("POST", "/api/bytes", {**page.token, **JSON}, body)
    assert status in (400, 422)
    assert json.loads(answer)["error"]


def test_an_upload_cannot_choose_its_place(page: RunningPage, tmp_path: Path) -> None:
    headers = {**page.token, "content-type": "application/octet-stream", "x-file-name": "..%2F..%2F" + "evil.sh;rm"}
    status, _, answer = page.ask("POST", "/api/uploads", headers, b"\x00\x01")
    assert status == 200
    kept = page.workspace.upload(json.loads(answer)["upload"])
    assert page.workspace._folder is not None
    assert kept.path.parent == page.workspace._folder
    assert kept.path.stat().st_mode & 0o777 <= 0o666
    assert page.workspace._folder.stat().st_mode & 0o077 == 0


def test_uploads_end_with_the_page() -> None:
    with RunningPage() as page:
        page.ask("POST", "/api/uploads", {**page.token, "content-type": "application/octet-stream"}, b"\x00")
        folder = page.workspace._folder
        assert folder is not None
        assert folder.exists()
    assert not folder.exists()


def test_a_ticket_is_valid_once_and_only_for_its_path(page: RunningPage) -> None:
    path = page.server.guard.ticket("/api/about")
    assert page.ask("GET", path)[0] == 200
    assert page.ask("GET", path)[0] == 401
    assert page.ask("POST", page.server.guard.ticket("/api/bytes"), JSON, b"{}")[0] == 401
    late = page.server.guard.ticket("/api/about")
    now = page.server.guard.clock()
    page.server.guard.clock = lambda: now + TICKET_SECONDS + 1
    assert page.ask("GET", late)[0] == 401


def test_another_address_needs_a_certificate_or_the_word_insecure() -> None:
    with pytest.raises(KafkaWireError, match="--insecure"):
        PageServer(Workspace(), host="0.0.0.0")
    with RunningPage(host="0.0.0.0", insecure=True) as page:
        assert page.ask("GET", "/api/about", page.token)[0] == 200


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(KafkaWireError, match=f"127.0.0.1:{taken.getsockname()[1]}"):
            PageServer(Workspace(), port=taken.getsockname()[1])


def test_it_listens_on_loopback_only(page: RunningPage) -> None:
    assert {each.getsockname()[0] for each in page.server._sockets} <= {"127.0.0.1", "::1"}


def test_the_address_for_the_browser_is_in_a_private_file(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: not opened.append(address))  # type: ignore[func-returns-value]
    server = PageServer(Workspace())
    try:
        assert server.open_browser()
        assert server.token not in opened[0]
        assert server._redirect is not None
        assert server._redirect.stat().st_mode & 0o077 == 0
        assert server.token in server._redirect.read_text()
    finally:
        server.close()
    assert not server._redirect.exists()


def test_the_server_ends_with_the_last_tab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkawire.web._server.running.LEFT_SECONDS", 0.05)
    server = PageServer(Workspace(), until_closed=True)

    async def visit() -> None:
        serving = asyncio.ensure_future(server.serve())
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = f"GET /api/tab HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n\r\n"
        writer.write(head.encode())
        assert b"200 OK" in await reader.read(200)
        assert not serving.done()
        writer.close()
        await asyncio.wait_for(serving, 30)

    asyncio.run(visit())
