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


for kind, resource, table in ((GROUP, READERS, _GROUP_VALUES), (METRICS, ALL, _METRICS_VALUES)):
    for key, values in table.items():
        for value in values:
            QUESTIONS[f"set {key} of {resource} to {value!r}"] = _tried(kind, resource, key, value)

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
    "client metrics": lambda version: m.ListConfigResourcesRequest(resource_types=[METRICS] if version else []),
}
