"""The access control entries of a node, indexed for evaluation: no clock, no I/O.

Rules:
- An entry exists once, under one id, which is that of its record in the journal.
- The entries of a pattern are two masks of operations per subject, denied and allowed. A subject is a principal and a
  host. So an evaluation costs four look-ups per pattern that matches, however many entries there are.
- Prefixed patterns are found by the lengths that prefixes have.
- Hosts are compared as addresses: IPv6 may be abbreviated, and IPv4 may be mapped into IPv6.
- `version` grows with every change, so that a cache knows when it is out of date.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Final

from kafkawire.messages import AccessControlEntryRecord
from kafkawire.wire.acls import EVERYBODY, WILDCARD, Acl, AclFilter, Pattern, PatternType, Permission, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from uuid import UUID

    Subject = tuple[str, str]
    Masks = dict[Subject, list[int]]


NOTHING: Final = (0, 0, False)


class Entries:
    """All entries.

    >>> from uuid import UUID
    >>> entries = Entries()
    >>> entries.add(UUID(int=1), Acl(Pattern(2, "orders"), "User:a", "*", 3, 3))
    >>> entries.find("User:a", "127.0.0.1", 2, "orders") == (0, 1 << 3, True)
    True
    """

    def __init__(self) -> None:
        self.version = 0
        self._ids: dict[Acl, UUID] = {}
        self._by_id: dict[UUID, Acl] = {}
        self._patterns: dict[Pattern, dict[Acl, None]] = {}
        self._literal: defaultdict[int, dict[str, Masks]] = defaultdict(dict)
        self._prefixed: defaultdict[int, dict[str, Masks]] = defaultdict(dict)
        """The masks of every subject, by type and name."""
        self._lengths: defaultdict[int, Counter[int]] = defaultdict(Counter)
        self._subjects: dict[tuple[int, str, str], dict[Acl, None]] = {}
        self._shared: dict[tuple[Pattern, Subject], dict[Acl, None]] = {}
        """The entries that one pair of masks stands for."""

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Acl]:
        return iter(self._ids)

    def __contains__(self, acl: Acl) -> bool:
        return acl in self._ids

    def id_of(self, acl: Acl) -> UUID:
        return self._ids[acl]

    def add(self, entry_id: UUID, acl: Acl) -> None:
        """Add an entry; one that exists already keeps its id."""
        if acl in self._ids:
            return
        self.version += 1
        pattern = acl.pattern
        self._ids[acl] = entry_id
        self._by_id[entry_id] = acl
        if pattern not in self._patterns and pattern.pattern_type == PatternType.PREFIXED:
            self._lengths[pattern.resource_type][len(pattern.name)] += 1
        self._patterns.setdefault(pattern, {})[acl] = None
        subject = acl.principal, canonical_host(acl.host)
        masks = self._named(pattern).setdefault(pattern.name, {}).setdefault(subject, [0, 0])
        masks[acl.permission == Permission.ALLOW] |= 1 << acl.operation
        self._shared.setdefault((pattern, subject), {})[acl] = None
        self._subjects.setdefault((pattern.resource_type, *subject), {})[acl] = None

    def remove(self, entry_id: UUID) -> None:
        """Remove an entry; an unknown id is ignored, because its creation was lost."""
        acl = self._by_id.pop(entry_id, None)
        if acl is None:
            return
        self.version += 1
        del self._ids[acl]
        pattern, subject = acl.pattern, (acl.principal, canonical_host(acl.host))
        key = (pattern.resource_type, *subject)
        del self._subjects[key][acl]
        left = self._shared[pattern, subject]
        del left[acl]
        if left:
            masks = self._named(pattern)[pattern.name][subject] = [0, 0]
            for each in left:
                masks[each.permission == Permission.ALLOW] |= 1 << each.operation
        else:
            del self._named(pattern)[pattern.name][subject], self._shared[pattern, subject]
        if not self._subjects[key]:
            del self._subjects[key]
        del self._patterns[pattern][acl]
        if not self._patterns[pattern]:
            del self._patterns[pattern], self._named(pattern)[pattern.name]
            if pattern.pattern_type == PatternType.PREFIXED:
                lengths = self._lengths[pattern.resource_type]
                lengths[len(pattern.name)] -= 1
                if not lengths[len(pattern.name)]:
                    del lengths[len(pattern.name)]

    def find(self, principal: str, host: str, resource_type: int, name: str) -> tuple[int, int, bool]:
        """The masks of all entries about a resource that apply to a principal on a host, denied and allowed.

        The last value is whether any entry is about the resource.
        """
        literal = self._literal[resource_type]
        found = [literal[each] for each in (name, WILDCARD) if each in literal]
        prefixed = self._prefixed[resource_type]
        if prefixed:
            size = len(name)
            for length in self._lengths[resource_type]:
                if length <= size:
                    masks = prefixed.get(name[:length])
                    if masks is not None:
                        found.append(masks)
        if not found:
            return NOTHING
        denied = allowed = 0
        for key in ((principal, host), (principal, WILDCARD), (EVERYBODY, host), (EVERYBODY, WILDCARD)):
            for subjects in found:
                if key in subjects:
                    mask = subjects[key]
                    denied |= mask[0]
                    allowed |= mask[1]
        return denied, allowed, True

    def _named(self, pattern: Pattern) -> dict[str, Masks]:
        kind = self._prefixed if pattern.pattern_type == PatternType.PREFIXED else self._literal
        return kind[pattern.resource_type]

    def of_subject(self, principal: str, host: str, resource_type: int) -> Iterator[Acl]:
        """The entries about resources of one type that apply to a principal on a host."""
        for who in {principal, EVERYBODY}:
            for where in {host, WILDCARD}:
                yield from self._subjects.get((resource_type, who, where), ())

    def search(self, wanted: AclFilter) -> Iterable[Acl]:
        """The entries among which those of a filter are: few if the filter has a name, else all."""
        if wanted.name is None:
            return list(self._ids)
        types = ResourceType if wanted.resource_type == ResourceType.ANY else (wanted.resource_type,)
        found: list[Acl] = []
        for resource_type in types:
            patterns = {
                Pattern(resource_type, wanted.name, PatternType.LITERAL): None,
                Pattern(resource_type, wanted.name, PatternType.PREFIXED): None,
            }
            if wanted.pattern_type == PatternType.MATCH:
                patterns |= dict.fromkeys(self._matching(resource_type, wanted.name))
            for pattern in patterns:
                found += self._patterns.get(pattern, ())
        return found

    def record_of(self, acl: Acl, entry_id: UUID) -> AccessControlEntryRecord:
        """The record of an entry in the journal."""
        return AccessControlEntryRecord(
            id=entry_id,
            resource_type=acl.pattern.resource_type,
            resource_name=acl.pattern.name,
            pattern_type=acl.pattern.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission,
        )

    def records(self) -> Iterator[AccessControlEntryRecord]:
        """The records of all entries."""
        return (self.record_of(acl, entry_id) for acl, entry_id in self._ids.items())

    def apply(self, record: AccessControlEntryRecord) -> None:
        """Take in the record of an entry."""
        pattern = Pattern(record.resource_type, record.resource_name, record.pattern_type)
        self.add(record.id, Acl(pattern, record.principal, record.host, record.operation, record.permission_type))

    def _matching(self, resource_type: int, name: str) -> Iterator[Pattern]:
        """The patterns that would apply to a name, whether they exist or not."""
        yield Pattern(resource_type, name, PatternType.LITERAL)
        if name != WILDCARD:
            yield Pattern(resource_type, WILDCARD, PatternType.LITERAL)
        for length in tuple(self._lengths.get(resource_type, ())):
            if length <= len(name):
                yield Pattern(resource_type, name[:length], PatternType.PREFIXED)


@lru_cache(1024)
def canonical_host(host: str) -> str:
    """One text per address; a text that is not an address is left as it is.

    >>> canonical_host("0:0:0:0:0:0:0:1"), canonical_host("::ffff:10.0.0.1"), canonical_host("*")
    ('::1', '10.0.0.1', '*')
    """
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
