"""Access control entries are in the journal, in Kafka's records, and survive every start."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from kafkawire.broker._metadata import start
from kafkawire.broker._metadata.journal.log import decode, encode
from kafkawire.messages import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from kafkawire.wire.acls import Acl, Operation, Pattern, PatternType, Permission, ResourceType

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from kafkawire.broker._node import Node

READS = Acl(Pattern(ResourceType.TOPIC, "ord", PatternType.PREFIXED), "User:a", "*", Operation.READ, Permission.ALLOW)
WRITES = READS._replace(operation=Operation.WRITE, permission=Permission.DENY)
FIRST, SECOND, LOST = UUID(int=1), UUID(int=2), UUID(int=3)


def test_the_record_of_an_entry_has_the_type_and_version_of_kafka(node: Node) -> None:
    value = encode(node.acls.record_of(READS, FIRST))
    assert value[:3] == bytes([1, 18, 0])
    assert encode(RemoveAccessControlEntryRecord(id=FIRST))[:3] == bytes([1, 19, 0])
    assert decode(value, 0) == AccessControlEntryRecord(
        id=FIRST,
        resource_type=2,
        resource_name="ord",
        pattern_type=4,
        principal="User:a",
        host="*",
        operation=3,
        permission_type=3,
    )


def test_entries_survive_a_stop_without_warning(open_node: Callable[..., Node]) -> None:
    node = open_node()
    node.journal.write([node.acls.record_of(READS, FIRST), node.acls.record_of(WRITES, SECOND)])
    node.journal.write([RemoveAccessControlEntryRecord(id=FIRST), RemoveAccessControlEntryRecord(id=LOST)])
    again = open_node()
    assert list(again.acls) == [WRITES]
    assert again.acls.id_of(WRITES) == SECOND


def test_a_shortened_journal_keeps_the_entries(open_node: Callable[..., Node], monkeypatch: pytest.MonkeyPatch) -> None:
    node = open_node()
    for number in range(20):
        acl = READS._replace(host=f"10.0.0.{number}")
        node.journal.write([node.acls.record_of(acl, UUID(int=number))])
        node.journal.write([RemoveAccessControlEntryRecord(id=UUID(int=number))])
    node.journal.write([node.acls.record_of(WRITES, SECOND)])
    node.close()
    monkeypatch.setattr(start, "JOURNAL_SLACK", 1)
    shortened = open_node()
    assert len(shortened.journal) < 20
    shortened.close()
    assert list(open_node().acls) == [WRITES]
