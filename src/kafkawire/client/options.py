"""The options of every client: one table, two spellings.

Rules:
- A field of these classes is an option. Its name is the Python keyword; with dots for underscores it is Kafka's name.
  `also` has other names, known from librdkafka, aiokafka and Java.
- `option_names` reads options by these names; it refuses unknown ones, and converts text.
- `trace` has an environment variable besides, so that any program can be traced without a change to it.
- Every option here has an effect; features that the clients do not have have no option.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from kafkawire.client.errors import AuthenticationFailedError, OptionError
from kafkawire.records import Codec
from kafkawire.wire.jaas import JaasError, parse_jaas

if TYPE_CHECKING:
    from kafkawire.client._trace.events import ConnectionTrace, TraceEvent

TRACE_VARIABLE: Final = "KAFKAWIRE_TRACE"
ALSO, LEAST = "also", "least"
Serializer = Callable[[Any], bytes | None]
Deserializer = Callable[[bytes], Any]


def _named(default: Any, *also: str, secret: bool = False, least: int | None = 0) -> Any:
    return field(default=default, metadata={ALSO: also, LEAST: least}, repr=not secret)


@dataclass(frozen=True, kw_only=True)
class ClientOptions:
    """Options of every client: addresses, security, timeouts."""

    bootstrap_servers: str | Sequence[str] = _named("localhost:9092", "brokers", "bootstrap.server")
    client_id: str = "kafkawire"
    request_timeout_ms: int = _named(40_000, "socket.timeout.ms", least=1)
    connect_timeout_ms: int = _named(10_000, "socket.connection.setup.timeout.ms", least=1)
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    default_api_timeout_ms: int = 60_000
    metadata_max_age_ms: int = _named(300_000, "topic.metadata.refresh.interval.ms")
    metadata_recovery_strategy: Literal["rebootstrap", "none"] = "rebootstrap"
    metadata_recovery_rebootstrap_trigger_ms: int = 300_000
    metadata_cluster_check_enable: bool = True
    max_in_flight_requests_per_connection: int = _named(5, "max.in.flight", least=1)
    connections_max_idle_ms: int = _named(540_000, least=1)
    trace: str | Callable[[Any], None] | None = None
    receive_message_max_bytes: int = _named(104_857_600, least=1)
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    ssl_context: ssl.SSLContext | None = None
    ssl_cafile: str | None = _named(None, "ssl.ca.location", "ssl.truststore.location")
    ssl_cadata: str | None = _named(None, "ssl.ca.pem", "ssl.truststore.certificates")
    ssl_truststore_type: Literal["PEM"] = "PEM"
    ssl_certfile: str | None = _named(None, "ssl.certificate.location", "ssl.keystore.location")
    ssl_keystore_type: Literal["PEM"] = "PEM"
    ssl_keyfile: str | None = _named(None, "ssl.key.location")
    ssl_password: str | None = _named(None, "ssl.key.password", secret=True)
    ssl_check_hostname: bool = True
    ssl_endpoint_identification_algorithm: Literal["https", "none"] = "https"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = _named(
        "PLAIN", "sasl.mechanisms"
    )
    sasl_plain_username: str | None = _named(None, "sasl.username", "sasl_username")
    sasl_plain_password: str | None = _named(None, "sasl.password", "sasl_password", secret=True)
    sasl_token_auth: bool = False
    sasl_jaas_config: str | None = _named(None, secret=True)
    sasl_oauth_token_provider: Callable[[], Any] | None = None
    sasl_login_callback_handler_class: (
        Literal[
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
            "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
            "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler",
        ]
        | None
    ) = None
    sasl_oauthbearer_token_endpoint_url: str | None = None
    sasl_oauthbearer_client_id: str | None = _named(None, "sasl.oauthbearer.client.credentials.client.id")
    sasl_oauthbearer_client_secret: str | None = _named(
        None, "sasl.oauthbearer.client.credentials.client.secret", secret=True
    )
    sasl_oauthbearer_scope: str | None = None
    sasl_oauthbearer_extensions: str | None = None
    sasl_oauthbearer_cafile: str | None = _named(None, "https.ca.location")
    sasl_oauthbearer_method: Literal["default", "oidc"] = "default"

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

    def login(self) -> tuple[str, str, bool]:
        """The user and the password of SASL, and whether they are a delegation token."""
        if self.sasl_jaas_config is not None:
            try:
                given = parse_jaas(self.sasl_jaas_config, "sasl_jaas_config").options
            except JaasError as error:
                raise OptionError(str(error)) from None
            if not {"username", "password"} <= given.keys():
                raise OptionError("sasl_jaas_config: expected username and password")
            return given["username"], given["password"], self._is_token(given.get("tokenauth", "").lower() == "true")
        if self.sasl_plain_username is None or self.sasl_plain_password is None:
            needed = "sasl_plain_username and sasl_plain_password, or sasl_jaas_config"
            raise AuthenticationFailedError(f"SASL {self.sasl_mechanism} needs {needed}")
        return self.sasl_plain_username, self.sasl_plain_password, self._is_token(self.sasl_token_auth)

    def _is_token(self, is_token: bool) -> bool:
        if is_token and not self.sasl_mechanism.startswith("SCRAM"):
            found = f"found sasl_mechanism={self.sasl_mechanism}"
            raise OptionError(f"a delegation token logs in by SCRAM-SHA-256 or SCRAM-SHA-512, {found}")
        return is_token

    def tls(self) -> ssl.SSLContext | None:
        """The TLS context, or None for plain text."""
        if not self.security_protocol.endswith("SSL"):
            return None
        if self.ssl_context is not None:
            return self.ssl_context
        try:
            context = ssl.create_default_context(cafile=self.ssl_cafile, cadata=self.ssl_cadata)
        except OSError as error:
            hint = "; expected certificates in PEM" if isinstance(error, ssl.SSLError) else ""
            raise OptionError(f"ssl_cafile {self.ssl_cafile!r}: {error.strerror or error}{hint}") from error
        context.check_hostname = self.ssl_check_hostname and self.ssl_endpoint_identification_algorithm == "https"
        if self.ssl_certfile:
            # without a password OpenSSL would prompt for one on the terminal
            password = self.ssl_password or ""
            try:
                context.load_cert_chain(self.ssl_certfile, self.ssl_keyfile, password)
            except OSError as error:
                files = f"ssl_certfile {self.ssl_certfile!r}, ssl_keyfile {self.ssl_keyfile!r}"
                hint = "; is ssl_password right?" if isinstance(error, ssl.SSLError) else ""
                raise OptionError(f"{files}: {error.strerror or error}{hint}") from error
        return context


@dataclass(frozen=True, kw_only=True)
class ProducerOptions(ClientOptions):
    """Further options of a producer."""

    acks: Literal["all", "0", "1"] = _named("all", "request.required.acks")
    enable_idempotence: bool | None = None
    compression_type: Literal["none", "gzip", "snappy", "lz4", "zstd"] = _named("none", "compression.codec")
    compression_level: int | None = _named(None, least=None)
    linger_ms: float = _named(0, "queue.buffering.max.ms")
    max_batch_size: int = _named(262_144, "batch.size", "batch_size")
    max_request_size: int = _named(1_048_576, "message.max.bytes")
    buffer_memory: int = _named(33_554_432, least=1)
    max_block_ms: int = 60_000
    delivery_timeout_ms: int = _named(120_000, "message.timeout.ms")
    transactional_id: str | None = None
    transaction_timeout_ms: int = _named(60_000, least=1)
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
    heartbeat_interval_ms: int = _named(3_000, least=1)
    max_poll_interval_ms: int = 300_000
    rebalance_timeout_ms: int | None = None
    max_poll_records: int | None = _named(None, least=1)
    fetch_max_wait_ms: int = _named(500, "fetch.wait.max.ms")
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    max_partition_fetch_bytes: int = _named(1_048_576, "fetch.message.max.bytes")
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
    max_poll_records: int = _named(500, least=1)
    max_poll_interval_ms: int = 300_000
    fetch_max_wait_ms: int = _named(500, "fetch.wait.max.ms")
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
