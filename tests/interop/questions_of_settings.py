"""Requests about settings of groups, client metrics and brokers; only the newest release has all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.interop.questions_of_administrators import APPEND, BROKER, DELETE, GROUP, SET, SUBTRACT, alter, describe

from kafkawire import messages as m

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.messages import Message

METRICS = 16
READERS, ALL = "readers", "all"
QUESTIONS: dict[str, Callable[[int], Message]] = {}
_GROUP_VALUES = {
    "consumer.session.timeout.ms": ("44999", "45000", "60001", "x", ""),
    "consumer.heartbeat.interval.ms": ("4999", "5000", "15001"),
    "consumer.assignment.interval.ms": ("-1", "0", "15001"),
    "share.session.timeout.ms": ("44999", "45000", "60001"),
    "share.heartbeat.interval.ms": ("4999", "5000", "15001"),
    "share.assignment.interval.ms": ("-1", "0", "15001"),
    "share.record.lock.duration.ms": ("14999", "15000", "60001"),
    "share.delivery.count.limit": ("1", "2", "11"),
    "share.partition.max.record.locks": ("99", "100", "4001"),
    "share.isolation.level": ("read_committed", "READ_COMMITTED"),
    "share.renew.acknowledge.enable": ("TRUE", "yes"),
    "share.auto.offset.reset": (
        *("latest", " earliest ", "none", "by_duration:PT1.5S", "by_duration:pt1h", "by_duration:PT"),
        *("by_duration:P1DT2H3M4S", "by_duration:-PT1H", "by_duration:P", "by_duration:P1DT", "by_duration:P1W"),
    ),
    "streams.session.timeout.ms": ("44999", "45000", "60001"),
    "streams.heartbeat.interval.ms": ("4999", "5000", "15001"),
    "streams.assignment.interval.ms": ("-1", "0", "15001"),
    "streams.num.standby.replicas": ("-1", "2", "3"),
    "streams.initial.rebalance.delay.ms": ("-1", "0", "2147483648", "1_000"),
    "no.such": ("1",),
}
_BROKER_VALUES = {
    "no.such": ("1",),
    "sasl.kerberos.min.time.before.relogin": ("5",),
    "sasl.enabled.mechanisms": ("PLAIN",),
    "ssl.keystore.type": ("PKCS12",),
    "ssl.keystore.location": ("x",),
    "ssl.truststore.password": ("x",),
    "background.threads": ("0", "4", "5", "20", "21", "x"),
    "num.network.threads": ("0", "1", "6", "7"),
    "num.io.threads": ("3", "4", "16", "17"),
    "num.replica.fetchers": ("0", "1", "2", "3"),
    "log.cleaner.threads": ("0", "1", "2", "3"),
    "num.recovery.threads.per.data.dir": ("0", "1", "4", "5"),
    "max.connections": ("0", "1"),
    "max.connections.per.ip": ("0", "1"),
    "max.connection.creation.rate": ("0", "1"),
    "producer.id.expiration.ms": ("0", "1"),
    "message.max.bytes": ("-1", "0"),
    "compression.type": ("", "foo", "zstd"),
    "compression.gzip.level": ("-2", "-1", "0", "1", "9", "10"),
    "compression.lz4.level": ("0", "1", "17", "18"),
    "compression.zstd.level": ("22", "23"),
    "log.cleanup.policy": ("foo", "compact", "delete,compact"),
    "log.cleaner.backoff.ms": ("-1", "0"),
    "log.cleaner.io.buffer.size": ("-1", "0"),
    "log.cleaner.delete.retention.ms": ("-1", "0"),
    "log.cleaner.max.compaction.lag.ms": ("0", "1"),
    "log.cleaner.min.compaction.lag.ms": ("-1", "0"),
    "log.cleaner.min.cleanable.ratio": ("-1", "0", "1", "2"),
    "log.flush.interval.messages": ("0", "1"),
    "log.index.interval.bytes": ("-1", "0"),
    "log.index.size.max.bytes": ("3", "4"),
    "log.message.timestamp.type": ("foo", "LogAppendTime"),
    "log.message.timestamp.after.max.ms": ("-1", "0"),
    "log.message.timestamp.before.max.ms": ("-1", "0"),
    "log.retention.ms": ("-1", "0", "1", "x"),
    "log.retention.bytes": ("-1", "0"),
    "log.roll.ms": ("0", "1"),
    "log.roll.jitter.ms": ("-1", "0"),
    "log.segment.delete.delay.ms": ("-1", "0"),
    "log.local.retention.ms": ("-3", "-2"),
    "group.consumer.session.timeout.ms": ("46000",),
    "group.consumer.assignment.interval.ms": ("-1", "0", "15000", "15001"),
    "log.preallocate": ("x", "TRUE"),
    "num.partitions": ("5",),
    "log.retention.hours": ("5",),
    "auto.create.topics.enable": ("false",),
    "broker.rack": ("a",),
    "node.id": ("7",),
}
_METRICS_VALUES = {
    "metrics": ("*", "", "a.,b.", "a,,b", "a,", ",", " "),
    "interval.ms": ("99", "100", "3600000", "3600001", " 200 ", "x"),
    "match": (
        *("", "client_id=a.*", "client_id=[", "client_id=(?=a)b", "no_such=a", "client_id", "client_id=", "=a"),
        *("client_id=a=b", "client_id=a=", "client_id=a,client_id=b", "client_software_name=a, client_id = b "),
    ),
    "no.such": ("1",),
}


def _tried(kind: int, name: str, key: str, value: str) -> Callable[[int], Message]:
    return lambda version: alter(kind, name, (key, SET, value), only=True)


for kind, resource, table in (
    (GROUP, READERS, _GROUP_VALUES),
    (METRICS, ALL, _METRICS_VALUES),
    (BROKER, "1", _BROKER_VALUES),
    (BROKER, "", _BROKER_VALUES),
):
    for key, values in table.items():
        for value in values:
            QUESTIONS[f"set {key} of {resource!r} to {value!r}"] = _tried(kind, resource, key, value)

QUESTIONS |= {
    "settings of a group": lambda version: describe(GROUP, READERS),
    "a setting of a group that is none": lambda version: describe(GROUP, READERS, "no.such"),
    "settings of no group": lambda version: describe(GROUP, ""),
    "settings of client metrics": lambda version: describe(METRICS, ALL),
    "settings of no client metrics": lambda version: describe(METRICS, ""),
    "set of no group": lambda version: alter(GROUP, "", ("no.such", SET, "1")),
    "set of no client metrics": lambda version: alter(METRICS, "", ("no.such", SET, "1")),
    "add to a list of client metrics": lambda version: alter(METRICS, ALL, ("metrics", APPEND, "a")),
    "take from a list of client metrics": lambda version: alter(METRICS, ALL, ("metrics", SUBTRACT, "a")),
    "add to a setting of a group": lambda version: alter(GROUP, READERS, ("no.such", APPEND, "a")),
    "take back a setting of a group that is none": lambda version: alter(GROUP, READERS, ("no.such", DELETE, None)),
    "take back client metrics that are none": lambda version: alter(METRICS, ALL, ("no.such", DELETE, None)),
    "add to a setting of a kind that is none": lambda version: alter(99, "x", ("no.such", APPEND, "a")),
    "add to a setting of the broker that is none": lambda version: alter(BROKER, "1", ("no.such", APPEND, "a")),
    "reset what cannot be changed": lambda version: alter(BROKER, "1", ("num.partitions", DELETE, None)),
    "reset an unknown setting": lambda version: alter(BROKER, "", ("no.such", DELETE, None)),
    "client metrics": lambda version: m.ListConfigResourcesRequest(resource_types=[METRICS] if version else []),
}
