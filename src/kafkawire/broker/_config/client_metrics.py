"""Subscriptions to metrics of clients (KIP-714, `--entity-type client-metrics`): names, checks, values.

Rules:
- `metrics` has prefixes of names of metrics, or `*`. `interval.ms` is 100 to 3600000. `match` has pairs of an attribute
  of a client and a regular expression (RE2/J) for all of its value; without it all clients match.
- Lists have no empty element. An attribute that occurs twice in `match` has its last expression.
- An unknown name and an interval out of range are INVALID_REQUEST, other bad values INVALID_CONFIG, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._config.own_settings import OwnSettings
from kafkawire.broker._config.settings import CLIENT_METRICS_RESOURCE, SCOPES, Setting, Source, keys
from kafkawire.messages.errors import InvalidConfigError, InvalidRegularExpressionError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

SCOPE: Final = SCOPES[CLIENT_METRICS_RESOURCE]
METRICS: Final = "metrics"
INTERVAL: Final = "interval.ms"
MATCH: Final = "match"
ATTRIBUTES: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
INTERVALS: Final = range(100, 3_600_001)


class ClientMetricsConfigs(OwnSettings):
    """All subscriptions, by name."""

    what = "subscription to client metrics"
    is_slow_to_check = True  # regular expressions take long to compile

    def check(self, after: Mapping[str, str]) -> None:
        for name, value in after.items():
            key = keys(SCOPE).get(name)
            if key is None:
                raise InvalidRequestError(
                    f"{name}: a {self.what} has no such setting, expected one of {', '.join(keys(SCOPE))}"
                )
            key.check(value)
        if INTERVAL in after and int(after[INTERVAL]) not in INTERVALS:
            raise InvalidRequestError(f"{INTERVAL}: found {after[INTERVAL]}, expected 100 to 3600000")
        elements(METRICS, after.get(METRICS, ""))
        from kafkawire.broker.groups.consumer.patterns import compile_pattern

        for regex in attribute_patterns(after.get(MATCH, "")).values():
            try:
                compile_pattern(regex)
            except InvalidRegularExpressionError as error:
                raise InvalidConfigError(f"{MATCH}: {error}") from None

    def settings(self, resource: str, name: str) -> list[Setting]:
        own = self.own.get(resource, {})
        found = [Setting(own[name], Source.CLIENT_METRICS, name)] if name in own else []
        return [*found, Setting(keys(SCOPE)[name].default, Source.DEFAULT, name)]


def elements(name: str, text: str) -> list[str]:
    """The elements of a list.

    >>> elements("metrics", " a. , b ")
    ['a.', 'b']
    """
    if not text.strip():
        return []
    found = [each.strip() for each in text.split(",")]
    if not all(found):
        raise InvalidConfigError(f"{name}: found an empty element in {text!r}")
    return found


def attribute_patterns(match: str) -> dict[str, str]:
    """The regular expression of each attribute that `match` names.

    >>> attribute_patterns("client_id=a.*, client_software_name = apache-kafka-java")
    {'client_id': 'a.*', 'client_software_name': 'apache-kafka-java'}
    """
    found = {}
    for pair in elements(MATCH, match):
        name, _, regex = (part.strip() for part in pair.rstrip("=").partition("="))
        if name not in ATTRIBUTES or not regex or "=" in regex:
            raise InvalidConfigError(f"{MATCH}: found {pair!r}, expected one of {', '.join(ATTRIBUTES)}, = and a regex")
        found[name] = regex
    return found
