"""Connections that were closed, and why.

Rules:
- One finding a connection, by the first cause that fits: the bytes are not Kafka's, the request is too large, the
  version is not served, authentication failed or lapsed, a produce without acks failed, it was idle, requests pend.
- A connection that a client closed with nothing pending is no incident; nor is one that it closed while it waited for
  data, within the time that its fetch allows. A client that leaves within a second of asking is worth knowing only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.inspect.diagnose.evidence import SECOND, grouped, when
from kafkawire.inspect.diagnose.findings import Finding, about, about_connection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect.diagnose.evidence import Evidence, Row
    from kafkawire.inspect.diagnose.findings import Level
    from kafkawire.inspect.diagnose.thresholds import Thresholds

_API_VERSIONS, _SASL_HANDSHAKE, _SASL_AUTHENTICATE = 18, 17, 36
_UNSUPPORTED_MECHANISM, _AUTHENTICATION_FAILED = 33, 58
_SOON_MS: Final = 10_000
_POLLS: Final = (1, 78)
_BALANCERS: Final = (240, 350)


def closed_connections(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Why each connection that ended badly did."""
    served = _served_versions(evidence)
    for number, connection in evidence.connections.items():
        rows = evidence.by_connection.get(number, [])
        finding = (
            _not_kafka(connection)
            or _oversized(connection, rows, limits)
            or _authentication(connection, rows)
            or _unserved(connection, rows, served)
            or _acks_zero(connection, rows)
            or _idle(connection, limits)
            or _pending(connection, rows, limits)
        )
        if finding is not None:
            yield finding
    yield from _turned_away(evidence, limits)


def _not_kafka(connection: Row) -> Finding | None:
    up, down = connection["start_c"] or b"", connection["start_s"] or b""
    tls_down = down[:2] in (b"\x15\x03", b"\x16\x03")
    if connection["kind"] == "http":
        text = f"the client speaks HTTP to a Kafka port: its first bytes are {up[:4]!r}"
        return about_connection("closed-not-kafka", "error", connection, text, "Point the HTTP client elsewhere.")
    if up[:2] == b"\x16\x03" and not tls_down:
        text = "the client begins TLS, and the broker does not answer in TLS"
        advice = "The listener is plaintext: set security.protocol=PLAINTEXT or SASL_PLAINTEXT, or use the TLS port."
        return about_connection("closed-not-kafka", "error", connection, text, advice)
    if connection["kind"] != "tls" and tls_down:
        text = "the client speaks plaintext, and the broker answers in TLS"
        advice = "The listener is TLS: set security.protocol=SSL or SASL_SSL, or use the plaintext port."
        return about_connection("closed-not-kafka", "error", connection, text, advice)
    return None


def _oversized(connection: Row, rows: list[Row], limits: Thresholds) -> Finding | None:
    declared = connection["tail_declared"]
    if connection["kind"] in ("tls", "http") or declared is None or connection["closed_by"] != "broker":
        return None
    if declared <= limits.request_limit:
        return None
    text = f"a request of {declared} bytes, more than socket.request.max.bytes ({limits.request_limit})"
    advice = "Lower max.request.size or the batch size; if no client sends so much, the stream is corrupt."
    shown = [{"conn_id": row["conn_id"], "seq": row["seq"]} for row in rows[-1:]]
    client = rows[-1]["client_id"] if rows else None
    return about_connection("closed-oversized", "error", connection, text, advice, evidence=shown, client_id=client)


def _authentication(connection: Row, rows: list[Row]) -> Finding | None:
    for row in rows:
        if row["api_key"] == _SASL_HANDSHAKE and row["error_code"] == _UNSUPPORTED_MECHANISM:
            text, advice = "the broker does not offer this SASL mechanism", "Use one that it lists: sasl.mechanism."
            return about("closed-authentication", "error", [row], text, advice)
        if row["api_key"] == _SASL_AUTHENTICATE and row["error_code"] == _AUTHENTICATION_FAILED:
            text, advice = "the broker refuses the credentials", "Check user, password and the mechanism's store."
            return about("closed-authentication", "error", [row], text, advice)
    signed = [row for row in rows if row["api_key"] == _SASL_AUTHENTICATE and row["session_lifetime_ms"]]
    if not signed or connection["closed_by"] != "broker":
        return None
    ends = signed[-1]["ts_resp"] + signed[-1]["session_lifetime_ms"] * 1000
    late = [row for row in rows if when(row) >= ends]
    if not late:
        return None
    text = f"the session of {signed[-1]['session_lifetime_ms']} ms ended, and the client went on without signing in"
    advice = "The client does not re-authenticate (KIP-368): upgrade it, or raise connections.max.reauth.ms."
    return about("closed-authentication", "error", [signed[-1], *late], text, advice)


def _served_versions(evidence: Evidence) -> dict[str, dict[int, tuple[int, int]]]:
    """What each broker said it serves."""
    served: dict[str, dict[int, tuple[int, int]]] = {}
    for row in evidence.exchanges:
        if row["api_key"] == _API_VERSIONS and row["error_code"] == 0 and row["api_versions"]:
            ranges = {each["api_key"]: (each["min"], each["max"]) for each in row["api_versions"]}
            served[row["connection"]["server"]] = ranges
    return served


def _unserved(connection: Row, rows: list[Row], served: dict[str, dict[int, tuple[int, int]]]) -> Finding | None:
    ranges = served.get(connection["server"])
    silent = [row for row in rows if row["state"] == "unanswered"]
    if ranges is None or not silent or connection["closed_by"] != "broker":
        return None
    asked = silent[0]
    low, high = ranges.get(asked["api_key"], (0, -1))
    if low <= asked["version"] <= high:
        return None
    offer = f"versions {low} to {high}" if high >= 0 else "no version"
    text = f"{asked['api'] or asked['api_key']} v{asked['version']} is not served; the broker has {offer}"
    advice = "The client is too old or too new for this broker, and ignores ApiVersions: change its version."
    return about("closed-unsupported-version", "error", [asked], text, advice)


def _acks_zero(connection: Row, rows: list[Row]) -> Finding | None:
    if connection["closed_by"] != "broker" or connection["pending"] or not rows:
        return None
    last = rows[-1]
    if last["state"] != "no_response_expected" or (connection["idle_ms"] or 0) > _SOON_MS:
        return None
    text = "the broker closed right after a produce with acks=0: it cannot answer, so closing is its error message"
    advice = "The produce failed: check leader, size and permission, or use acks=1 to see the error."
    return about("closed-acks0", "error", [last], text, advice, certainty="suspected")


def _idle(connection: Row, limits: Thresholds) -> Finding | None:
    idle = connection["idle_ms"]
    if connection["kind"] != "kafka" or connection["pending"] or idle is None or idle < limits.idle_s * 1000:
        return None
    seconds = idle / 1000
    if connection["close_kind"] == "rst":
        text = f"reset after {seconds:.0f} s of silence: something between dropped the connection without a word"
        advice = "Set connections.max.idle.ms of the client below the timeout of the firewall or load balancer."
        return about_connection("closed-idle", "warning", connection, text, advice)
    if connection["closed_by"] != "broker":
        return None
    who = "a load balancer's" if any(abs(seconds - known) < 5 for known in _BALANCERS) else "the broker's"
    text = f"closed after {seconds:.0f} s without a request, {who} idle limit; harmless"
    advice = "Set connections.max.idle.ms of the client below it to avoid the reconnect at a bad moment."
    return about_connection("closed-idle", "info", connection, text, advice)


def _pending(connection: Row, rows: list[Row], limits: Thresholds) -> Finding | None:
    waiting = [row for row in rows if row["state"] == "unanswered"]
    if not waiting or connection["closed_by"] is None:
        return None
    age = (connection["t_close"] - when(waiting[0])) / SECOND
    leaves = connection["closed_by"] == "client" and connection["close_kind"] == "fin"
    if leaves and all(_is_polling(row, connection["t_close"], limits) for row in waiting):
        return None
    how = "reset" if connection["close_kind"] == "rst" else "closed"
    text = f"{connection['closed_by']} {how} it with {len(waiting)} requests unanswered, the oldest for {age:.1f} s"
    advice = (
        "The client gave up: compare with request.timeout.ms, and see why the broker was slow."
        if connection["closed_by"] == "client"
        else "The broker failed or restarted: look at its log at this time."
    )
    level: Level = "info" if leaves and age * 1000 < limits.slow_ms else "error"
    return about("closed-pending", level, waiting, text, advice, t1=connection["t_close"])


def _is_polling(row: Row, closed: int, limits: Thresholds) -> bool:
    """Whether a request may still wait for data when its connection is closed."""
    if row["api_key"] not in _POLLS or row["max_wait_ms"] is None:
        return False
    return bool(closed - when(row) <= (row["max_wait_ms"] + limits.slow_ms) * 1000)


def _turned_away(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Many connections of one address that the broker closes before a byte is sent."""
    empty = [
        row
        for row in evidence.connections.values()
        if row["kind"] == "empty" and row["t_syn"] is not None and row["closed_by"] == "broker"
    ]
    for address, rows in grouped(empty, lambda row: row["client"].rpartition(":")[0]).items():
        if len(rows) < limits.rejected_connections:
            continue
        text = f"the broker closed {len(rows)} connections of {address} at once, before a byte was sent"
        advice = "A limit may be reached: max.connections or max.connections.per.ip."
        more = {"certainty": "suspected", "count": len(rows), "t1": rows[-1]["t_last"]}
        yield about_connection("closed-authentication", "warning", rows[0], text, advice, **more)
