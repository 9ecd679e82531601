"""The options of Java's clients, `kafka.*`: each is used, ignored with one warning, or refused with a reason.

Rules:
- Every option of Java's consumer and producer is in one of these tables; a test compares them with the jar.
- The values are valid in Java, and none is Java's default where another is as good.
- Options of TLS and SASL that are used are tested with brokers that ask for them (`test_spark_logins`).
"""

from __future__ import annotations

from typing import Final

_COMMON: Final = {
    "client.id": "spark",
    "connections.max.idle.ms": "60000",
    "metadata.max.age.ms": "60000",
    "metadata.recovery.strategy": "rebootstrap",
    "reconnect.backoff.max.ms": "900",
    "reconnect.backoff.ms": "40",
    "request.timeout.ms": "20000",
    "retry.backoff.max.ms": "900",
    "retry.backoff.ms": "90",
    "security.protocol": "PLAINTEXT",
    "socket.connection.setup.timeout.ms": "9000",
}
CONSUMER: Final = {
    **_COMMON,
    "auto.commit.interval.ms": "4000",
    "check.crcs": "true",
    "default.api.timeout.ms": "50000",
    "exclude.internal.topics": "true",
    "fetch.max.bytes": "40000000",
    "fetch.max.wait.ms": "90",
    "fetch.min.bytes": "2",
    "group.id": "spark-options",
    "group.instance.id": "one",
    "group.protocol": "classic",
    "heartbeat.interval.ms": "2000",
    "isolation.level": "read_committed",
    "max.partition.fetch.bytes": "900000",
    "max.poll.interval.ms": "200000",
    "max.poll.records": "400",
    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
    "session.timeout.ms": "20000",
}
"""Options that our consumer has too."""

_IGNORED: Final = {
    "client.dns.lookup": "resolve_canonical_bootstrap_servers_only",
    "enable.metrics.push": "false",
    "auto.include.jmx.reporter": "false",
    "metric.reporters": "",
    "metrics.num.samples": "3",
    "metrics.recording.level": "DEBUG",
    "metrics.sample.window.ms": "20000",
    "receive.buffer.bytes": "70000",
    "send.buffer.bytes": "140000",
    "socket.connection.setup.timeout.max.ms": "20000",
}
IGNORED_BY_CONSUMER: Final = {
    **_IGNORED,
    "allow.auto.create.topics": "false",
    "client.rack": "r1",
    "internal.leave.group.on.close": "false",
    "internal.throw.on.fetch.stable.offset.unsupported": "false",
}

PRODUCER: Final = {
    **_COMMON,
    "acks": "all",
    "batch.size": "20000",
    "buffer.memory": "30000000",
    "compression.type": "lz4",
    "delivery.timeout.ms": "100000",
    "enable.idempotence": "true",
    "linger.ms": "6",
    "max.block.ms": "50000",
    "max.in.flight.requests.per.connection": "4",
    "max.request.size": "900000",
}
IGNORED_BY_PRODUCER: Final = {
    **_IGNORED,
    "compression.gzip.level": "3",
    "compression.lz4.level": "9",
    "compression.zstd.level": "3",
    "interceptor.classes": "",
    "metadata.max.idle.ms": "60000",
    "partitioner.adaptive.partitioning.enable": "false",
    "partitioner.availability.timeout.ms": "100",
    "partitioner.ignore.keys": "false",
    "retries": "7",
}

IGNORED_OF_SECURITY: Final = {
    "sasl.kerberos.kinit.cmd": "/usr/bin/kinit",
    "sasl.kerberos.min.time.before.relogin": "60000",
    "sasl.kerberos.service.name": "kafka",
    "sasl.kerberos.ticket.renew.jitter": "0.05",
    "sasl.kerberos.ticket.renew.window.factor": "0.8",
    "sasl.login.connect.timeout.ms": "9000",
    "sasl.login.read.timeout.ms": "9000",
    "sasl.login.refresh.buffer.seconds": "200",
    "sasl.login.refresh.min.period.seconds": "50",
    "sasl.login.refresh.window.factor": "0.7",
    "sasl.login.refresh.window.jitter": "0.04",
    "sasl.login.retry.backoff.max.ms": "9000",
    "sasl.login.retry.backoff.ms": "90",
    "sasl.oauthbearer.clock.skew.seconds": "20",
    "sasl.oauthbearer.expected.audience": "a",
    "sasl.oauthbearer.expected.issuer": "i",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": "900000",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "9000",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "90",
    "sasl.oauthbearer.jwks.endpoint.url": "https://keys.example/jwks",
    "sasl.oauthbearer.scope.claim.name": "scope",
    "sasl.oauthbearer.sub.claim.name": "sub",
    "ssl.keymanager.algorithm": "SunX509",
    "ssl.protocol": "TLSv1.3",
    "ssl.secure.random.implementation": "SHA1PRNG",
    "ssl.trustmanager.algorithm": "PKIX",
}
"""Options that tune Java's logins and TLS, or that only brokers use: a connection is as secure without them."""

REFUSED_OF_SECURITY: Final = {
    "sasl.client.callback.handler.class": "a class of Java",
    "sasl.login.class": "a class of Java",
    "sasl.oauthbearer.header.urlencode": "credentials would be sent in another form",
    "security.providers": "classes of Java",
    "ssl.engine.factory.class": "a class of Java",
    "ssl.provider": "a provider of Java",
}
USED_OF_SECURITY: Final = (
    *("sasl.jaas.config", "sasl.login.callback.handler.class", "sasl.mechanism"),
    "sasl.oauthbearer.token.endpoint.url",
    *("ssl.cipher.suites", "ssl.enabled.protocols", "ssl.endpoint.identification.algorithm", "ssl.key.password"),
    *("ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location", "ssl.keystore.password"),
    *("ssl.keystore.type", "ssl.truststore.certificates", "ssl.truststore.location", "ssl.truststore.password"),
    "ssl.truststore.type",
)

CONTROLLED: Final = {
    "auto.offset.reset": "`startingOffsets` says where to start",
    "bootstrap.servers": "required",
    "enable.auto.commit": "Spark stores the offsets",
    "group.remote.assignor": "needs `kafka.group.protocol=consumer`, as in Java",
    "interceptor.classes": "a class of Java; ignored if it is empty",
    "key.deserializer": "keys are binary",
    "key.serializer": "keys are text or binary",
    "partitioner.class": "a class of Java",
    "transaction.timeout.ms": "for `deliveryGuarantee=exactly-once`",
    "transactional.id": "tasks need ids of their own",
    "value.deserializer": "values are binary",
    "value.serializer": "values are text or binary",
}
"""Options with a meaning of their own here, or that both connectors refuse."""
