"""Connections that were closed, and why.

Rules:
- A connection has one finding, by the first cause that fits, in the order of `closed_connections` and `_refused`.
- `close_causes` looks at the first request without an answer.
- Brokers answer the first ApiVersions in any version. One that closes instead is probably not a plaintext listener.
- A client may close a connection without pending requests, and during a fetch within its wait time. If it closes within
  `slow_ms` of a request, the finding is only info.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from kafkawire.inspect._diagnose.close_causes import (
    API_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    impossible_size,
    malformed,
    served_versions,
    unauthenticated,
    unknown_api,
    unserved_version,
    wrong_magic,
)
from kafkawire.inspect._diagnose.evidence import SECOND, grouped, when
from kafkawire.inspect._diagnose.rule import Finding, about, about_connection, rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkawire.inspect._diagnose.close_causes import Ranges
    from kafkawire.inspect._diagnose.evidence import Evidence, Row
    from kafkawire.inspect._diagnose.levels import Level
    from kafkawire.inspect._diagnose.thresholds import Thresholds

_UNANSWERED: Final = ("unanswered", "no_response_expected")
_SASL_ERRORS: Final = (33, 58)
_UNSUPPORTED_MECHANISM, _AUTHENTICATION_FAILED = _SASL_ERRORS
_SOON_MS: Final = 10_000
_POLLS: Final = (1, 78)
_BALANCERS: Final = (240, 350)


@rule("closed-not-kafka", "error", "HTTP, or TLS on one side only", needs_start=True)
@rule("closed-oversized", "error", "a request that is larger than the broker accepts", thresholds=("request_limit",))
@rule(
    "closed-authentication",
    "error",
    "credentials, mechanisms or connections that the broker refuses, or a session that expired",
    thresholds=("rejected_connections",),
)
@rule("closed-bad-size", "error", "a request whose size is negative or too small for a header")
@rule("closed-unknown-api", "error", "a request of an API that does not exist, or that Kafka 4 removed")
@rule("closed-unsupported-version", "error", "a request in a version that the broker does not serve")
@rule("closed-malformed-request", "error", "a request that the broker cannot decode")
@rule("closed-wrong-magic", "error", "a produce whose records have a format that its version does not allow")
@rule("closed-acks0", "error", "a produce with acks=0 that failed, so that the broker closed the connection")
@rule("closed-idle", "warning", "a connection that was closed after a silence", thresholds=("idle_s",))
@rule(
    "closed-pending", "error", "a connection that was closed before its requests were answered", thresholds=("slow_ms",)
)
def closed_connections(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """The reason for each connection that ended badly."""
    context = _Context(evidence)
    for number, connection in evidence.connections.items():
        is_told = connection["closed_by"] == "broker" or number in context.unserved
        rows = evidence.by_connection.get(number, []) if is_told else []
        finding = (
            _not_kafka(connection, rows)
            or _oversized(connection, rows, limits)
            or _bad_size(connection, rows)
            or _authentication(connection, rows)
            or _refused(connection, rows, context)
            or _acks_zero(connection, rows)
            or _idle(connection, limits)
            or _pending(connection, rows, limits)
        )
        if finding is not None:
            yield finding
    yield from _turned_away(evidence, limits)


class _Context:
    """The facts of other connections that explain a close."""

    def __init__(self, evidence: Evidence) -> None:
        refused = evidence.exchanges.where(api_key=(SASL_HANDSHAKE, SASL_AUTHENTICATE), error_code=_SASL_ERRORS)
        waiting = evidence.exchanges.where(state="unanswered")
        self.unserved = {row["conn_id"] for row in (*refused, *waiting)}
        self._evidence = evidence

    @cached_property
    def served(self) -> Mapping[str, Ranges]:
        """The versions that each broker serves."""
        return served_versions(self._evidence)

    @cached_property
    def sasl(self) -> set[str]:
        """The listeners on which clients use SASL."""
        return {row["connection"]["server"] for row in self._evidence.exchanges.where(api_key=SASL_HANDSHAKE)}

    @cached_property
    def batches(self) -> dict[tuple[int, int], list[Row]]:
        """The batches that requests carry."""
        return grouped(self._evidence.batches.where(source="request"), lambda row: (row["conn_id"], row["seq"]))


def _not_kafka(connection: Row, rows: list[Row]) -> Finding | None:
    up, down = connection["start_c"] or b"", connection["start_s"] or b""
    tls_down = down[:2] in (b"\x15\x03", b"\x16\x03")
    if connection["kind"] == "http":
        method = bytes(up).partition(b" ")[0][:12].decode("ascii", "replace")
        text = f"the client speaks HTTP to a Kafka port: its first word is {method}"
        return about_connection("closed-not-kafka", "error", connection, text, "Point the HTTP client elsewhere.")
    if up[:2] == b"\x16\x03" and not tls_down:
        text = "the client starts TLS, and the broker does not answer in TLS"
        advice = "The listener is plaintext: set security.protocol=PLAINTEXT or SASL_PLAINTEXT, or use the TLS port."
        return about_connection("closed-not-kafka", "error", connection, text, advice)
    if connection["kind"] != "tls" and tls_down:
        text = "the client speaks plaintext, and the broker answers in TLS"
        advice = "The listener is TLS: set security.protocol=SSL or SASL_SSL, or use the plaintext port."
        return about_connection("closed-not-kafka", "error", connection, text, advice)
    is_silent = connection["closed_by"] == "broker" and not connection["bytes_s"] and connection["t_syn"] is not None
    if is_silent and rows and rows[0]["api_key"] == API_VERSIONS:
        text = "the broker closed without an answer to the first ApiVersions, which every plaintext listener answers"
        advice = "The listener may be TLS (set security.protocol=SSL or SASL_SSL), or its connection limit is reached."
        return about("closed-not-kafka", "error", rows[:1], text, advice, certainty="suspected")
    return None


def _bad_size(connection: Row, rows: list[Row]) -> Finding | None:
    if connection["kind"] in ("tls", "http") or connection["closed_by"] != "broker":
        return None
    cause = impossible_size(connection["tail_declared"], connection["tail_present"])
    if cause is None:
        return None
    shown = [{"conn_id": row["conn_id"], "seq": row["seq"]} for row in rows[-1:]]
    client = rows[-1]["client_id"] if rows else None
    more = {"evidence": shown, "client_id": client}
    return about_connection("closed-bad-size", "error", connection, cause.text, cause.advice, **more)


def _oversized(connection: Row, rows: list[Row], limits: Thresholds) -> Finding | None:
    declared = connection["tail_declared"]
    if connection["kind"] in ("tls", "http") or declared is None or connection["closed_by"] != "broker":
        return None
    if declared <= limits.request_limit:
        return None
    text = f"a request of {declared} bytes is larger than socket.request.max.bytes ({limits.request_limit})"
    advice = "Lower max.request.size or the batch size. If no client sends that much, the stream is corrupt."
    shown = [{"conn_id": row["conn_id"], "seq": row["seq"]} for row in rows[-1:]]
    client = rows[-1]["client_id"] if rows else None
    return about_connection("closed-oversized", "error", connection, text, advice, evidence=shown, client_id=client)


def _authentication(connection: Row, rows: list[Row]) -> Finding | None:
    for row in rows:
        if row["api_key"] == SASL_HANDSHAKE and row["error_code"] == _UNSUPPORTED_MECHANISM:
            text, advice = (
                "the broker does not offer this SASL mechanism",
                "Set sasl.mechanism to one that the broker lists.",
            )
            return about("closed-authentication", "error", [row], text, advice)
        if row["api_key"] == SASL_AUTHENTICATE and row["error_code"] == _AUTHENTICATION_FAILED:
            text, advice = (
                "the broker refuses the credentials",
                "Check the user name, the password, and the users of the mechanism.",
            )
            return about("closed-authentication", "error", [row], text, advice)
    signed = [row for row in rows if row["api_key"] == SASL_AUTHENTICATE and row["session_lifetime_ms"]]
    if not signed or connection["closed_by"] != "broker":
        return None
    ends = signed[-1]["ts_resp"] + signed[-1]["session_lifetime_ms"] * 1000
    late = [row for row in rows if when(row) >= ends]
    if not late:
        return None
    text = f"the session of {signed[-1]['session_lifetime_ms']} ms expired, and the client did not authenticate again"
    advice = "The client does not re-authenticate (KIP-368): upgrade it, or raise connections.max.reauth.ms."
    return about("closed-authentication", "error", [signed[-1], *late], text, advice)


def _refused(connection: Row, rows: list[Row], context: _Context) -> Finding | None:
    """The cause in the first request without an answer, if the broker closed the connection."""
    if connection["closed_by"] != "broker":
        return None
    number = next((number for number, row in enumerate(rows) if row["state"] in _UNANSWERED), None)
    if number is None or rows[number]["api_key"] is None:
        return None
    asked, ranges = rows[number], context.served.get(connection["server"])
    own = context.batches.get((asked["conn_id"], asked["seq"]), [])
    if asked["state"] == "unanswered":
        if cause := unknown_api(asked, ranges):
            return about("closed-unknown-api", "error", [asked], *cause[:2], certainty=cause.certainty)
        if cause := unserved_version(asked, ranges):
            return about("closed-unsupported-version", "error", [asked], *cause[:2], certainty=cause.certainty)
        if cause := malformed(asked):
            return about("closed-malformed-request", "error", [asked], *cause[:2])
    if cause := wrong_magic(asked, own):
        return about("closed-wrong-magic", "error", [asked], *cause[:2])
    is_soon = connection["t_close"] - when(asked) <= SECOND
    if asked["state"] == "unanswered" and is_soon and connection["t_syn"] is not None:
        needs_sasl = connection["server"] in context.sasl
        if cause := unauthenticated(asked, rows[:number], needs_sasl):
            return about("closed-authentication", "error", [asked], *cause[:2], certainty=cause.certainty)
    return None


def _acks_zero(connection: Row, rows: list[Row]) -> Finding | None:
    if connection["closed_by"] != "broker" or connection["pending"] or not rows:
        return None
    last = rows[-1]
    if last["state"] != "no_response_expected" or (connection["idle_ms"] or 0) > _SOON_MS:
        return None
    text = "the broker closed right after a produce with acks=0, because it cannot answer with an error"
    advice = "The produce failed: check leader, size and permissions, or use acks=1 to see the error."
    return about("closed-acks0", "error", [last], text, advice, certainty="suspected")


def _idle(connection: Row, limits: Thresholds) -> Finding | None:
    idle = connection["idle_ms"]
    if connection["kind"] != "kafka" or connection["pending"] or idle is None or idle < limits.idle_s * 1000:
        return None
    seconds = idle / 1000
    if connection["close_kind"] == "rst":
        text = f"reset after {seconds:.0f} s of silence: something between client and broker dropped the connection"
        advice = "Set connections.max.idle.ms of the client below the timeout of the firewall or load balancer."
        return about_connection("closed-idle", "warning", connection, text, advice)
    if connection["closed_by"] != "broker":
        return None
    who = "a load balancer's" if any(abs(seconds - known) < 5 for known in _BALANCERS) else "the broker's"
    text = f"closed after {seconds:.0f} s without a request, {who} idle limit; harmless"
    advice = "Set connections.max.idle.ms of the client below that limit to avoid the reconnect."
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
    text = f"the {connection['closed_by']} {how} it with {len(waiting)} unanswered requests, the oldest {age:.1f} s old"
    advice = (
        "The client gave up: compare with request.timeout.ms, and find out why the broker was slow."
        if connection["closed_by"] == "client"
        else "The broker failed or restarted: read its log of this time."
    )
    level: Level = "info" if leaves and age * 1000 < limits.slow_ms else "error"
    return about("closed-pending", level, waiting, text, advice, t1=connection["t_close"])


def _is_polling(row: Row, closed: int, limits: Thresholds) -> bool:
    """Whether a request is within its wait time for data when its connection is closed."""
    if row["api_key"] not in _POLLS or row["max_wait_ms"] is None:
        return False
    return bool(closed - when(row) <= (row["max_wait_ms"] + limits.slow_ms) * 1000)


def _turned_away(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Connections of one address that the broker closes before the first byte."""
    empty = [
        row
        for row in evidence.connections.values()
        if row["kind"] == "empty" and row["t_syn"] is not None and row["closed_by"] == "broker"
    ]
    for address, rows in grouped(empty, lambda row: row["client"].rpartition(":")[0]).items():
        if len(rows) < limits.rejected_connections:
            continue
        text = f"the broker closed {len(rows)} connections of {address} before the first byte"
        advice = "A limit may have been reached: max.connections or max.connections.per.ip."
        more = {"certainty": "suspected", "count": len(rows), "t1": rows[-1]["t_last"]}
        yield about_connection("closed-authentication", "warning", rows[0], text, advice, **more)
