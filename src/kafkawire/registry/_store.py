"""The topic `_schemas` in our broker: the records of the registry, as Confluent's registry writes them.

Rules:
- Keys and values are JSON. The topic has one partition and is compacted.
- A change is appended and durable before it is applied and answered. One change runs at a time.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from kafkawire.broker import NewTopic
from kafkawire.messages.errors import KafkaError
from kafkawire.records import BatchBuilder, read_batches
from kafkawire.registry._state import GLOBAL, Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkawire.broker import Broker
    from kafkawire.registry._state import State

TOPIC: Final = "_schemas"
_READ_BYTES: Final = 1 << 20
Change = tuple[dict[str, Any], dict[str, Any] | None]


class Store:
    """Writes the changes of the registry to its topic, and loads them."""

    def __init__(self, broker: Broker, state: State) -> None:
        self._node = broker.node
        self._state = state

    async def open(self) -> None:
        """Create the topic if it does not exist, and apply its records."""
        if self._node.topics.find(TOPIC) is None:
            (made,) = await self._node.create_topics([NewTopic(TOPIC, 1, {"cleanup.policy": "compact"})])
            if isinstance(made, KafkaError) and self._node.topics.find(TOPIC) is None:
                raise made
        for key, value in self._read():
            self._state.apply(key, value)

    async def write(self, changes: Iterable[Change]) -> None:
        """Append changes in one batch, and apply them."""
        found = list(changes)
        if not found:
            return
        builder = BatchBuilder()
        for key, value in found:
            builder.append(_bytes(key), None if value is None else _bytes(value), timestamp=self._node.clock.now())
        hosted = self._node.partition(TOPIC, 0)
        written = self._node.append_to(hosted, builder.build())
        durable = self._node.durable(hosted, written.last_offset)
        if durable is not None:
            await durable
        for key, value in found:
            self._state.apply(key, value)

    def _read(self) -> Iterator[Change]:
        log = self._node.log(TOPIC, 0)
        offset, end = log.log_start_offset, log.end_offset
        while offset < end and (data := log.read(offset, _READ_BYTES, up_to=end).read()):
            for batch in read_batches(data):
                offset = batch.next_offset
                if batch.is_control:
                    continue
                for record in batch.records():
                    key = json.loads(bytes(record.key or b"{}"))
                    yield key, None if record.value is None else json.loads(bytes(record.value))


def schema_change(version: Version) -> Change:
    """The record of a version."""
    value: dict[str, Any] = {"subject": version.subject, "version": version.number, "id": version.id}
    value |= version.schema.as_dict() | {"deleted": version.is_deleted}
    return _schema_key(version), value


def removal(version: Version) -> Change:
    """The record that removes a version permanently."""
    return _schema_key(version), None


def deletion(subject: str, last: int) -> Change:
    """The record that soft-deletes the versions of a subject up to the last."""
    return {"keytype": "DELETE_SUBJECT", "subject": subject, "magic": 0}, {"subject": subject, "version": last}


def level_change(subject: str, level: str | None) -> Change:
    """The record of a compatibility level; None removes it."""
    key = {"keytype": "CONFIG", "subject": None if subject == GLOBAL else subject, "magic": 0}
    return key, None if level is None else {"compatibilityLevel": level}


def mode_change(subject: str, mode: str | None) -> Change:
    """The record of a mode; None removes it."""
    key = {"keytype": "MODE", "subject": None if subject == GLOBAL else subject, "magic": 0}
    return key, None if mode is None else {"mode": mode}


def _schema_key(version: Version) -> dict[str, Any]:
    return {"keytype": "SCHEMA", "subject": version.subject, "version": version.number, "magic": 1}


def _bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
