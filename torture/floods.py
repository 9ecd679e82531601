"""Floods, slow peers, idle peers and requests that ask for too much, beside neighbours that measure.

Rules:
- A neighbour is there before the flood. It measures an idle broker first: that is the noise of the machine, and it is
  reported beside the rest.
- One flood at a time, each on a broker that was just started. The figures say how long neighbours waited, and what the
  broker took of memory and descriptors.
- The data of a flood stays until the scenario ends. For minutes after many files were removed, ext4 searches long for a
  free inode. Creating files then takes ten times as long.
- `scale` makes every flood smaller for the short form.
"""

from __future__ import annotations

import resource
import socket
import struct
from contextlib import ExitStack, suppress
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.messages import ApiVersionsRequest, CreateTopicsRequest, DescribeConfigsRequest, MetadataRequest
from torture.hostile import LONGEST_STALL_MS, check_health, neighbour_pause
from torture.neighbour import Neighbour
from torture.peer import MEGABYTE, Asked, Peer, batch, check, create, fetch, metadata, produce
from torture.scenario import BrokenPromiseError
from torture.victim import Victim

if TYPE_CHECKING:
    from collections.abc import Callable

    from torture.scenario import Budget, Stage

IDLE_SECONDS: Final = 1.0
ANSWERED_WITHIN: Final = 120.0
STOPS_WITHIN: Final = 5.0
FEW_DESCRIPTORS: Final = 300
QUEUED: Final = 256 * MEGABYTE
LEAST: Final = 0.2
"""The memory for requests and what fills it are never made smaller than this."""
GREETING: Final = Asked(ApiVersionsRequest(client_software_name="flood", client_software_version="1"), 3)


class Flood(NamedTuple):
    """One way to keep a broker busy; `run` returns when it is over."""

    name: str
    run: Callable[[Victim, float], None]
    descriptors: int = 0


def slow_frames(victim: Victim, scale: float) -> None:
    """Hundreds of connections send most of a frame of 1 MB, and then a byte now and then."""
    with ExitStack() as stack:
        peers = [stack.enter_context(_connected(victim)) for _ in range(int(330 * max(scale, LEAST)))]
        body = produce("neighbour", 0, bytes(MEGABYTE)).frame()
        for peer in peers:  # at a pace that leaves the measuring neighbours a processor
            _push(peer, body[:700_000])
            neighbour_pause(monotonic() + 0.002)
        end = monotonic() + 2 + 10 * scale
        position = 700_000
        while monotonic() < end:
            for peer in peers:
                _push(peer, body[position : position + 1])
            position += 1
            neighbour_pause(min(end, monotonic() + 0.5))


def pipelines(victim: Victim, scale: float) -> None:
    """One connection sends small requests as fast as the broker takes them, and reads the answers."""
    frames = GREETING.frame() * 2000
    with _connected(victim) as peer:
        peer.setblocking(False)
        end, unsent = monotonic() + 1 + 4 * scale, memoryview(frames)
        while monotonic() < end:
            with suppress(BlockingIOError):
                unsent = unsent[peer.send(unsent) :] or memoryview(frames)
            with suppress(BlockingIOError):
                peer.recv(MEGABYTE)


def describe_configs(victim: Victim, scale: float) -> None:
    """DescribeConfigs names the broker tens of thousands of times."""
    wanted = DescribeConfigsRequest.DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=None)
    _ask(victim, Asked(DescribeConfigsRequest(resources=[wanted] * int(60_000 * scale)), 4).frame())


def validate_topics(victim: Victim, scale: float) -> None:
    """CreateTopics of tens of thousands of names that are only to be validated."""
    topics = [
        CreateTopicsRequest.CreatableTopic(name=f"not-made-{number}", num_partitions=1, replication_factor=1)
        for number in range(int(20_000 * scale))
    ]
    _ask(victim, Asked(CreateTopicsRequest(topics=topics, validate_only=True, timeout_ms=60_000), 7).frame())


def many_partitions(victim: Victim, scale: float) -> None:
    """A topic of thousands of partitions is created."""
    _ask(victim, create("wide", int(5000 * scale)).frame())


def auto_created_topics(victim: Victim, scale: float) -> None:
    """Metadata names thousands of topics that are created for it."""
    topics = [MetadataRequest.MetadataRequestTopic(name=f"new-{number}") for number in range(int(2000 * scale))]
    _ask(victim, Asked(MetadataRequest(topics=topics), 12).frame())


def ten_thousand_partitions(victim: Victim, scale: float) -> None:
    """A record goes to each of ten thousand partitions, so that SIGTERM has to close them all."""
    many = int(10_000 * scale)
    with Peer(victim.port) as peer:
        check(peer.ask(create("every", many)).topics[0].error_code, "creating every")
        for number in range(many):
            answered = peer.ask(produce("every", number, batch([b"value"])))
            check(answered.responses[0].partition_responses[0].error_code, f"writing to every-{number}")


def unknown_partitions(victim: Victim, scale: float) -> None:
    """Fetch asks for millions of partitions that do not exist."""
    many = int(2_000_000 * scale)
    body = struct.pack(">iiiibih4si", -1, 0, 0, MEGABYTE, 0, 1, 4, b"none", many)
    _ask(victim, _frame(1, 4, body + struct.pack(">iqi", 1, 0, 1000) * many))


def many_names(victim: Victim, scale: float) -> None:
    """Metadata asks for millions of names."""
    many = int(5_000_000 * scale)
    _ask(victim, _frame(3, 4, struct.pack(">i", many) + b"\0\1a" * many + b"\0"))


def slow_readers(victim: Victim, scale: float) -> None:
    """Connections ask for megabytes, and do not read them."""
    with Peer(victim.port) as peer:
        check(peer.ask(create("large")).topics[0].error_code, "creating large")
        for _ in range(8):
            answered = peer.ask(produce("large", 0, batch([bytes(900_000)])))
            check(answered.responses[0].partition_responses[0].error_code, "filling large")
    asked = fetch("large", 0, 0, max_bytes=8 * MEGABYTE).frame() * 4
    with ExitStack() as stack:
        for _ in range(int(200 * max(scale, 0.2))):
            peer_socket = stack.enter_context(_connected(victim))
            peer_socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            _push(peer_socket, asked)
        neighbour_pause(monotonic() + 1 + 4 * scale)


def idle_connections(victim: Victim, scale: float) -> None:
    """Thousands of connections say nothing; some have begun a frame, some are closed by half."""
    with ExitStack() as stack:
        peers = [stack.enter_context(_connecting(victim)) for _ in range(int(3000 * max(scale, 0.2)))]
        neighbour_pause(monotonic() + 0.5 + 4 * scale)
        for number, peer in enumerate(peers):
            if number % 3:
                _push(peer, GREETING.frame()[:7])
            if number % 3 == 2:
                with suppress(OSError):
                    peer.shutdown(socket.SHUT_WR)
        neighbour_pause(monotonic() + 0.5 + 4 * scale)


def no_descriptors(victim: Victim, scale: float) -> None:
    """More connections than the broker has descriptors; when they are gone it works as before."""
    with ExitStack() as stack:
        for _ in range(2 * FEW_DESCRIPTORS):
            stack.enter_context(_connecting(victim))
        neighbour_pause(monotonic() + 0.5 + 4 * scale)
    with Peer(victim.port) as peer:
        check(peer.ask(create("after")).topics[0].error_code, "creating a topic once descriptors are free")
        answered = peer.ask(produce("after", 0, batch([b"value"])))
        check(answered.responses[0].partition_responses[0].error_code, "producing once descriptors are free")


FLOODS: Final = (
    Flood("slow frames", slow_frames),
    Flood("pipelines of one connection", pipelines),
    Flood("DescribeConfigs of many resources", describe_configs),
    Flood("CreateTopics of many names", validate_topics),
    Flood("a topic of many partitions", many_partitions),
    Flood("topics created by Metadata", auto_created_topics),
    Flood("a record in each of many partitions", ten_thousand_partitions),
    Flood("Fetch of many unknown partitions", unknown_partitions),
    Flood("Metadata of many names", many_names),
    Flood("slow readers", slow_readers),
    Flood("idle connections", idle_connections),
    Flood("no descriptors", no_descriptors, FEW_DESCRIPTORS),
)


class Floods:
    """Every flood in turn, as often as the budget allows."""

    name = "floods"
    promises = (
        "a neighbour waits for no answer longer than the limit",
        "memory stays bounded, and a broker without descriptors works again when there are some",
        f"SIGTERM ends a broker within {STOPS_WITHIN:g} s",
    )

    def __init__(self, *, scale: float = 1.0, only: tuple[str, ...] = (), stall_ms: float = LONGEST_STALL_MS) -> None:
        self._scale, self._stall_ms = scale, stall_ms
        self._floods = [flood for flood in FLOODS if not only or flood.name in only]

    def run(self, budget: Budget, stage: Stage) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        broken: list[str] = []
        with Victim(stage.work / "floods") as victim:
            for number in count():
                flood = self._floods[number % len(self._floods)]
                if (broken and number >= len(self._floods)) or not budget.take():
                    break
                stage.tell(f"flood {number + 1}, {flood.name}")
                victim.data = stage.work / "floods" / f"{number}"
                victim.descriptor_limit = flood.descriptors
                victim.settings["queued.max.request.bytes"] = str(int(QUEUED * max(self._scale, LEAST)))
                try:
                    self._flood(flood, victim, stage, idle=not number)
                except BrokenPromiseError as error:
                    broken.append(f"{flood.name}: {error.found} (promised: {error.promised})")
                finally:
                    victim.kill()
                stage.figures.add("floods")
        if broken:
            raise BrokenPromiseError("floods of one client do not hurt another", "; ".join(broken))

    def _flood(self, flood: Flood, victim: Victim, stage: Stage, *, idle: bool) -> None:
        work = stage.work / "floods"
        victim.start()
        with ExitStack() as stack:
            with Peer(victim.port) as peer:
                check(peer.ask(create("neighbour")).topics[0].error_code, "creating a topic")
            neighbours = [Neighbour(victim.port, metadata("neighbour").frame(), work)]
            if flood.run is slow_frames:
                large = produce("neighbour", 0, batch([bytes(500_000)]))
                neighbours.append(Neighbour(victim.port, large.frame(), work, interval_ms=50))
            for neighbour in neighbours:
                stack.enter_context(neighbour)
            neighbour_pause(monotonic() + IDLE_SECONDS * (max(self._scale, 0.3) if idle else 0.3))
            for neighbour in neighbours:
                seen = neighbour.report()
                if idle:
                    seen.note(stage.figures, "idle neighbour")
            self._measure(flood, victim, neighbours, stage)

    def _measure(self, flood: Flood, victim: Victim, neighbours: list[Neighbour], stage: Stage) -> None:
        try:
            flood.run(victim, self._scale)
        except (OSError, EOFError) as error:
            raise BrokenPromiseError("a broker outlives a flood", repr(error)) from error
        longest = 0.0
        for neighbour in neighbours:
            seen = neighbour.report()
            seen.note(stage.figures)
            longest = max(longest, seen.most)
        check_health(victim, stage.figures)
        took = victim.terminate()
        stage.figures.add("SIGTERM to exit", took * 1000)
        if took > STOPS_WITHIN:
            raise BrokenPromiseError(self.promises[2], f"{took:.1f} s")
        if longest > self._stall_ms:
            raise BrokenPromiseError(f"{self.promises[0]} of {self._stall_ms:g} ms", f"{longest:.0f} ms")


def _connected(victim: Victim) -> socket.socket:
    return socket.create_connection(("127.0.0.1", victim.port), 10)


def _connecting(victim: Victim) -> socket.socket:
    """A socket that is on its way: a broker that does not accept holds up nobody here."""
    peer = socket.socket()
    peer.setblocking(False)
    peer.connect_ex(("127.0.0.1", victim.port))
    return peer


def _push(peer: socket.socket, data: bytes) -> None:
    """Send what the socket takes at once; a connection that the broker closed takes nothing."""
    peer.setblocking(False)
    with suppress(OSError):
        peer.send(data)


def _frame(key: int, version: int, body: bytes) -> bytes:
    head = struct.pack(">hhih5s", key, version, 1, 5, b"flood")
    return struct.pack(">i", len(head) + len(body)) + head + body


def _ask(victim: Victim, frame: bytes) -> None:
    """Send a frame and read its answer, or see the connection closed."""
    with socket.create_connection(("127.0.0.1", victim.port), ANSWERED_WITHIN) as peer, suppress(ConnectionError):
        peer.sendall(frame)
        left, head = -1, b""
        while left:
            data = peer.recv(MEGABYTE)
            if not data:
                return
            if left < 0:
                head += data
                if len(head) < 4:
                    continue
                left, data = int.from_bytes(head[:4], "big"), head[4:]
            left -= len(data)
