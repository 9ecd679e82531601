"""The kinds of groups in one registry: classic, consumer, share, streams. A name belongs to one group of one kind."""

from __future__ import annotations

from typing import TypeAlias

from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.consumer.group import ConsumerGroup
from kafkawire.broker.groups.share.group import ShareGroup
from kafkawire.broker.groups.streams.group import StreamsGroup

AnyGroup: TypeAlias = Group | ConsumerGroup | ShareGroup | StreamsGroup
