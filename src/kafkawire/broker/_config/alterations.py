"""Changing settings over the wire: of topics, of groups, of client metrics, of this broker, of all brokers.

Rules:
- A resource changes whole or not at all, and only after every value was checked.
- A broker is named by its number, all brokers by the empty name; others are INVALID_REQUEST.
- A client needs DESCRIBE_CONFIGS or ALTER_CONFIGS on the topic or the group, or on the cluster for all else.
- The value null restores the default of a setting.
- Lists of topics and brokers can be appended to, other lists not.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from kafkawire.broker._config.broker_changes import check_changes
from kafkawire.broker._config.settings import BROKER_RESOURCE, GROUP_RESOURCE, SCOPES, TOPIC_RESOURCE, ConfigType, keys
from kafkawire.broker._metadata.topics import check_name
from kafkawire.messages.errors import InvalidConfigError, InvalidRequestError
from kafkawire.wire.acls import ResourceType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.broker._dispatch.registry import RequestContext
    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._node import Node
    from kafkawire.wire.acls import Operation

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
MOST_SETTINGS: Final = 1000


def find_topic(node: Node, name: str) -> Topic:
    """The topic of a name that a request gives."""
    check_name(name)
    return node.topics.get(name)


def check_broker(node: Node, name: str) -> None:
    """Refuse the name of another broker."""
    if name not in ("", str(node.id)):
        raise InvalidRequestError(f"broker {name!r}, expected {str(node.id)!r}, the only one, or '' for all")


def check_access(context: RequestContext, operation: Operation, kind: int, name: str) -> None:
    """Refuse a resource whose settings the client may not see or change."""
    if kind == TOPIC_RESOURCE:
        context.require(operation, ResourceType.TOPIC, name)
    elif kind == GROUP_RESOURCE:
        context.require(operation, ResourceType.GROUP, name)
    else:
        context.require(operation, ResourceType.CLUSTER)


def current(node: Node, kind: int, name: str) -> dict[str, str]:
    """The settings a resource has of its own."""
    check_kind(kind)
    if kind == TOPIC_RESOURCE:
        return dict(find_topic(node, name).configs)
    if kind in node.own_settings:
        node.own_settings[kind].check_name(name)
        return dict(node.own_settings[kind].own.get(name, {}))
    check_broker(node, name)
    return dict(node.config.changed.get(name, {}))


def check_kind(kind: int) -> None:
    """Refuse resources that have no settings here."""
    if kind not in SCOPES:
        expected = ", ".join(f"{number} ({scope})" for number, scope in SCOPES.items())
        raise InvalidRequestError(f"resource type {kind}, expected one of {expected}")


def check_count(count: int) -> None:
    """Refuse more settings of one resource than there are."""
    if count > MOST_SETTINGS:
        raise InvalidRequestError(f"{count} settings of one resource, expected at most {MOST_SETTINGS}")


async def alter(node: Node, kind: int, name: str, changes: Mapping[str, str | None], *, validate_only: bool) -> None:
    """Change settings of a resource."""
    own = current(node, kind, name)
    if kind == TOPIC_RESOURCE:
        after = {key: value for key, value in {**own, **changes}.items() if value is not None}
        node.config.check_topic(after)
        if not validate_only:
            await node.changes.run(node.changes.topic_settings(find_topic(node, name), changes))
        return
    if kind in node.own_settings:
        after = {key: value for key, value in {**own, **changes}.items() if value is not None}
        settings = node.own_settings[kind]
        if settings.is_slow_to_check:
            await asyncio.to_thread(settings.check, after)
        else:
            settings.check(after)
        if not validate_only:
            await node.changes.run(node.changes.own_settings(kind, name, changes))
        return
    check_changes(node.config, name, changes)
    if node.listeners is not None:
        node.listeners.check_change(name, changes)
    if not validate_only:
        await node.changes.run(node.changes.broker_settings(name, changes))


def combine(node: Node, kind: int, name: str, key: str, operation: int, value: str | None) -> str | None:
    """The value of a setting after an operation: its new text, or None for the default."""
    if operation == DELETE or value is None:
        return None
    if operation == SET:
        return value
    if operation not in (APPEND, SUBTRACT):
        raise InvalidRequestError(f"{key}: operation {operation}, expected 0 to 3")
    known = keys(SCOPES[kind]).get(key)
    if known is None or known.type is not ConfigType.LIST or kind not in (TOPIC_RESOURCE, BROKER_RESOURCE):
        raise InvalidConfigError(f"{key}: not a list setting; APPEND and SUBTRACT are not allowed")
    words = _words(current(node, kind, name).get(key, known.default or ""))
    given = _words(value)
    if operation == APPEND:
        return ",".join([*words, *(word for word in given if word not in words)])
    return ",".join(word for word in words if word not in given)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
