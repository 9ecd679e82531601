"""One capture that shows each incident, and one that nearly does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.inspect.captures import RST, Conversation
from tests.inspect.close_conversations import METADATA, asking, authenticating, carrying, sending, silent_on
from tests.inspect.conversations import (
    BEAT,
    COMPACTED,
    CONTROL,
    DATA,
    GREETING,
    HELLO,
    KAFKA,
    LARGE,
    NUMBERED,
    SAME,
    changing_epochs,
    changing_share_epochs,
    changing_streams_epochs,
    closing,
    commits,
    damaged,
    delivering,
    errors,
    fetching,
    full_fetches,
    gathering,
    giving_up,
    huge,
    in_epoch,
    joining,
    legacy,
    long_poll,
    metadata,
    polling_until,
    producing,
    recovered,
    refetching,
    reset,
    sessions,
    sharing,
    signing_in,
    silent,
    slow_produce,
    starting,
    taking_over,
    talk,
    throttled,
    unserved,
)
from tests.inspect.sample_messages import batch
from tests.inspect.transaction_conversations import asking_for, claiming, fetches, left_open, writing_late

if TYPE_CHECKING:
    from tests.inspect.conversations import Build


class Incident(NamedTuple):
    """Traffic in which a rule must find an incident, and similar traffic without one."""

    rule: str
    shows: Build
    nearly: Build


INCIDENTS = {
    "negative size": Incident("closed-bad-size", sending(-5), sending(-5, by="client")),
    "negative size first": Incident("closed-bad-size", sending(-5, first=True), sending(40, first=True)),
    "size without a header": Incident("closed-bad-size", sending(3), sending(8)),
    "unknown API": Incident("closed-unknown-api", asking(500, 0), asking(3, 12)),
    "unknown API first": Incident(
        "closed-unknown-api", asking(500, 0, greets=False), asking(500, 0, greets=False, by="client")
    ),
    "removed API": Incident("closed-unknown-api", asking(6, 5, greets=False), asking(3, 5, greets=False)),
    "version above the served ones": Incident("closed-unsupported-version", asking(3, 13), asking(3, 12)),
    "unknown version first": Incident(
        "closed-unsupported-version", asking(3, 60, greets=False), asking(3, 12, greets=False)
    ),
    "absurd version first": Incident(
        "closed-unsupported-version", asking(3, 255, greets=False), asking(3, 12, greets=False)
    ),
    "removed version first": Incident(
        "closed-unsupported-version", asking(1, 2, greets=False), asking(1, 2, greets=False, by="client")
    ),
    "malformed request": Incident("closed-malformed-request", asking(3, 12, b"\x7f"), asking(3, 12)),
    "malformed first request": Incident(
        "closed-malformed-request", asking(3, 12, b"\x7f", greets=False), asking(3, 12, greets=False)
    ),
    "bytes after a request": Incident(
        "closed-malformed-request", asking(3, 12, METADATA[:-1]), asking(3, 12, METADATA + b"abc")
    ),
    "malformed request that was answered": Incident(
        "closed-malformed-request", asking(3, 12, b"\x7f"), asking(3, 12, b"\x7f", answered=True)
    ),
    "old records in a new produce": Incident("closed-wrong-magic", carrying(9, 1), carrying(9, 2)),
    "new records in an old produce": Incident("closed-wrong-magic", carrying(2, 2), carrying(2, 1)),
    "old records without acks": Incident("closed-wrong-magic", carrying(9, 0, acks=0), carrying(9, 2, acks=0)),
    "request without authentication": Incident(
        "closed-authentication",
        authenticating("metadata", other=True),
        authenticating("handshake", "authenticate", "metadata", other=True),
    ),
    "listener that may need authentication": Incident(
        "closed-authentication", authenticating("metadata"), authenticating("metadata", wait=20_000)
    ),
    "request within authentication": Incident(
        "closed-authentication",
        authenticating("handshake", "metadata"),
        authenticating("handshake", "authenticate", "metadata"),
    ),
    "authentication out of order": Incident(
        "closed-authentication", authenticating("authenticate"), authenticating("handshake", "authenticate")
    ),
    "TLS port that closes at once": Incident("closed-not-kafka", silent_on(False), silent_on(True)),
    "transaction open beyond its timeout": Incident("hanging-transaction", left_open(80), left_open(65)),
    "transaction that holds the last stable offset": Incident(
        "hanging-transaction", left_open(80, stable=10), left_open(80, stable=11)
    ),
    "transaction with a long timeout": Incident("hanging-transaction", left_open(700), left_open(700, timeout=900_000)),
    "transaction that timed out": Incident("transaction-timeout", writing_late(65, 90), writing_late(65, 0)),
    "transaction that ended unseen": Incident(
        "transaction-timeout", left_open(80, stable=11), left_open(80, stable=10)
    ),
    "timeout that the broker refuses": Incident(
        "transaction-timeout", asking_for(3_600_000, 50), asking_for(60_000, 51)
    ),
    "last stable offset that stands still": Incident(
        "stable-offset-stalled",
        lambda: [fetches((0, 100, 150), (40, 100, 170), (80, 100, 190))],
        lambda: [fetches((0, 100, 150), (40, 101, 170), (80, 102, 190))],
    ),
    "last stable offset of a log that stands still too": Incident(
        "stable-offset-stalled",
        lambda: [fetches((0, 100, 150), (80, 100, 151))],
        lambda: [fetches((0, 100, 150), (80, 100, 150)), fetches((0, 7, 7))],
    ),
    "last stable offset at which a consumer waits": Incident(
        "stable-offset-stalled",
        lambda: [fetches(*((second, 100, 150 + second) for second in (0, 40, 80)), isolation=1, offset=100)],
        lambda: [fetches(*((20 * n, 100, 150 + n) for n in range(6)), isolation=1, offset=100)],
    ),
    "producers that fence each other": Incident("fencing-war", claiming(0, 1, 0, 1), claiming(0, 1, 1)),
    "id that moves from host to host": Incident("fencing-war", claiming(0, 1, 0, 2), claiming(0, 1, 2, 3)),
    "producer that connects again": Incident(
        "fencing-war", claiming(0, 1, 0, 1, reconnecting=True), claiming(0, 0, 0, 0, reconnecting=True)
    ),
    "hanging transaction": Incident(
        "stuck-hanging-transaction",
        fetching([100] * 6, lambda _: (b"", {"hw": 150, "last_stable_offset": 100}), isolation_level=1),
        fetching([100] * 6, lambda _: (b"", {"hw": 100, "last_stable_offset": 100}), isolation_level=1),
    ),
    "control batch not stepped over": Incident(
        "stuck-empty-batch",
        fetching([100] * 6, lambda _: (CONTROL, {})),
        fetching([100, 101, 101, 101, 101, 101], lambda offset: (CONTROL if offset == 100 else b"", {"hw": 101})),
    ),
    "compacted batch not stepped over": Incident(
        "stuck-empty-batch",
        fetching([100] * 6, lambda _: (COMPACTED, {})),
        fetching([95] * 6, lambda _: (COMPACTED, {})),
    ),
    "batch larger than the limit": Incident(
        "stuck-batch-too-large", legacy([100] * 6, DATA[:200], 200), legacy([100] * 6, DATA, 4000)
    ),
    "refetching": Incident(
        "stuck-refetching",
        fetching([100] * 6, lambda _: (DATA, {})),
        fetching([100, 101, 102, 103, 104, 105], lambda offset: (batch(b"a", base_offset=offset), {})),
    ),
    "error loop": Incident("stuck-error-loop", errors([1] * 6), recovered),
    "beating without fetching": Incident("stuck-not-fetching", silent(False), silent(True)),
    "assigned and not fetched": Incident("stuck-not-fetching", sharing(fetching=(0,)), sharing(fetching=(0, 1))),
    "assigned by the newer protocol and not fetched": Incident(
        "stuck-not-fetching", sharing(fetching=(0,), newer=True), sharing(fetching=(0, 1), newer=True)
    ),
    "paused": Incident(
        "stuck-not-fetching", sharing(fetching=(0, 1), forgetting=(1,)), sharing(fetching=(0, 1), forgetting=(7,))
    ),
    "refetching without committing": Incident(
        "stuck-refetching", refetching(90, 90, 90, 90, 90, 90), refetching(90, 91, 92, 93, 94, 95)
    ),
    "committing in place": Incident("stuck-not-fetching", commits(5, 5, 5, 5, 5, 5), commits(5, 6, 7, 8, 9, 10)),
    "committing all there is": Incident(
        "stuck-not-fetching", commits(5, 5, 5, 5, 5, 5), commits(60, 60, 60, 60, 60, 60, grown_before=3)
    ),
    "reset by a lookup": Incident("offset-reset", reset(0), reset(600)),
    "commits going back": Incident("offset-reset", commits(50, 10), commits(10, 50)),
    "unknown topic": Incident(
        "unknown-topic", producing(*[(SAME, -1, 3)] * 4), producing((SAME, -1, 3), (SAME, -1, 3), (SAME, 5, 0))
    ),
    "acks 0 refused": Incident("closed-acks0", closing("broker"), closing("client")),
    "idle": Incident(
        "closed-idle", closing("broker", acks=1, idle=600_000), closing("broker", acks=1, idle=600_000, pending=True)
    ),
    "young connection": Incident(
        "closed-idle", closing("client", acks=1, idle=90_000, flag=RST), closing("broker", acks=1, idle=5_000)
    ),
    "HTTP": Incident("closed-not-kafka", starting(b"GET / HTTP/1.1\r\n\r\n"), starting(KAFKA, GREETING)),
    "TLS to plaintext": Incident("closed-not-kafka", starting(HELLO), starting(HELLO, HELLO)),
    "plaintext to TLS": Incident(
        "closed-not-kafka", starting(KAFKA, b"\x15\x03\x03\x00\x02\x02\x46"), starting(KAFKA, GREETING)
    ),
    "oversized request": Incident("closed-oversized", huge(200_000_000), huge(5_000)),
    "version not served": Incident("closed-unsupported-version", unserved(13), unserved(11)),
    "bad credentials": Incident("closed-authentication", signing_in(58), signing_in(0)),
    "session lapsed": Incident("closed-authentication", signing_in(0, 1_000, 2_000), signing_in(0, 60_000, 2_000)),
    "connections turned away": Incident(
        "closed-authentication",
        lambda: [Conversation(client=("10.0.0.1", 50_000 + n)).open().close("broker") for n in range(6)],
        lambda: [Conversation(client=("10.0.0.1", 50_000 + n)).open().close("broker") for n in range(2)],
    ),
    "pending requests": Incident(
        "closed-pending", closing("client", acks=1, idle=30_000, flag=RST, pending=True), closing("client", acks=1)
    ),
    "polls given up and polls left": Incident("closed-pending", polling_until(60_000), polling_until(400)),
    "retries": Incident(
        "retries",
        producing((batch(b"a", **NUMBERED, base_sequence=0), -1, 7), (batch(b"a", **NUMBERED, base_sequence=0), 5, 0)),
        producing((batch(b"a", **NUMBERED, base_sequence=0), 5, 0), (batch(b"a", **NUMBERED, base_sequence=1), 6, 0)),
    ),
    "duplicates": Incident(
        "duplicates",
        producing((SAME, 5, 0), (SAME, 7, 0)),
        producing((batch(b"a", **NUMBERED, base_sequence=0), 5, 0), (batch(b"a", **NUMBERED, base_sequence=0), 5, 0)),
    ),
    "stored again under another epoch": Incident(
        "duplicates",
        producing((in_epoch(0, 5, b"a"), 5, 0), (in_epoch(1, 0, b"a"), 6, 0)),
        producing((in_epoch(0, 5, b"a"), 5, 0), (in_epoch(1, 0, b"b"), 6, 0)),
    ),
    "sequence gap": Incident(
        "sequence-gap",
        producing(
            (batch(b"a", b"b", **NUMBERED, base_sequence=0), 5, 0), (batch(b"c", **NUMBERED, base_sequence=5), 7, 0)
        ),
        producing(
            (batch(b"a", b"b", **NUMBERED, base_sequence=2**31 - 2), 5, 0),
            (batch(b"c", **NUMBERED, base_sequence=0), 7, 0),
        ),
    ),
    "fenced": Incident("fenced", taking_over("tx"), taking_over("other")),
    "record too large": Incident("oversized-records", producing((SAME, -1, 10)), producing((SAME, 5, 0))),
    "large batches": Incident(
        "oversized-records", producing((batch(LARGE), 5, 0)), producing((batch(LARGE[:1_000_000]), 5, 0))
    ),
    "more than was asked for": Incident(
        "oversized-records",
        fetching([100, 101], lambda offset: (batch(bytes(300), base_offset=offset), {}), limit=200),
        fetching([100, 101], lambda offset: (batch(bytes(300), base_offset=offset), {}), limit=400),
    ),
    "not enough replicas": Incident("durability", producing((SAME, -1, 19)), producing((SAME, 5, 0))),
    "rebalance storm": Incident("rebalance-storm", joining(10, 3_000), joining(2, 3_000)),
    "members that come and go": Incident("rebalance-storm", joining(10, 3_000), gathering(4)),
    "one member that comes": Incident("rebalance-storm", joining(4, 1_000), gathering(1)),
    "member epochs changing": Incident("rebalance-storm", changing_epochs(10, 3_000), changing_epochs(10, 30_000)),
    "member epochs of a share group changing": Incident(
        "rebalance-storm", changing_share_epochs(10, 3_000), changing_share_epochs(10, 30_000)
    ),
    "member epochs of a streams group changing": Incident(
        "rebalance-storm", changing_streams_epochs(10, 3_000), changing_streams_epochs(10, 30_000)
    ),
    "partitions that are not given up": Incident(
        "member-not-reconciling", giving_up(20, after=99), giving_up(20, after=10)
    ),
    "partitions that are given up too late": Incident(
        "member-not-reconciling", giving_up(20, after=15), giving_up(9, after=99)
    ),
    "a record at its delivery limit": Incident("delivery-limit", delivering(5), delivering(4)),
    "throttled": Incident("throttling", throttled(500), throttled(0)),
    "slow": Incident("slow-api", slow_produce, long_poll),
    "old versions": Incident("old-client", producing((SAME, 5, 0), version=2), producing((SAME, 5, 0), version=3)),
    "never asks for versions": Incident(
        "old-client", lambda: [talk(greets=False).exchange(*BEAT)], lambda: [talk().exchange(*BEAT)]
    ),
    "leaders moving": Incident(
        "leader-churn", producing(*[(SAME, -1, 6)] * 6), producing(*[(SAME, -1, 6)] * 6, pause=40_000)
    ),
    "corruption": Incident("corruption", producing((damaged(1), 5, 0)), producing((damaged(0), 5, 0))),
    "corruption reported by the broker": Incident("corruption", producing((SAME, -1, 87)), producing((SAME, -1, 10))),
    "many full fetches": Incident("session-churn", full_fetches(12), full_fetches(6)),
    "sessions not found": Incident("session-churn", sessions([70] * 6), sessions([0] * 6)),
    "single records": Incident(
        "inefficiency",
        producing(*[(batch(b"%d" % n), n, 0) for n in range(25)]),
        producing(*[(batch(*[b"%d" % n] * 10), n, 0) for n in range(25)]),
    ),
    "uncompressed": Incident(
        "inefficiency",
        producing((batch(LARGE, b"b"), 5, 0)),
        producing((batch(LARGE, b"b", compression="gzip"), 5, 0)),
    ),
    "empty fetches in haste": Incident(
        "inefficiency",
        fetching([5] * 60, lambda _: (b"", {"hw": 5}), max_wait_ms=10),
        fetching([5] * 60, lambda _: (b"", {"hw": 5}), max_wait_ms=500),
    ),
    "metadata in a loop": Incident("inefficiency", metadata(20, 100), metadata(20, 30_000)),
}
