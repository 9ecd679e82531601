"""Options of reading topics: what is understood, and how the rest is refused."""

from __future__ import annotations

import logging

import pytest

from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ConsumerOptions
from kafkawire.spark import SourceOptionError
from kafkawire.spark._topics.options import TopicOptions, includes_headers

SERVERS = {"kafka.bootstrap.servers": "k1:9092,k2:9092"}
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def parse(*, is_stream: bool = False, **options: str) -> TopicOptions:
    named = {name.replace("__", "."): value for name, value in options.items()}
    return TopicOptions.parse({"subscribe": "t", **SERVERS, **named}, is_stream=is_stream)


def test_a_batch_starts_at_the_earliest_and_a_stream_at_the_latest() -> None:
    assert (parse().start.word, parse().end.word, parse(is_stream=True).start.word) == ("earliest", "latest", "latest")


def test_names_are_understood_in_any_case() -> None:
    options = TopicOptions.parse(
        {**SERVERS, "SUBSCRIBE": " b , a ", "startingoffsets": '{"a":{"0":5,"1":-2}}'}, is_stream=False
    )
    assert options.topics == ("a", "b")
    assert options.start.offsets == {TopicPartition("a", 0): 5, TopicPartition("a", 1): -2}


def test_a_global_time_overrides_times_by_partition_and_those_override_offsets() -> None:
    offsets, times = '{"t":{"0":5}}', '{"t":{"0":77}}'
    both = parse(startingOffsets=offsets, startingOffsetsByTimestamp=times)
    assert (both.start.timestamps, both.start.offsets) == ({T0: 77}, None)
    every = parse(startingOffsets=offsets, startingOffsetsByTimestamp=times, startingTimestamp="99")
    assert (every.start.timestamp, every.start.timestamps) == (99, None)


def test_the_end_has_the_same_order() -> None:
    offsets, times = '{"t":{"0":5}}', '{"t":{"0":77}}'
    both = parse(endingOffsets=offsets, endingOffsetsByTimestamp=times)
    assert (both.end.timestamps, both.end.offsets) == ({T0: 77}, None)
    every = parse(endingOffsets=offsets, endingOffsetsByTimestamp=times, endingTimestamp="99")
    assert (every.end.timestamp, every.end.timestamps) == (99, None)


def test_lookups_are_tried_again_as_often_as_asked() -> None:
    assert (parse().retries, parse().retry_interval, parse().cache_seconds) == (3, 0.01, -0.001)
    asked = parse(
        fetchOffset__numRetries="7", fetchOffset__retryIntervalMs="250", partition__metadata__cache__ttl__ms="4000"
    )
    assert (asked.retries, asked.retry_interval, asked.cache_seconds) == (7, 0.25, 4.0)


def test_a_prefix_of_group_names_is_accepted_though_none_is_made_up() -> None:
    assert parse(groupIdPrefix="reports").group is None
    assert parse(groupIdPrefix="reports", kafka__group__id="g").group == "g"


def test_kafka_options_go_to_the_client() -> None:
    options = parse(kafka__isolation__level="read_committed", kafka__max__partition__fetch__bytes="5000")
    assert (options.isolation, options.fetch_bytes) == ("read_committed", 5000)
    assert dict(options.client)["bootstrap.servers"] == "k1:9092,k2:9092"


def test_the_poll_timeout_is_the_clients_patience() -> None:
    assert dict(parse(kafkaConsumer__pollTimeoutMs="700").client)["default.api.timeout.ms"] == "700"


@pytest.mark.parametrize(
    ("mechanism", "module", "login"),
    [
        ("PLAIN", "plain.PlainLoginModule", 'username="ann" password="s3cret"'),
        ("SCRAM-SHA-512", "scram.ScramLoginModule", "username='ann' password='s3cret' tokenauth=true"),
        ("OAUTHBEARER", "oauthbearer.OAuthBearerLoginModule", 'clientId="ann" clientSecret="s3cret"'),
    ],
)
def test_a_jaas_login_is_understood_and_never_shown(mechanism: str, module: str, login: str) -> None:
    line = f"org.apache.kafka.common.security.{module} required {login};"
    options = parse(kafka__sasl__mechanism=mechanism, kafka__sasl__jaas__config=line)
    client = read_options(ConsumerOptions, dict(options.client), {})
    jaas = client.jaas()
    assert jaas is not None
    assert "s3cret" in jaas.options.values()
    assert "s3cret" not in repr(options) + repr(client) + repr(jaas)


MSK = "software.amazon.msk.auth.iam"


@pytest.mark.parametrize(
    "options",
    [
        {"kafka.sasl.mechanism": "AWS_MSK_IAM", "kafka.sasl.jaas.config": f"{MSK}.IAMLoginModule required;"},
        {
            "kafka.sasl.mechanism": "OAUTHBEARER",
            "kafka.sasl.login.callback.handler.class": f"{MSK}.IAMOAuthBearerLoginCallbackHandler",
        },
    ],
)
def test_the_options_of_the_java_library_for_msk_lead_to_ours(options: dict[str, str]) -> None:
    with pytest.raises(SourceOptionError, match=r"name a function in kafka\.sasl\.oauth\.token\.provider$"):
        TopicOptions.parse({"subscribe": "t", **SERVERS, **options}, is_stream=False)


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("$ConnectionString", "Endpoint=sb://n.servicebus.windows.net/;SharedAccessKeyName=R;SharedAccessKey=a+b/c="),
        ("ABCDEFGH12345678", "cl0ud/+secret=="),
    ],
    ids=["Azure Event Hubs", "Confluent Cloud"],
)
@pytest.mark.parametrize("shaded", ["", "kafkashaded."])
def test_the_logins_of_services_are_understood_as_their_pages_write_them(user: str, password: str, shaded: str) -> None:
    line = f'{shaded}org.apache.kafka.common.security.plain.PlainLoginModule required username="{user}" '
    options = parse(
        kafka__security__protocol="SASL_SSL",
        kafka__sasl__mechanism="PLAIN",
        kafka__sasl__jaas__config=line + f'password="{password}";',
    )
    jaas = read_options(ConsumerOptions, dict(options.client), {}).jaas()
    assert jaas is not None
    assert jaas.options == {"username": user, "password": password}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('Krb5LoginModule required keytab="s3cret";', "PLAIN needs PlainLoginModule, found Krb5LoginModule"),
        ('PlainLoginModule required username="s3cret"', "semicolon"),
        ('PlainLoginModule required username="ann" password="s3cret', "quote"),
        ('PlainLoginModule required user="ann" password="s3cret";', "expected username and password"),
    ],
)
def test_a_wrong_jaas_login_is_refused_without_its_secret(line: str, words: str) -> None:
    with pytest.raises(SourceOptionError, match=words) as refused:
        parse(kafka__sasl__jaas__config=line)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("pattern", ["[a-z&&[^q]]+", "[[a]b]"])
def test_a_pattern_that_means_something_else_in_java_is_refused(pattern: str) -> None:
    given = {**SERVERS, "subscribePattern": pattern}
    with pytest.raises(SourceOptionError, match="not a regular expression of Python: Possible"):
        TopicOptions.parse(given, is_stream=False)


def test_a_smallest_trigger_of_0_is_no_limit() -> None:
    assert parse(is_stream=True, minOffsetsPerTrigger="0").min_per_trigger is None


def test_options_of_streams_are_ignored_in_a_batch_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        parse(maxOffsetsPerTrigger="5", maxTriggerDelay="1s")
    assert "maxOffsetsPerTrigger, maxTriggerDelay: ignored" in caplog.text


def test_options_that_tune_javas_logins_are_ignored_and_those_that_replace_them_are_not() -> None:
    tuned = parse(kafka__ssl__protocol="TLSv1.3", kafka__sasl__login__refresh__window__factor="0.7")
    assert dict(tuned.client) == {"bootstrap.servers": "k1:9092,k2:9092"}
    with pytest.raises(SourceOptionError, match=r"no option 'kafka\.sasl\.login\.class'"):
        parse(kafka__sasl__login__class="x.Y")


def test_options_of_javas_client_are_ignored_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        options = parse(kafka__client__rack="r1", kafka__receive__buffer__bytes="65536", kafka__fetch__maxx__bytes="9")
    assert dict(options.client) == {"bootstrap.servers": "k1:9092,k2:9092"}
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 3
    assert "kafka.client.rack is ignored: no option 'client.rack' for the consumer: records are read from" in lines[0]
    assert lines[1].startswith("kafka.receive.buffer.bytes is ignored")
    assert lines[2].endswith("did you mean 'fetch.max.bytes'?")


REFUSED_IN_BOTH = [
    ({"startingOffset": "earliest"}, "no option 'startingOffset' for reading; did you mean startingOffsets?"),
    (
        {"assign": '{"t":[0]}'},
        "expected exactly one of assign, subscribe, subscribePattern, found assign and subscribe",
    ),
    ({"subscribe": " , "}, "expected topic names, separated by commas"),
    ({"startingOffsets": "newest"}, "startingOffsets is 'newest', expected earliest, latest, group or JSON"),
    ({"startingOffsets": '{"t":{"0":-3}}'}, "t-0 has -3"),
    ({"startingOffsets": '{"t":[1]}'}, "expected JSON such as"),
    ({"startingOffsets": '{"t":{"0":true}}'}, "t-0 has True"),
    ({"startingOffsetsByTimestampStrategy": "guess"}, "expected error or latest"),
    ({"topic": "t"}, "no option 'topic' for reading; did you mean subscribe?"),
    ({"checkpointLocation": "/c"}, "no option 'checkpointLocation' for reading; it is one of writing"),
    ({"startingTimestamp": "yesterday"}, "expected a whole number"),
    ({"startingOffsets": "group"}, "needs the group's name, kafka.group.id"),
    ({"minPartitions": "0"}, "minPartitions is '0', expected a whole number from 1 on"),
    ({"maxRecordsPerPartition": "-5"}, "from 1 on"),
    ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "5"}, "is 9, more than maxOffsetsPerTrigger, 5"),
    ({"maxTriggerDelay": "soon"}, "expected a duration"),
    ({"failOnDataLoss": "maybe"}, "expected true or false"),
    ({"kafka.auto.offset.reset": "earliest"}, "kafka.auto.offset.reset cannot be set: use startingOffsets"),
    ({"kafka.key.deserializer": "X"}, "cannot be set"),
    ({"kafka.value.deserializer": "X"}, "cannot be set"),
    ({"kafka.enable.auto.commit": "true"}, "cannot be set"),
    ({"kafka.interceptor.classes": "X"}, "cannot be set"),
    ({"kafka.ssl.truststore.type": "BKS"}, "expected one of JKS, PEM, PKCS12, found 'BKS'"),
    ({"kafka.ssl.truststore.passwort": "x"}, "no option 'kafka.ssl.truststore.passwort'"),
    ({"kafka.isolation.level": "serializable"}, "expected one of read_uncommitted, read_committed"),
    ({"kafka.bootstrap.servers": " "}, "kafka.bootstrap.servers is missing"),
]


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize(("options", "problem"), REFUSED_IN_BOTH, ids=lambda value: str(value)[:40])
def test_nonsense_is_refused(options: dict[str, str], problem: str, is_stream: bool) -> None:
    with pytest.raises(SourceOptionError) as refused:
        TopicOptions.parse({"subscribe": "t", **SERVERS, **options}, is_stream=is_stream)
    assert problem in str(refused.value)


REFUSED_IN_A_BATCH = [
    ({"startingOffsets": "latest"}, "a batch read cannot start at"),
    ({"startingOffsets": '{"t":{"0":-1}}'}, "cannot start there"),
    ({"endingOffsets": "earliest"}, "a batch read cannot end at"),
    ({"endingOffsets": '{"t":{"0":-2}}'}, "cannot end there"),
    ({"commitOffsets": "true", "kafka.group.id": "g"}, "a batch read commits nothing"),
]


@pytest.mark.parametrize(("options", "problem"), REFUSED_IN_A_BATCH, ids=lambda value: str(value)[:40])
def test_options_that_a_batch_cannot_have_are_refused(options: dict[str, str], problem: str) -> None:
    with pytest.raises(SourceOptionError, match=problem):
        TopicOptions.parse({"subscribe": "t", **SERVERS, **options}, is_stream=False)


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    with pytest.raises(SourceOptionError, match=f"{name}: only for batch reads"):
        parse(is_stream=True, **{name: "latest"})


def test_patterns_and_assignments_are_checked() -> None:
    pattern = {**SERVERS, "subscribePattern": "orders-[0-9"}
    with pytest.raises(SourceOptionError, match="not a regular expression of Python"):
        TopicOptions.parse(pattern, is_stream=False)
    with pytest.raises(SourceOptionError, match="it is empty"):
        TopicOptions.parse({**SERVERS, "subscribePattern": " "}, is_stream=False)
    with pytest.raises(SourceOptionError, match="assign is"):
        TopicOptions.parse({**SERVERS, "assign": '{"t":["zero"]}'}, is_stream=False)
    assert TopicOptions.parse({**SERVERS, "assign": '{"t":[1,0]}'}, is_stream=False).assigned == (T0, T1)


def test_headers_come_when_asked_for() -> None:
    assert includes_headers({"includeHeaders": "TRUE"})
    assert not includes_headers({})
    with pytest.raises(SourceOptionError, match="includeHeaders"):
        includes_headers({"includeHeaders": "yes"})
