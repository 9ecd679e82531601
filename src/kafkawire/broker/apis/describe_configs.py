"""DescribeConfigs: v0-4. The settings of a topic, the broker, a group or client metrics, with sources.

Rules:
- Without keys (null or empty) all settings are returned. An unknown key is left out.
- A resource that occurs more than once is answered once, with all keys of its occurrences. Apache Kafka answers every
  occurrence, so that a request of 480 KB can have a response of 329 MB.
- The number of the broker returns the effective settings, the empty name those that were set for all brokers. Settings
  that were set under unknown names are described as secrets that cannot be changed, as in Kafka.
- Synonyms (v1+) are all values of a setting, the effective one first. A default is a synonym only under the first name
  that a setting has for brokers, and only if it is not null. Types and documentation come from v3 on.
- The message of a resource without an error is empty, not null.
- Groups and subscriptions to client metrics need not exist to have settings. Tools ask for those of every group.
- Secrets are null.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kafkawire.broker._config.alterations import check_access, check_broker, check_kind, find_topic
from kafkawire.broker._config.settings import (
    BROKER_RESOURCE,
    GROUP_RESOURCE,
    SCOPES,
    TOPIC_RESOURCE,
    ConfigKey,
    ConfigType,
    Setting,
    Source,
    key_of,
    keys,
)
from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.messages import DescribeConfigsResponse
from kafkawire.messages.errors import KafkaError
from kafkawire.wire.acls import Operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kafkawire.broker._node import Node
    from kafkawire.messages import DescribeConfigsRequest

    Resource = tuple[int, str]
    ResourceSettings = DescribeConfigsResponse.DescribeConfigsResourceResult


def refuse(request: DescribeConfigsRequest, refusal: Refusal, context: RequestContext) -> DescribeConfigsResponse:
    named = dict.fromkeys((each.resource_type, each.resource_name) for each in request.resources)
    return DescribeConfigsResponse(results=[_result(kind, name, refusal) for kind, name in named])


@serves("DescribeConfigs", refuse=refuse)
async def handle(node: Node, request: DescribeConfigsRequest, context: RequestContext) -> DescribeConfigsResponse:
    response = DescribeConfigsResponse()
    existing = {kind: _existing(node, kind) for kind in SCOPES}
    for (kind, name), wanted in (await _wanted(existing, request, context)).items():
        result = _result(kind, name, Refusal(0, ""))
        try:
            check_access(context, Operation.DESCRIBE_CONFIGS, kind, name)
            check_kind(kind)
            listed = existing[kind].values() if wanted is None else [existing[kind][each] for each in sorted(wanted)]
            for key, value, settings in _settings(node, kind, name, listed):
                result.configs.append(_describe(key, value, settings, request, context.version))
                await context.yield_if_due()
        except KafkaError as error:
            result = _result(kind, name, Refusal.of(error))
        response.results.append(result)
        await context.yield_if_due()
    return response


async def _wanted(
    existing: Mapping[int, Mapping[str, ConfigKey]], request: DescribeConfigsRequest, context: RequestContext
) -> dict[Resource, set[str] | None]:
    """The keys of every resource, as far as settings have such names; None for all of them."""
    wanted: dict[Resource, set[str] | None] = {}
    for each in request.resources:
        resource = each.resource_type, each.resource_name
        names = wanted.setdefault(resource, set())
        if names is not None and each.configuration_keys:
            names_of_kind = existing.get(each.resource_type, {})
            for name in each.configuration_keys:
                if name in names_of_kind:
                    names.add(name)
                await context.yield_if_due()
        else:
            wanted[resource] = None
        await context.yield_if_due()
    return wanted


def _settings(
    node: Node, kind: int, name: str, wanted: Iterable[ConfigKey]
) -> Iterator[tuple[ConfigKey, str | None, list[Setting]]]:
    if kind == TOPIC_RESOURCE:
        configs = find_topic(node, name).configs
        for key in wanted:
            yield key, node.config.topic_value(key.name, configs), node.config.topic_settings(key.name, configs)
    elif kind == BROKER_RESOURCE:
        check_broker(node, name)
        for key in wanted:
            settings = node.config.settings(key.name)
            if not name:
                settings = [each for each in settings if each.source == Source.ALL_BROKERS]
            if settings:
                yield key, settings[0].value, settings
    else:
        node.own_settings[kind].check_name(name)
        for key in wanted:
            settings = node.own_settings[kind].settings(name, key.name)
            yield key, settings[0].value, settings


def _existing(node: Node, kind: int) -> dict[str, ConfigKey]:
    """All settings that a resource of a type can have, by name."""
    existing = keys(SCOPES[kind])
    changed = {name for values in node.config.changed.values() for name in values} if kind == BROKER_RESOURCE else ()
    return existing | {name: _unlisted(name) for name in sorted(changed) if name not in existing}


def _unlisted(name: str) -> ConfigKey:
    key = key_of(name)
    if key is not None:
        return replace(key, name=name)
    return ConfigKey(SCOPES[BROKER_RESOURCE], name, ConfigType.UNKNOWN, None, "read-only", (), "")


def _describe(
    key: ConfigKey, value: str | None, settings: list[Setting], request: DescribeConfigsRequest, version: int
) -> ResourceSettings:
    source = settings[0].source
    described = DescribeConfigsResponse.DescribeConfigsResourceResult(
        name=key.name,
        value=None if key.is_sensitive else value,
        read_only=not key.is_dynamic,
        is_sensitive=key.is_sensitive,
        config_source=source,
        config_type=key.type,
        documentation=key.doc if version >= 3 and request.include_documentation else None,
    )
    if version == 0:
        described.is_default = source == Source.DEFAULT
    elif request.include_synonyms:
        described.synonyms = [
            DescribeConfigsResponse.DescribeConfigsSynonym(
                name=each.name, value=None if key.is_sensitive else each.value, source=each.source
            )
            for each in settings
            if each.source != Source.DEFAULT or (each.value is not None and each.name == _primary_name(key))
        ]
    return described


def _primary_name(key: ConfigKey) -> str | None:
    if key.server:
        return key.server[0]
    return key.name if key.scope in (SCOPES[BROKER_RESOURCE], SCOPES[GROUP_RESOURCE]) else None


def _result(kind: int, name: str, answer: Refusal) -> DescribeConfigsResponse.DescribeConfigsResult:
    return DescribeConfigsResponse.DescribeConfigsResult(
        error_code=answer.code,
        error_message=answer.message,
        resource_type=kind,
        resource_name=name,
    )
