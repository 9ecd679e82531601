"""Changes of access control entries: in the journal first, in force afterwards.

Rules:
- A new entry has the form that Kafka's controller accepts: a type of resource, a literal or prefixed pattern with a
  name, an operation, DENY or ALLOW, and a principal with its type. CLUSTER has one name, kafka-cluster.
- An entry that exists, or occurs twice, is created once. All entries of a request are written together.
- One request changes at most MOST_CHANGES entries, as in Kafka.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from kafkawire.broker._ops.event_log import log_event
from kafkawire.messages import RemoveAccessControlEntryRecord
from kafkawire.messages.errors import InvalidRequestError
from kafkawire.wire.acls import CLUSTER_NAME, Acl, Operation, PatternType, Permission, ResourceType

if TYPE_CHECKING:
    from collections.abc import Collection

    from kafkawire.broker._node import Node
    from kafkawire.log import BackgroundWork

MOST_CHANGES: Final = 10_000
_RESOURCES: Final = frozenset(ResourceType) - {ResourceType.ANY}
_OPERATIONS: Final = frozenset(Operation) - {Operation.ANY}


def check(acl: Acl) -> None:
    """Refuse an entry that cannot exist: INVALID_REQUEST."""
    pattern = acl.pattern
    if pattern.resource_type == ResourceType.CLUSTER and pattern.name != CLUSTER_NAME:
        raise InvalidRequestError(f"name {pattern.name!r} of a cluster, expected {CLUSTER_NAME!r}")
    if not pattern.name:
        raise InvalidRequestError("an empty name of a resource")
    if pattern.resource_type not in _RESOURCES:
        raise InvalidRequestError(f"resource type {pattern.resource_type}, expected 2 to {max(_RESOURCES)}")
    if pattern.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise InvalidRequestError(f"pattern type {pattern.pattern_type}, expected 3 (literal) or 4 (prefixed)")
    if acl.operation not in _OPERATIONS:
        raise InvalidRequestError(f"operation {acl.operation}, expected 2 to {max(_OPERATIONS)}")
    if acl.permission not in (Permission.DENY, Permission.ALLOW):
        raise InvalidRequestError(f"permission {acl.permission}, expected 2 (deny) or 3 (allow)")
    if ":" not in acl.principal:
        raise InvalidRequestError("a principal without a type, expected Type:name, such as User:alice")


def creation(node: Node, wanted: Collection[Acl]) -> BackgroundWork[None]:
    """Create the entries that do not exist."""
    acls = node.acls
    fresh = {acl: uuid4() for acl in wanted if acl not in acls}
    if not fresh:
        return
    yield partial(node.journal.write, [acls.record_of(acl, entry_id) for acl, entry_id in fresh.items()])
    for acl, entry_id in fresh.items():
        acls.add(entry_id, acl)
    log_event("ACLs created", count=len(fresh), total=len(acls))


def deletion(node: Node, unwanted: Collection[Acl]) -> BackgroundWork[None]:
    """Delete the entries that exist."""
    acls = node.acls
    ids = [acls.id_of(acl) for acl in unwanted if acl in acls]
    if not ids:
        return
    yield partial(node.journal.write, [RemoveAccessControlEntryRecord(id=each) for each in ids])
    for each in ids:
        acls.remove(each)
    log_event("ACLs deleted", count=len(ids), total=len(acls))
