"""Secured listeners beside Apache Kafka's, and the cost of deciding who may do what.

Rules:
- Both brokers have the same certificate (EC P-256), the same users and the same settings; the client is the same.
- Records: confluent-kafka over TLS, as in `benchmarks.apache`, wall time and processor time of the broker.
- Connections: from the first byte to the answer of Metadata, over TLS and SCRAM-SHA-512, one after the other, in turns;
  the median counts. The client derives the keys of its password every time.
- Decisions: 10 000 ACLs of 100 principals over literal and prefixed names; every question is asked for the first time,
  so that no cache answers.
"""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from tests.interop.apache_kafka import JARS, ApacheBroker, ApacheKafka
from tests.interop.maven import are_fetched

from benchmarks.apache import VIRTUAL_MACHINE, Contender, Work, compare, consume, produce
from benchmarks.broker import server
from benchmarks.report import Row
from kafkawire.broker._acls.authorizer import Authorizer
from kafkawire.broker._acls.entries import Entries
from kafkawire.broker._security.development_certificates import DevelopmentAuthority
from kafkawire.client._cluster.blocking_connection import SocketConnection
from kafkawire.client.blocking import Admin
from kafkawire.client.options import ClientOptions
from kafkawire.messages import MetadataRequest, MetadataResponse
from kafkawire.testing._running import claim_port
from kafkawire.wire.acls import Acl, Operation, Pattern, PatternType, Permission, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterator

PRINCIPALS, NAMES = 100, 50
CONNECTIONS, WARM_UP = 300, 150
PASSWORD: Final = "a-password-of-the-benchmark"
_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def settings(directory: Path) -> dict[str, str]:
    """The settings of the secured listeners of both brokers."""
    authority = DevelopmentAuthority.create()
    (directory / "server.pem").write_text(authority.issue("broker", ("localhost", "127.0.0.1")).both)
    (directory / "ca.pem").write_text(authority.certificate)
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / "server.pem"),
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": _MODULE,
    }


class SecuredKafka(ApacheBroker):
    """Apache Kafka with further listeners for TLS, and for TLS with SASL."""

    def __init__(self, kafka: ApacheKafka, directory: Path, secured: dict[str, str]) -> None:
        super().__init__(kafka, directory, settings=secured, virtual_machine=VIRTUAL_MACHINE)
        self.tls, self.sasl = (f"127.0.0.1:{claim_port(self)}" for _ in range(2))
        text = self._properties.read_text()
        more = f",SSL://{self.tls},SASL_SSL://{self.sasl},CONTROLLER://"
        protocols = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT"
        text = text.replace(",CONTROLLER://", more) + f"listener.security.protocol.map={protocols}\n"
        self._properties.write_text(text)


def connect(address: str, options: ClientOptions) -> float:
    """Seconds from the first byte to the answer of Metadata."""
    host, _, port = address.rpartition(":")
    start = perf_counter()
    connection = SocketConnection(host, int(port), options)
    assert connection.request(MetadataRequest(topics=[]), MetadataResponse).brokers
    taken = perf_counter() - start
    connection.close()
    return taken


def connection_rows(ours: Contender, theirs: Contender, authority: Path) -> Iterator[Row]:
    options = ClientOptions(
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_plain_username="bench",
        sasl_plain_password=PASSWORD,
        ssl_context=ssl.create_default_context(cafile=str(authority)),
    )
    for _ in range(WARM_UP):
        connect(ours.address, options)
        connect(theirs.address, options)
    before = ours.processor_seconds(), theirs.processor_seconds()
    times = [(connect(ours.address, options), connect(theirs.address, options)) for _ in range(CONNECTIONS)]
    used = ours.processor_seconds() - before[0], theirs.processor_seconds() - before[1]
    usual = median(one for one, _ in times), median(other for _, other in times)
    note = (
        f"{usual[0] * 1000:.2f} ms against {usual[1] * 1000:.2f} ms; processor {used[0]:.2f} s against {used[1]:.2f} s"
    )
    yield Row("SASL_SSL connect to first Metadata answer", "x Apache Kafka", usual[1] / usual[0], 1.0, note=note)


def decision_rows() -> Iterator[Row]:
    entries = Entries()
    number = 0
    for who in range(PRINCIPALS):
        for what in range(NAMES):
            for kind in (PatternType.LITERAL, PatternType.PREFIXED):
                name = f"topic-{what}" if kind is PatternType.LITERAL else "topic-"[: what % 6 + 1] + str(what)
                pattern = Pattern(ResourceType.TOPIC, name, kind)
                operation = (Operation.READ, Operation.WRITE, Operation.DESCRIBE)[what % 3]
                permission = Permission.DENY if what % 10 == 9 else Permission.ALLOW
                entries.add(UUID(int=number), Acl(pattern, f"User:{who}", "*", operation, permission))
                number += 1
    assert len(entries) == PRINCIPALS * NAMES * 2
    questions = [(f"User:{who}", f"topic-{what}") for who in range(PRINCIPALS) for what in range(NAMES * 2)]
    best: dict[str, float] = {"first": 1.0, "cached": 1.0}
    for _ in range(5):
        authorizer = Authorizer(entries)
        for cache in best:
            start = perf_counter()
            for principal, topic in questions:
                authorizer.allows(principal, "10.0.0.1", Operation.READ, ResourceType.TOPIC, topic)
            best[cache] = min(best[cache], (perf_counter() - start) / len(questions))
    yield Row("authorizing a request, 10 000 ACLs, not cached", "us", best["first"] * 1e6, 5.0, at_most=True)
    yield Row("the same again", "us", best["cached"] * 1e6, 5.0, at_most=True)


def rows() -> Iterator[Row]:
    yield from decision_rows()
    if not are_fetched(JARS):
        yield Row("secured listeners beside Apache Kafka", "not fetched", float("nan"), note="make interop fetches it")
        return
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        secured = settings(directory)
        tls: dict[str, Any] = {"security.protocol": "SSL", "ssl.ca.location": str(directory / "ca.pem")}
        apache = SecuredKafka(ApacheKafka(), directory, secured)
        apache.start()
        ports = [claim_port(apache) for _ in range(2)]
        listeners = f"PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:{ports[0]},SASL_SSL://127.0.0.1:{ports[1]}"
        given = [word for pair in secured.items() for word in ("-c", "=".join(pair))]
        command = ("kafkawire", "serve", "--data", f"{directory}/ours", "-c", f"listeners={listeners}", *given)
        try:
            with server(*command) as running:
                for address in (apache.bootstrap, f"127.0.0.1:{running.port}"):
                    with Admin(bootstrap_servers=address) as admin:
                        admin.set_user("bench", PASSWORD)
                pids = running.process.pid, apache.process.pid
                yield from connection_rows(
                    Contender(f"127.0.0.1:{ports[1]}", pids[0]), Contender(apache.sasl, pids[1]), directory / "ca.pem"
                )
                for work in (
                    Work(
                        "TLS: confluent-kafka produces 100-byte records", lambda at: produce(at, "tls", **tls), 1.0, 1.0
                    ),
                    Work(
                        "TLS: confluent-kafka consumes 100-byte records", lambda at: consume(at, "tls", **tls), 1.0, 1.0
                    ),
                ):
                    yield from compare(
                        work, Contender(f"127.0.0.1:{ports[0]}", pids[0]), Contender(apache.tls, pids[1])
                    )
        finally:
            apache.stop()
