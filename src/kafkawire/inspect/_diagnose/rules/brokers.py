"""Requests and responses: throttling, slowness, churn, corruption, unknown topics, old versions, waste.

Rules:
- A long poll is not slow: only the time of a Fetch beyond its max_wait_ms counts. Joins and syncs wait for others.
- A throttled response comes at once, and the client must wait after it. Requests within that time are reported.
- Versions below those of Kafka 4 (KIP-896) will fail there. A client that never sends ApiVersions cannot adapt. It is
  reported only if the capture has all of its connections from their first byte.
- A topic has one finding from `unknown_topic` errors on. Other responses about the topic give the cause: recreated, too
  few partitions, metadata still propagating, forbidden, or missing. It is only informative if the topic was new: each
  broker that refused it knew it within `new_topic_s`, had not known it before, and refused it no more.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.inspect._diagnose.close_causes import FLOORS
from kafkawire.inspect._diagnose.evidence import SECOND, client_of, grouped, partition_name, topic_of, when
from kafkawire.inspect._diagnose.row_groups import Groups, codes_of
from kafkawire.inspect._diagnose.rule import COMPRESS, LINGER, SHOWN, Finding, about, names_of, rule
from kafkawire.inspect._diagnose.topic_causes import MISSING, cause_of, was_new
from kafkawire.messages.releases import release_names, releases_serving

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from kafkawire.inspect._diagnose.evidence import Evidence, Row
    from kafkawire.inspect._diagnose.levels import Level
    from kafkawire.inspect._diagnose.thresholds import Thresholds

_PRODUCE, _FETCH, _METADATA, _JOIN, _SYNC, _API_VERSIONS, _SHARE_FETCH = 0, 1, 3, 11, 14, 18, 78
_MUTATIONS: Final = 89
_NO_TIME = _NO_VERSION = -(2**63)
_FIRST_WITH_SESSIONS: Final = 7
_EMPTY: Final = 200
_UNSUPPORTED: Final = 35
_CHURN: Final = (5, 6, 14, 15, 16)
_LOADING: Final = (14, 15, 16)
_CORRUPT: Final = (2, 87)
_SESSION: Final = (70, 71, 106)
_FORBIDDEN: Final = 29


@rule("throttling", "warning", "a client that a quota throttles")
def throttling(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Clients that a quota throttles."""
    exchanges = evidence.exchanges
    held = exchanges.at(np.union1d(exchanges.above("throttle_ms", 0), exchanges.places(error_code=_MUTATIONS)))
    for (number, api), rows in grouped(held, lambda row: (row["conn_id"], row["api"])).items():
        longest = max(row["throttle_ms"] or 0 for row in rows)
        early = _sent_early(evidence.by_connection[number], rows)
        text = f"{len(rows)} {api} responses were throttled, for up to {longest} ms"
        text += _rate(evidence.by_connection[number], rows)
        if early:
            text += f"; {len(early)} requests came before that time was over"
        advice = "The client reached a quota: raise it (kafka-configs), or send less." + (
            " The client ignores throttle_time_ms: upgrade it." if early else ""
        )
        yield about("throttling", "warning", [*rows, *early], text, advice, count=len(rows))


def _rate(rows: list[Row], held: list[Row]) -> str:
    """Bytes per second of an API, in both directions, from the first throttled response to the last."""
    begin, end = when(held[0]), when(held[-1])
    if end <= begin:
        return ""
    moved = sum(
        (row["req_bytes"] or 0) + (row["resp_bytes"] or 0)
        for row in rows
        if row["api"] == held[0]["api"] and begin <= when(row) < end
    )
    return f", at {moved * SECOND // (end - begin)} bytes per second"


def _sent_early(rows: list[Row], held: list[Row]) -> list[Row]:
    """Requests that came within the throttle time of an earlier response, by more than a millisecond."""
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


@rule("slow-api", "warning", "requests that take long, beyond the wait time that they ask for", thresholds=("slow_ms",))
def slow_apis(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Requests that a broker serves slowly."""
    exchanges = evidence.exchanges
    long = exchanges.at(exchanges.above("service_us", limits.slow_ms * 1000))
    slow = [row for row in long if _excess_ms(row) > limits.slow_ms]
    for (server, api), rows in grouped(slow, lambda row: (row["connection"]["server"], row["api"])).items():
        own = [number for number, row in evidence.connections.items() if row["server"] == server]
        times = exchanges.numbers("service_us", _NO_TIME)[exchanges.places(api=api, conn_id=own)]
        served = sorted(times[times != _NO_TIME].tolist())
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
        text += f"; {held} of them mostly waited for earlier requests" if held else ""
        advice = (
            "The network loses packets: check it first."
            if again
            else "The broker is slow: check its disks, its request queue and, for acks=all, its followers."
        )
        # The requests before the start of the capture are not known, and the first one may have waited for them.
        first = any(row["seq"] == 0 and evidence.is_late(row["conn_id"]) for row in rows)
        certainty = "suspected" if first else "proven"
        yield about("slow-api", "warning", rows, text, advice, entity=server, certainty=certainty)


def _excess_ms(row: Row) -> float:
    if row["service_us"] is None or row["api_key"] in (_JOIN, _SYNC):
        return 0
    allowed = (row["max_wait_ms"] or 0) if row["api_key"] in (_FETCH, _SHARE_FETCH) else 0
    return float(row["service_us"] / 1000 - allowed)


@rule(
    "old-client", "warning", "a client that Kafka 4 will not serve, or that never asks for the versions of the broker"
)
def old_clients(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Clients with versions that Kafka 4 or this broker does not serve, or without ApiVersions."""
    exchanges, old = evidence.exchanges, _old_places(evidence)
    kinds = codes_of(exchanges.numbers("api_key", -1)[old], exchanges.numbers("version", -1)[old])
    clients = [
        (old[own], old[own[np.unique(kinds[own], return_index=True)[1]]])
        for own in Groups(evidence.clients[old], np.arange(len(old))).members()
    ]
    exchanges.at(
        np.unique(np.concatenate([old[:0], *(part for every, few in clients for part in (every[:SHOWN], few))]))
    )
    for places, distinct in clients:
        shown, rows = exchanges.at(places[:SHOWN]), exchanges.at(distinct)
        address, client = client_of(shown[0])
        software = shown[0]["connection"]["software_name"]
        who = f"{client or address}" + (
            f" ({software} {shown[0]['connection']['software_version']})" if software else ""
        )
        outdated = {(row["api_key"], row["version"]): row for row in rows if _is_old(row)}
        refused = {(row["api_key"], row["version"]): row for row in rows if not _is_old(row)}
        parts = []
        if outdated:
            parts.append(
                f"uses {_versions(outdated)}, which Kafka 4 does not serve{_releases(outdated, 'last served', -1)}"
            )
        if refused:
            parts.append(f"uses {_versions(refused)}, which the broker refuses{_releases(refused, 'first served', 0)}")
        advice = "Upgrade the client before the brokers (KIP-896)." if outdated else "Upgrade the broker or the client."
        text, extent = f"{who} {'; it '.join(parts)}", evidence.extent(places)
        yield about("old-client", "warning", shown, text, advice, entity=client, **extent)

    yield from _unasking_clients(evidence)


def _old_places(evidence: Evidence) -> NDArray[np.int64]:
    """The requests in a version that Kafka 4 does not serve, or that the broker refuses."""
    exchanges = evidence.exchanges
    keys, versions = exchanges.numbers("api_key", -1), exchanges.numbers("version", _NO_VERSION)
    is_old = (exchanges.numbers("error_code", 0) == _UNSUPPORTED) & (keys != _API_VERSIONS)
    for key in np.unique(keys).tolist():
        is_old |= (keys == key) & (versions < FLOORS.get(key, 0))
    return np.flatnonzero(is_old & (versions != _NO_VERSION))


def _is_old(row: Row) -> bool:
    return bool(row["version"] < FLOORS.get(row["api_key"], 0))


def _versions(used: dict[tuple[int, int], Row]) -> str:
    return ", ".join(sorted(f"{row['api']} v{row['version']}" for row in used.values()))


def _releases(used: Iterable[tuple[int, int]], word: str, place: int) -> str:
    """The first or the last release that serves all of these versions, in parentheses."""
    serving = [releases_serving(*each) for each in used]
    common = [name for name in release_names() if all(name in each for each in serving)]
    return f" ({word} in {common[place]})" if common else ""


def _is_refused(row: Row) -> bool:
    """Whether the broker refuses the version. A client newer than its broker is refused once, for ApiVersions."""
    return bool(row["error_code"] == _UNSUPPORTED and row["api_key"] != _API_VERSIONS)


def _unasking_clients(evidence: Evidence) -> Iterator[Finding]:
    exchanges = evidence.exchanges
    asks = np.isin(exchanges.numbers("api_key", -1), (-1, _API_VERSIONS))
    own, seqs = exchanges.numbers("conn_id", -1), exchanges.numbers("seq", -1)
    for (address, client), places in evidence.by_client.places.items():
        numbers = np.unique(own[places]).tolist()
        if asks[places].any() or any(evidence.connections[number]["inter_broker"] for number in numbers):
            continue
        first = [evidence.by_connection.places[number][0] for number in numbers]
        if any(map(evidence.is_late, numbers)) or seqs[first].any():
            continue
        text = f"{client or address} never asks which versions the broker serves (no ApiVersions)"
        advice = "The client is very old, or its configuration fixes the broker's version: upgrade it."
        shown = exchanges.at(places[:SHOWN])
        yield about("old-client", "info", shown, text, advice, entity=client, **evidence.extent(places))


@rule("leader-churn", "warning", "leaders or coordinators that move", thresholds=("burst", "burst_s", "new_topic_s"))
def leader_churn(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Bursts of errors after leaders or coordinators moved."""
    moved = evidence.exchanges.where(error_code=_CHURN)
    window = int(limits.burst_s * SECOND)
    start = 0
    while start < len(moved):
        end = start
        while end < len(moved) and when(moved[end]) - when(moved[start]) <= window:
            end += 1
        burst = moved[start:end]
        if len(burst) >= limits.burst:
            epochs = sorted(epoch for epoch in evidence.partitions.distinct("leader_epoch") if (epoch or -1) >= 0)
            seconds = (when(burst[-1]) - when(burst[0])) / SECOND
            text = f"{len(burst)} responses {names_of([row['error_code'] for row in burst])} within {seconds:.1f} s"
            if len(epochs) > 1:
                text += f"; leader epochs {epochs[0]} to {epochs[-1]} were seen"
            advice = "Leaders or coordinators moved: look for an election, a restart, or a broker that is unstable."
            level: Level = "warning"
            if _is_loading(evidence, burst, limits):
                level, text = "info", f"{text}, while a coordinator loaded its state"
                advice = (
                    "Nothing: clients retry. It happens after a start, and when the first group of a cluster is made."
                )
            yield about("leader-churn", level, burst, text, advice)
        start = end


def _is_loading(evidence: Evidence, burst: list[Row], limits: Thresholds) -> bool:
    """Whether coordinators were only not ready yet, for a short time: the same brokers served the requests after it."""
    if any(row["error_code"] not in _LOADING for row in burst):
        return False
    if when(burst[-1]) - when(burst[0]) > limits.new_topic_s * SECOND:
        return False
    refused = {_asked(row): when(row) for row in burst}
    served = evidence.exchanges.where(api_key={row["api_key"] for row in burst}, error_code=0)
    return refused.keys() <= {_asked(row) for row in served if when(row) > refused.get(_asked(row), math.inf)}


def _asked(row: Row) -> tuple[int, str]:
    return row["api_key"], row["connection"]["server"]


@rule("corruption", "error", "batches with a wrong checksum, or errors of a broker about them")
def corruption(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Batches with a wrong checksum, and responses about such batches."""
    bad = evidence.batches.where(crc_ok=False)
    for (source, name), rows in grouped(bad, lambda row: (row["source"], partition_name(row))).items():
        side = "the client" if source == "request" else "the broker"
        text = (
            f"{name}: {len(rows)} batches from {side} have a wrong checksum, first at offset {rows[0]['base_offset']}"
        )
        advice = (
            f"The data was damaged at or before {side}: check memory, disks and anything that rewrites traffic there."
        )
        yield about("corruption", "error", [row["exchange"] for row in rows], text, advice, entity=name)
    refused = evidence.partitions.where(error_code=_CORRUPT)
    for name, rows in grouped(refused, partition_name).items():
        text = f"{name}: {len(rows)} responses {names_of([row['error_code'] for row in rows])}"
        advice = "The broker rejects the data as invalid: compare it with the batches that were sent."
        yield about("corruption", "error", [row["exchange"] for row in rows], text, advice, entity=name)


@rule("session-churn", "warning", "fetch sessions that do not last", thresholds=("repeats", "full_fetches"))
def session_churn(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Fetch sessions that do not last."""
    exchanges = evidence.exchanges
    codes, epochs = exchanges.numbers("error_code", 0), exchanges.numbers("session_epoch", -1)
    fetches = exchanges.places(api_key=_FETCH)
    fetches = fetches[exchanges.numbers("version", 0)[fetches] >= _FIRST_WITH_SESSIONS]
    for places in Groups(exchanges.numbers("conn_id", -1)[fetches], fetches).members():
        errors = places[np.isin(codes[places], _SESSION)]
        full = places[epochs[places] == 0]
        if len(errors) >= limits.repeats:
            text = f"{len(errors)} of {len(places)} fetches failed with {names_of(codes[errors].tolist())}"
            shown = exchanges.at(errors)
        elif len(full) >= limits.full_fetches and len(full) * 2 > len(places):
            text, shown = f"{len(full)} of {len(places)} fetches ask for a new session", exchanges.at(full)
        else:
            continue
        advice = (
            "The broker's session cache is too small (max.incremental.fetch.session.cache.slots), or the client leaks."
        )
        yield about("session-churn", "warning", shown, text, advice)


@rule(
    "inefficiency",
    "info",
    "small batches, no compression, empty fetches or metadata requests in a loop",
    thresholds=("small_batches", "plain_bytes", "metadata_per_s", "repeats", "empty_fetches", "short_wait_ms"),
)
def inefficiency(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Traffic that better settings would reduce."""
    sent = evidence.produced
    counts, bytes_sent = sent.numbers("record_count"), sent.numbers("size")
    is_plain = np.array(pc.equal(sent.column("codec"), pa.scalar("none")).fill_null(False), np.bool_)
    for places in sent.by_client(np.flatnonzero(counts >= 0)).members():
        mean, plain = int(counts[places].sum()) / len(places), int(bytes_sent[places][is_plain[places]].sum())
        is_small = len(places) >= limits.small_batches and mean < 2
        if not is_small and not (plain >= limits.plain_bytes and is_plain[places].all()):
            continue
        shown, extent = evidence.exchanges.at(sent.owners[places[:SHOWN]]), evidence.extent(sent.owners[places])
        address, client = client_of(shown[0])
        who = client or address
        if is_small:
            text = f"{who} sends {mean:.1f} records per batch, in {len(places)} batches"
            yield about("inefficiency", "info", shown, text, LINGER, entity=client, **extent)
        if plain >= limits.plain_bytes and is_plain[places].all():
            text = f"{who} sends {plain} bytes uncompressed"
            yield about("inefficiency", "info", shown, text, COMPRESS, entity=client, **extent)
    keys, sizes = evidence.exchanges.numbers("api_key", -1), evidence.exchanges.numbers("resp_bytes", 0)
    waits = evidence.exchanges.numbers("max_wait_ms", limits.short_wait_ms)
    is_empty = (keys == _FETCH) & (waits < limits.short_wait_ms) & (sizes != 0) & (sizes < _EMPTY)
    for (address, client), places in evidence.by_client.places.items():
        asked, empty = places[keys[places] == _METADATA], places[is_empty[places]]
        yield from _chatter(evidence, asked, empty, client or address, limits)


def _chatter(
    evidence: Evidence, asked: NDArray[np.int64], empty: NDArray[np.int64], who: str, limits: Thresholds
) -> Iterator[Finding]:
    exchanges = evidence.exchanges
    seconds = int(evidence.times[asked[-1]] - evidence.times[asked[0]]) / SECOND if len(asked) > 1 else 0
    if len(asked) >= limits.repeats and seconds > 0 and len(asked) / seconds > limits.metadata_per_s:
        text = f"{who} asks for metadata {len(asked) / seconds:.1f} times per second"
        advice = "The client refreshes in a loop: find the error that causes it, or share one client."
        shown = exchanges.at(asked[:SHOWN])
        yield about("inefficiency", "info", shown, text, advice, entity=who, **evidence.extent(asked))
    if len(empty) >= limits.empty_fetches:
        text = f"{who} made {len(empty)} empty fetches that wait less than {limits.short_wait_ms} ms"
        shown, advice = exchanges.at(empty[:SHOWN]), "Raise fetch.max.wait.ms and fetch.min.bytes."
        yield about("inefficiency", "info", shown, text, advice, entity=who, **evidence.extent(empty))


@rule(
    "unknown-topic",
    "error",
    "a topic or partition that does not exist, that the broker does not know yet, or that the client may not use",
    thresholds=("unknown_topic", "new_topic_s"),
)
def unknown_topics(evidence: Evidence, limits: Thresholds) -> Iterator[Finding]:
    """Topics that clients use and brokers do not know."""
    codes = {*MISSING, _FORBIDDEN}
    names = {topic_of(row) for row in evidence.partitions.where(error_code=codes)}
    if not names:
        return
    for topic, rows in grouped(evidence.of_topics(names), topic_of).items():
        refused = [row for row in rows if row["error_code"] in MISSING]
        forbidden = [row for row in rows if row["error_code"] == _FORBIDDEN]
        if len(refused) >= limits.unknown_topic and was_new(rows, limits):
            text = f"{topic}: {len(refused)} responses did not know it while it was created"
            advice = "Nothing: clients retry. To avoid the errors, create topics before the clients start."
            yield about("unknown-topic", "info", [row["exchange"] for row in refused], text, advice, entity=topic)
        elif len(refused) >= limits.unknown_topic:
            why, advice = cause_of(rows, refused)
            text = f"{topic}: {len(refused)} responses do not know it; {why}"
            yield about("unknown-topic", "error", [row["exchange"] for row in refused], text, advice, entity=topic)
        elif len(forbidden) >= limits.unknown_topic:
            text = f"{topic}: {len(forbidden)} responses say that the client may not use it"
            advice = "The topic may exist: grant the client's principal access (kafka-acls), or fix the name."
            yield about("unknown-topic", "error", [row["exchange"] for row in forbidden], text, advice, entity=topic)
