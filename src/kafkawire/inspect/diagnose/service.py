"""How brokers serve and clients ask: throttling, slowness, churn, corruption, old versions, waste.

Rules:
- A long poll is not slow: of a Fetch only the time beyond its max_wait_ms counts, and joins and syncs wait for others.
- A throttled response comes at once; the client then has to wait. One that sends before is told of.
- Versions below what Kafka 4 serves (KIP-896) will fail there. A client that never asks for versions cannot adapt; that
  is told of connections seen from their first byte, of clients that ask on none.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from kafkawire.inspect.diagnose.evidence import SECOND, client_of, grouped, partition_name, when
from kafkawire.inspect.diagnose.findings import Finding, about, names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.inspect.diagnose.evidence import Evidence, Row
    from kafkawire.inspect.diagnose.thresholds import Thresholds

_PRODUCE, _FETCH, _METADATA, _JOIN, _SYNC, _API_VERSIONS, _SHARE_FETCH = 0, 1, 3, 11, 14, 18, 78
_MUTATIONS: Final = 89
_UNSUPPORTED: Final = 35
_CHURN: Final = (5, 6, 14, 15, 16)
_CORRUPT: Final = (2, 87)
_SESSION: Final = (70, 71, 106)
FLOORS: Final = {  # the lowest versions that Kafka 4 serves, where that is not 0; JoinGroup v0 came back in 4.0.1
    0: 3, 1: 4, 2: 1, 8: 2, 9: 1, 19: 2, 20: 1, 23: 2, 27: 1, 29: 1, 30: 1, 31: 1, 32: 1, 34: 1, 35: 1,
    38: 1, 39: 1, 40: 1, 41: 1, 56: 2,
}  # fmt: skip


def throttling(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Clients that a quota holds back."""
    held = [row for row in evidence.exchanges if (row["throttle_ms"] or 0) > 0 or row["error_code"] == _MUTATIONS]
    for (number, api), rows in grouped(held, lambda row: (row["conn_id"], row["api"])).items():
        longest = max(row["throttle_ms"] or 0 for row in rows)
        early = _sent_early(evidence.by_connection[number], rows)
        text = f"{len(rows)} {api} answers were throttled, for up to {longest} ms"
        text += _rate(evidence.by_connection[number], rows)
        if early:
            text += f"; {len(early)} requests came before the time was over"
        advice = "A quota is reached: raise it (kafka-configs), or send less." + (
            " The client ignores throttle_time_ms: upgrade it." if early else ""
        )
        yield about("throttling", "warning", [*rows, *early], text, advice, count=len(rows))


def _rate(rows: list[Row], held: list[Row]) -> str:
    """The bytes a second of an API, both ways, from the first throttled answer to the last."""
    begin, end = when(held[0]), when(held[-1])
    if end <= begin:
        return ""
    moved = sum(
        (row["req_bytes"] or 0) + (row["resp_bytes"] or 0)
        for row in rows
        if row["api"] == held[0]["api"] and begin <= when(row) < end
    )
    return f", at {moved * SECOND // (end - begin)} bytes a second"


def _sent_early(rows: list[Row], held: list[Row]) -> list[Row]:
    """The requests that came while an answer before them said to wait; a millisecond is nobody's fault."""
    windows = sorted(
        (row["ts_resp"], row["ts_resp"] + (row["throttle_ms"] or 0) * 1000) for row in held if row["ts_resp"]
    )
    early, until, begun = [], 0, 0
    for row in sorted(rows, key=when):
        while begun < len(windows) and windows[begun][0] < when(row):
            until = max(until, windows[begun][1])
            begun += 1
        if when(row) < until - 1000:
            early.append(row)
    return early


def slow_apis(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Requests that a broker takes long to serve."""
    slow = [row for row in evidence.exchanges if _excess_ms(row) > limits.slow_ms]
    for (server, api), rows in grouped(slow, lambda row: (row["connection"]["server"], row["api"])).items():
        served = sorted(
            row["service_us"]
            for row in evidence.exchanges
            if row["api"] == api and row["connection"]["server"] == server and row["service_us"] is not None
        )
        slowest = served[max(math.ceil(len(served) * 0.99) - 1, 0)] / SECOND
        text = f"{server}: {len(rows)} of {len(served)} {api} requests took over {limits.slow_ms:.0f} ms"
        text += f"; 99 % took at most {slowest:.1f} s, the longest {served[-1] / SECOND:.1f} s"
        if api == "Produce":
            text += f"; acks {', '.join(sorted({str(row['acks']) for row in rows}))}"
        again = sum(row["connection"]["retrans"] for row in {row["conn_id"]: row for row in rows}.values())
        trips = [row["connection"]["rtt_us"] for row in rows if row["connection"]["rtt_us"] is not None]
        text += f"; {again} retransmissions on their connections"
        text += f", handshakes of {max(trips) / 1000:.1f} ms" if trips else ""
        held = sum(row["wait_us"] > 2 * row["service_us"] for row in rows)
        text += f"; {held} of them waited mostly for requests before them" if held else ""
        advice = (
            "The network loses packets: look there first."
            if again
            else "The broker is slow: look at its disks, request queue and, for acks=all, its followers."
        )
        # What a response waited for before the capture began is not known.
        first = any(row["seq"] == 0 and evidence.is_late(row["conn_id"]) for row in rows)
        certainty = "suspected" if first else "proven"
        yield about("slow-api", "warning", rows, text, advice, entity=server, certainty=certainty)


def _excess_ms(row: Row) -> float:
    if row["service_us"] is None or row["api_key"] in (_JOIN, _SYNC):
        return 0
    allowed = (row["max_wait_ms"] or 0) if row["api_key"] in (_FETCH, _SHARE_FETCH) else 0
    return float(row["service_us"] / 1000 - allowed)


def old_clients(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Clients that use versions which Kafka 4 no longer serves, that a broker refuses now, or that never ask."""
    old = [
        row
        for row in evidence.exchanges
        if row["version"] is not None
        and (row["version"] < FLOORS.get(row["api_key"], 0) or row["error_code"] == _UNSUPPORTED)
    ]
    for (address, client), rows in grouped(old, client_of).items():
        used = sorted({f"{row['api']} v{row['version']}" for row in rows})
        software = rows[0]["connection"]["software_name"]
        who = f"{client or address}" + (
            f" ({software} {rows[0]['connection']['software_version']})" if software else ""
        )
        text = f"{who} uses {', '.join(used)}, which Kafka 4 does not serve"
        yield about(
            "old-client", "warning", rows, text, "Upgrade the client before the brokers (KIP-896).", entity=client
        )

    yield from _unasking_clients(evidence)


def _unasking_clients(evidence: Evidence) -> Iterator[Finding]:
    for (address, client), rows in grouped(evidence.exchanges, client_of).items():
        if any(row["api_key"] in (None, _API_VERSIONS) or row["connection"]["inter_broker"] for row in rows):
            continue
        numbers = {row["conn_id"] for row in rows}
        if any(evidence.is_late(number) or evidence.by_connection[number][0]["seq"] for number in numbers):
            continue
        text = f"{client or address} never asks which versions the broker serves (no ApiVersions)"
        advice = "The client is very old, or told its broker's version by hand: upgrade it, or take the setting away."
        yield about("old-client", "info", rows, text, advice, entity=client)


def leader_churn(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Bursts of answers that leaders or coordinators have moved."""
    moved = [row for row in evidence.exchanges if row["error_code"] in _CHURN]
    window = int(limits.burst_s * SECOND)
    start = 0
    while start < len(moved):
        end = start
        while end < len(moved) and when(moved[end]) - when(moved[start]) <= window:
            end += 1
        burst = moved[start:end]
        if len(burst) >= limits.burst:
            epochs = sorted({row["leader_epoch"] for row in evidence.partitions if (row["leader_epoch"] or -1) >= 0})
            seconds = (when(burst[-1]) - when(burst[0])) / SECOND
            text = f"{len(burst)} answers {names_of([row['error_code'] for row in burst])} within {seconds:.1f} s"
            if len(epochs) > 1:
                text += f"; leader epochs {epochs[0]} to {epochs[-1]} were seen"
            advice = "Leaders or coordinators moved: an election, a restart, or a broker that comes and goes."
            yield about("leader-churn", "warning", burst, text, advice)
        start = end


def corruption(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Batches whose checksum does not hold, and answers that say so."""
    bad = [row for row in evidence.batches if row["crc_ok"] is False]
    for (source, name), rows in grouped(bad, lambda row: (row["source"], partition_name(row))).items():
        side = "the client" if source == "request" else "the broker"
        text = (
            f"{name}: {len(rows)} batches from {side} have a wrong checksum, first at offset {rows[0]['base_offset']}"
        )
        advice = f"The data was damaged at or before {side}: check memory, disks and whatever rewrites traffic there."
        yield about("corruption", "error", [row["exchange"] for row in rows], text, advice, entity=name)
    refused = [row for row in evidence.partitions if row["error_code"] in _CORRUPT]
    for name, rows in grouped(refused, partition_name).items():
        text = f"{name}: {len(rows)} answers {names_of([row['error_code'] for row in rows])}"
        advice = "The broker finds the data invalid: compare with the batches that were sent."
        yield about("corruption", "error", [row["exchange"] for row in rows], text, advice, entity=name)


def session_churn(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Fetch sessions that do not last."""
    fetches = [row for row in evidence.exchanges if row["api_key"] == _FETCH and (row["version"] or 0) >= 7]
    for rows in grouped(fetches, lambda row: row["conn_id"]).values():
        errors = [row for row in rows if row["error_code"] in _SESSION]
        full = [row for row in rows if row["session_epoch"] == 0]
        if len(errors) >= limits.repeats:
            text = f"{len(errors)} of {len(rows)} fetches answered {names_of([row['error_code'] for row in errors])}"
            shown = errors
        elif len(full) >= limits.full_fetches and len(full) * 2 > len(rows):
            text, shown = f"{len(full)} of {len(rows)} fetches ask for a new session", full
        else:
            continue
        advice = (
            "The broker's session cache is too small (max.incremental.fetch.session.cache.slots), or the client leaks."
        )
        yield about("session-churn", "warning", shown, text, advice)


def inefficiency(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Traffic that settings would make smaller."""
    sent = [batch for batch, _ in evidence.produced if batch["count"] is not None]
    for (address, client), rows in grouped(sent, lambda row: client_of(row["exchange"])).items():
        exchanges, who = [row["exchange"] for row in rows], client or address
        mean = sum(row["count"] for row in rows) / len(rows)
        if len(rows) >= limits.small_batches and mean < 2:
            text = f"{who} sends {mean:.1f} records a batch, {len(rows)} batches"
            yield about("inefficiency", "info", exchanges, text, "Raise linger.ms and batch.size.", entity=client)
        plain = sum(row["bytes"] for row in rows if row["codec"] == "none")
        if plain >= limits.plain_bytes and all(row["codec"] == "none" for row in rows):
            text = f"{who} sends {plain} bytes uncompressed"
            yield about("inefficiency", "info", exchanges, text, "Set compression.type (lz4 or zstd).", entity=client)
    for (address, client), rows in grouped(evidence.exchanges, client_of).items():
        yield from _chatter(rows, client or address, limits)


def _chatter(rows: list[Row], who: str, limits: Thresholds) -> Iterator[Finding]:
    asked = [row for row in rows if row["api_key"] == _METADATA]
    seconds = (when(asked[-1]) - when(asked[0])) / SECOND if len(asked) > 1 else 0
    if len(asked) >= limits.repeats and seconds > 0 and len(asked) / seconds > limits.metadata_per_s:
        text = f"{who} asks for metadata {len(asked) / seconds:.1f} times a second"
        advice = "The client refreshes in a loop: see which error makes it, or share one client."
        yield about("inefficiency", "info", asked, text, advice, entity=who)
    empty = [
        row
        for row in rows
        if row["api_key"] == _FETCH
        and row["max_wait_ms"] is not None
        and row["max_wait_ms"] < limits.short_wait_ms
        and (row["resp_bytes"] or 1 << 62) < 200
    ]
    if len(empty) >= limits.empty_fetches:
        text = f"{who} made {len(empty)} empty fetches that wait less than {limits.short_wait_ms} ms"
        yield about("inefficiency", "info", empty, text, "Raise fetch.max.wait.ms and fetch.min.bytes.", entity=who)
