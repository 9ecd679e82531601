"""The options of every client: one table, two spellings.

Rules:
- A field of these classes is an option (`_options.declaration`). Those of TLS and SASL are in `_options.security`.
  Further names are known from librdkafka, aiokafka and Java.
- `option_names` reads options by these names; it refuses unknown ones, and converts text.
- `trace` also has an environment variable, so that any program can be traced without a change to it.
- Every option here has an effect; a feature that the clients lack has no option.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from kafkawire.client._options.declaration import option
from kafkawire.client._options.security import SecurityOptions
from kafkawire.client.errors import OptionError
from kafkawire.records import Codec

if TYPE_CHECKING:
    from kafkawire.client._trace.events import ConnectionTrace, TraceEvent

TRACE_VARIABLE: Final = "KAFKAWIRE_TRACE"
Serializer = Callable[[Any], bytes | None]
Deserializer = Callable[[bytes], Any]


@dataclass(frozen=True, kw_only=True)
class ClientOptions(SecurityOptions):
    """Options of every client: addresses, security, timeouts."""

    bootstrap_servers: str | Sequence[str] = option("localhost:9092", "brokers", "bootstrap.server")
    client_id: str = "kafkawire"
    request_timeout_ms: int = option(40_000, "socket.timeout.ms", least=1)
    connect_timeout_ms: int = option(10_000, "socket.connection.setup.timeout.ms", least=1)
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    default_api_timeout_ms: int = 60_000
    metadata_max_age_ms: int = option(300_000, "topic.metadata.refresh.interval.ms")
    metadata_recovery_strategy: Literal["rebootstrap", "none"] = "rebootstrap"
    metadata_recovery_rebootstrap_trigger_ms: int = 300_000
    metadata_cluster_check_enable: bool = True
    max_in_flight_requests_per_connection: int = option(5, "max.in.flight", least=1)
    connections_max_idle_ms: int = option(540_000, least=1)
    trace: str | Callable[[Any], None] | None = None
    receive_message_max_bytes: int = option(104_857_600, least=1)

    @property
    def servers(self) -> list[tuple[str, int]]:
        """The bootstrap servers as addresses."""
        listed = self.bootstrap_servers
        names = listed.split(",") if isinstance(listed, str) else listed
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise OptionError(f"option bootstrap_servers: expected host:port or a list of them, found {listed!r}")
        found = [parse_address(name) for name in names if name.strip()]
        if not found:
            raise OptionError("option bootstrap_servers: no server is given")
        return found

    def trace_of(self, place: str) -> ConnectionTrace | None:
        """The trace of a connection to this address, or None."""
        sink = self._trace_sink()
        if sink is None:
            return None
        from kafkawire.client._trace.events import ConnectionTrace

        return ConnectionTrace(sink, place, self.client_id)

    def _trace_sink(self) -> Callable[[TraceEvent], None] | None:
        """The sink of the option, else that of the environment, else None."""
        wanted = os.environ.get(TRACE_VARIABLE) if self.trace is None else self.trace
        if not wanted:
            return None
        from kafkawire.client._trace.sinks import sink_of

        return sink_of(wanted, TRACE_VARIABLE if self.trace is None else "option trace")


@dataclass(frozen=True, kw_only=True)
class ProducerOptions(ClientOptions):
    """Further options of a producer."""

    acks: Literal["all", "0", "1"] = option("all", "request.required.acks")
    enable_idempotence: bool | None = None
    compression_type: Literal["none", "gzip", "snappy", "lz4", "zstd"] = option("none", "compression.codec")
    compression_level: int | None = option(None, least=None)
    linger_ms: float = option(0, "queue.buffering.max.ms")
    max_batch_size: int = option(262_144, "batch.size", "batch_size")
    max_request_size: int = option(1_048_576, "message.max.bytes")
    buffer_memory: int = option(33_554_432, least=1)
    max_block_ms: int = 60_000
    delivery_timeout_ms: int = option(120_000, "message.timeout.ms")
    transactional_id: str | None = None
    transaction_timeout_ms: int = option(60_000, least=1)
    key_serializer: Serializer | None = None
    value_serializer: Serializer | None = None
    partitioner: Callable[[bytes | None, Sequence[int], Sequence[int]], int] | None = None

    @property
    def required_acks(self) -> int:
        return -1 if self.acks == "all" else int(self.acks)

    @property
    def is_idempotent(self) -> bool:
        """On unless `acks` is 0 or 1; asking for both is an error."""
        if self.enable_idempotence and self.acks != "all":
            raise OptionError(f"enable_idempotence needs acks=all, found acks={self.acks}")
        if self.transactional_id is not None and (self.acks != "all" or self.enable_idempotence is False):
            raise OptionError("transactional_id needs acks=all and enable_idempotence, found one of them switched off")
        return self.acks == "all" if self.enable_idempotence is None else self.enable_idempotence

    @property
    def codec(self) -> Codec:
        return Codec.of(self.compression_type)


@dataclass(frozen=True, kw_only=True)
class ConsumerOptions(ClientOptions):
    """Further options of a consumer."""

    group_id: str | None = None
    group_instance_id: str | None = None
    group_protocol: Literal["classic", "consumer"] = "classic"
    group_remote_assignor: str | None = None
    auto_offset_reset: Literal["latest", "earliest", "none"] = "latest"
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    isolation_level: Literal["read_uncommitted", "read_committed"] = "read_uncommitted"
    partition_assignment_strategy: str | Sequence[str] = "range,cooperative-sticky"
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = option(3_000, least=1)
    max_poll_interval_ms: int = 300_000
    rebalance_timeout_ms: int | None = None
    max_poll_records: int | None = option(None, least=1)
    fetch_max_wait_ms: int = option(500, "fetch.wait.max.ms")
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    max_partition_fetch_bytes: int = option(1_048_576, "fetch.message.max.bytes")
    check_crcs: bool = True
    exclude_internal_topics: bool = True
    key_deserializer: Deserializer | None = None
    value_deserializer: Deserializer | None = None

    @property
    def isolation(self) -> int:
        return 1 if self.isolation_level == "read_committed" else 0


@dataclass(frozen=True, kw_only=True)
class ShareConsumerOptions(ClientOptions):
    """Further options of a share consumer."""

    group_id: str | None = None
    share_acknowledgement_mode: Literal["implicit", "explicit"] = "implicit"
    share_acquire_mode: Literal["batch_optimized", "record_limit"] = "batch_optimized"
    max_poll_records: int = option(500, least=1)
    max_poll_interval_ms: int = 300_000
    fetch_max_wait_ms: int = option(500, "fetch.wait.max.ms")
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    check_crcs: bool = True
    key_deserializer: Deserializer | None = None
    value_deserializer: Deserializer | None = None

    @property
    def acquire_mode(self) -> int:
        return 1 if self.share_acquire_mode == "record_limit" else 0


AdminOptions = ClientOptions


def parse_address(text: str) -> tuple[str, int]:
    """A host and port, optionally preceded by the scheme of a listener.

    >>> parse_address("kafka-1:9093"), parse_address("[::1]:9092"), parse_address("PLAINTEXT://k"), parse_address("::1")
    (('kafka-1', 9093), ('::1', 9092), ('k', 9092), ('::1', 9092))
    """
    rest = text.strip().rpartition("://")[2]
    host, colon, port = rest.rpartition(":")
    if not colon or rest.endswith("]") or (":" in host and not host.endswith("]")):
        host, port = rest, "9092"
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise OptionError(f"bootstrap server {text!r}: expected host:port")
    return host, int(port)
