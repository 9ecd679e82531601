"""The changes of one event of a consumer group (`groups.work`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.broker.groups.consumer.changes import Change
from kafkawire.broker.groups.consumer.group import ConsumerGroup
from kafkawire.broker.groups.consumer.records import encode
from kafkawire.broker.groups.work import GroupWork

if TYPE_CHECKING:
    from kafkawire.broker.groups.classic.group import Group


class Work(GroupWork[ConsumerGroup, Change]):
    """One event of a consumer group."""

    def __init__(self, group: ConsumerGroup, *, replaces: Group | None = None) -> None:
        super().__init__(group, encode, replaces=replaces)
