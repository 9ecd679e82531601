"""Options: one table, two spellings, and help for slips."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from kafkawire.client.errors import OptionError
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ClientOptions, ConsumerOptions, ProducerOptions, parse_address


def test_keywords_and_dotted_names_are_one_set() -> None:
    dotted = read_options(
        ProducerOptions, {"bootstrap.servers": "a:1", "linger.ms": "5", "batch.size": "100", "acks": "-1"}, {}
    )
    assert dotted == read_options(
        ProducerOptions, None, {"bootstrap_servers": "a:1", "linger_ms": 5, "max_batch_size": 100, "acks": "all"}
    )


@pytest.mark.parametrize(
    ("kind", "given", "complaint"),
    [
        (ProducerOptions, {"acsk": 1}, "no option 'acsk' for the producer; did you mean 'acks'?"),
        (ConsumerOptions, {"group.ip": "g"}, "did you mean 'group.id'?"),
        (ProducerOptions, {"group_id": "g"}, "'group_id' is one of the consumer, not of the producer"),
        (ConsumerOptions, {"linger.ms": 1}, "'linger.ms' is one of the producer, not of the consumer"),
        (ClientOptions, {"zzzzzz": 1}, "no option 'zzzzzz' for a client"),
        (ProducerOptions, {"acks": 7}, "option acks: expected one of all, 0, 1, found 7"),
        (ProducerOptions, {"linger_ms": "soon"}, "option linger_ms: expected a number, found 'soon'"),
        (ConsumerOptions, {"enable.auto.commit": "maybe"}, "expected true or false, found 'maybe'"),
        (ClientOptions, {"client_id": 5}, "option client_id: expected str, found 5"),
        (ClientOptions, {"ssl_context": "x"}, "option ssl_context: expected SSLContext, found 'x'"),
        (ProducerOptions, {"BOOTSTRAP_SERVERS": "k"}, "did you mean 'bootstrap_servers'?"),
        (ProducerOptions, {"retries": 3}, "no option 'retries' for the producer: records are resent until"),
        (ProducerOptions, {"transactional.id": "t", "acks": 1}, "transactional_id needs acks=all"),
        (ClientOptions, {"ssl.truststore.type": "BKS"}, "expected one of JKS, PEM, PKCS12, found 'BKS'"),
        (ProducerOptions, {"linger_ms": -1}, "option linger_ms: expected 0 or more, found -1"),
        (ProducerOptions, {"linger.ms": "nan"}, "option linger.ms: expected 0 or more, found 'nan'"),
        (ClientOptions, {"max.in.flight": 0}, "option max.in.flight: expected 1 or more, found 0"),
        (ConsumerOptions, {"value_deserializer": "json"}, "expected a callable, found 'json'"),
        (ClientOptions, {"bootstrap_servers": []}, "option bootstrap_servers: no server is given"),
        (ClientOptions, {"bootstrap_servers": [("k", 1)]}, "expected host:port or a list of them, found [('k', 1)]"),
        (
            ProducerOptions,
            {"batch.size": 1, "max_batch_size": 2},
            "given twice, as 'batch.size' and as",
        ),
    ],
)
def test_a_slip_is_refused_with_help(kind: Any, given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_options(kind, given, {})
    assert complaint in str(caught.value)


def test_idempotence_follows_the_acknowledgements_unless_it_is_asked_for() -> None:
    assert ProducerOptions().is_idempotent
    assert not ProducerOptions(acks="1").is_idempotent
    assert not ProducerOptions(enable_idempotence=False).is_idempotent
    with pytest.raises(OptionError, match="enable_idempotence needs acks=all, found acks=1"):
        _ = ProducerOptions(acks="1", enable_idempotence=True).is_idempotent


@pytest.mark.parametrize(
    ("name", "meaning"),
    [("smallest", "earliest"), ("beginning", "earliest"), ("largest", "latest"), ("end", "latest"), ("error", "none")],
)
def test_offset_resets_accept_the_names_of_librdkafka_too(name: str, meaning: str) -> None:
    assert read_options(ConsumerOptions, {"auto.offset.reset": name}, {}).auto_offset_reset == meaning


def test_no_compression_has_several_names() -> None:
    for name in (None, "none", "NONE"):
        assert read_options(ProducerOptions, None, {"compression_type": name}).codec == 0


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("kafka:9093", ("kafka", 9093)),
        (" kafka ", ("kafka", 9092)),
        ("SASL_SSL://kafka:1", ("kafka", 1)),
        ("[fe80::1]:1", ("fe80::1", 1)),
        ("[::1]", ("::1", 9092)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", [":9092", "kafka:http", "kafka:0", "kafka:65536", "kafka:"])
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="expected host:port"):
        parse_address(text)


def test_several_bootstrap_servers_as_text_or_list() -> None:
    expected = [("a", 1), ("b", 9092)]
    assert ClientOptions(bootstrap_servers="a:1,b").servers == expected
    assert ClientOptions(bootstrap_servers=["a:1", "b"]).servers == expected


def test_secrets_stay_out_of_the_repr() -> None:
    assert "hunter2" not in repr(ClientOptions(sasl_plain_password="hunter2", ssl_password="hunter2"))


def test_tls_only_where_the_protocol_has_it() -> None:
    context = ssl.create_default_context()
    assert ClientOptions(ssl_context=context).tls() is None
    assert ClientOptions(ssl_context=context, security_protocol="SASL_SSL").tls() is context
    made = ClientOptions(security_protocol="SSL", ssl_check_hostname=False).tls()
    assert made is not None
    assert not made.check_hostname


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"ssl_cafile": "/nowhere.pem"}, "ssl_cafile=/nowhere.pem: No such file or directory"),
        ({"ssl_cafile": __file__}, r"ssl_cafile: expected certificates in PEM .*found none"),
        ({"ssl_certfile": "/nowhere.pem"}, "ssl_certfile=/nowhere.pem: No such file or directory$"),
        ({"ssl_certfile": __file__}, "expected one private key and its certificates in PEM, found 0 keys"),
        (
            {"ssl_certfile": "/nowhere.pem", "ssl_keyfile": "/key.pem"},
            "ssl_certfile '/nowhere.pem', ssl_keyfile '/key.pem': No such file or directory$",
        ),
        ({"ssl_certdata": "x"}, "ssl_keydata: expected together with"),
        ({"ssl_cafile": "x", "ssl_cadata": "y"}, "expected either a file or"),
        ({"ssl_enabled_protocols": "TLSv1.1"}, "expected TLSv1.2 and TLSv1.3, found TLSv1.1"),
        ({"ssl_cipher_suites": "TLS_NONE"}, "TLS_NONE is not a cipher suite"),
    ],
)
def test_a_file_of_tls_that_cannot_be_used_is_named(files: dict[str, str], complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        ClientOptions(security_protocol="SSL", **files).tls()  # type: ignore[arg-type]


def test_a_login_is_given_once() -> None:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    given = {
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_jaas_config": f'{module} required username="ann" password="a";',
        "sasl_plain_password": "b",
    }
    with pytest.raises(OptionError, match="sasl_jaas_config: expected it without sasl_plain_username"):
        read_options(ClientOptions, given, {})
