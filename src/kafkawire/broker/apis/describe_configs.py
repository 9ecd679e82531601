"""DescribeConfigs: v0-4. Every setting of a topic or of the broker, and where its value comes from.

Rules:
- No keys (null or none) means all of them; a key that does not exist is left out.
- The broker's own number tells what is in force; the empty name tells what was set for all brokers.
- Synonyms (v1+) are all values a setting has, the one in force first; types and words come from v3 on.
- A group has no settings of its own here, so it has none to tell; tools ask for those of every group.
- Secrets are told as null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker.altering import check_broker, find_topic
from kafkawire.broker.configs import BROKER_RESOURCE, TOPIC_RESOURCE, Setting, Source, keys
from kafkawire.broker.serving import ErrorAnswer, RequestContext, serves
from kafkawire.messages import DescribeConfigsResponse
from kafkawire.messages.errors import InvalidRequestError, KafkaError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.broker.configs import ConfigKey
    from kafkawire.broker.node import Node
    from kafkawire.messages import DescribeConfigsRequest

    Resource = DescribeConfigsRequest.DescribeConfigsResource
    Described = DescribeConfigsResponse.DescribeConfigsResourceResult

GROUP_RESOURCE: Final = 32


def refuse(request: DescribeConfigsRequest, refusal: ErrorAnswer, context: RequestContext) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_result(resource, refusal) for resource in request.resources])


@serves("DescribeConfigs", refuse=refuse)
def handle(node: Node, request: DescribeConfigsRequest, context: RequestContext) -> DescribeConfigsResponse:
    response = DescribeConfigsResponse()
    for resource in request.resources:
        try:
            result = _result(resource, ErrorAnswer(0, None))
            wanted = set(resource.configuration_keys or ())
            for key, value, settings in _settings(node, resource):
                if not wanted or key.name in wanted:
                    result.configs.append(_describe(key, value, settings, request, context.version))
        except KafkaError as error:
            result = _result(resource, ErrorAnswer.of(error))
        response.results.append(result)
    return response


def _settings(node: Node, resource: Resource) -> Iterator[tuple[ConfigKey, str | None, list[Setting]]]:
    name = resource.resource_name
    if resource.resource_type == TOPIC_RESOURCE:
        configs = find_topic(node, name).configs
        for key in keys("topic").values():
            yield key, node.config.topic_value(key.name, configs), node.config.topic_settings(key.name, configs)
    elif resource.resource_type == BROKER_RESOURCE:
        check_broker(node, name)
        for key in keys("broker").values():
            settings = node.config.settings(key.name)
            if not name:
                settings = [each for each in settings if each.source == Source.ALL_BROKERS]
            if settings:
                yield key, settings[0].value, settings
    elif resource.resource_type != GROUP_RESOURCE:
        raise InvalidRequestError(
            f"resource type {resource.resource_type}, expected 2 (topic), 4 (broker) or 32 (group)"
        )


def _describe(
    key: ConfigKey, value: str | None, settings: list[Setting], request: DescribeConfigsRequest, version: int
) -> Described:
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
        ]
    return described


def _result(resource: Resource, answer: ErrorAnswer) -> DescribeConfigsResponse.DescribeConfigsResult:
    return DescribeConfigsResponse.DescribeConfigsResult(
        error_code=answer.code,
        error_message=answer.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
