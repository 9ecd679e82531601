"""Access control lists as requests carry them: the numbers of types, operations and permissions, and filters.

Rules:
- Names and numbers are Kafka's. Number 0, UNKNOWN, is in no valid request.
- A literal pattern named `*` matches every name. In a prefixed pattern `*` is a plain character.
- A filter compares principals and hosts as text: `User:*` finds only itself. None matches everything.
- Pattern type ANY finds patterns of that name. MATCH finds the patterns that apply to that name.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

CLUSTER_NAME: Final = "kafka-cluster"
"""The only name of a resource of type CLUSTER."""
WILDCARD: Final = "*"
EVERYBODY: Final = "User:*"


class ResourceType(IntEnum):
    """The kinds of resources that ACLs protect."""

    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How the name of an ACL is compared with the name of a resource."""

    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """The operations that ACLs allow or deny."""

    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    """Whether an ACL denies or allows."""

    ANY = 1
    DENY = 2
    ALLOW = 3


class Pattern(NamedTuple):
    """The resources that an ACL is about."""

    resource_type: int
    name: str
    pattern_type: int = PatternType.LITERAL

    def matches(self, name: str) -> bool:
        """Whether a resource of this type and name is meant.

        >>> Pattern(ResourceType.TOPIC, "order", PatternType.PREFIXED).matches("orders")
        True
        """
        if self.pattern_type == PatternType.PREFIXED:
            return name.startswith(self.name)
        return self.name in (name, WILDCARD)


class Acl(NamedTuple):
    """One entry: a principal may, or may not, do something with resources, from a host."""

    pattern: Pattern
    principal: str
    host: str
    operation: int
    permission: int


class AclFilter(NamedTuple):
    """The entries that a request is about; the default finds all.

    >>> orders = Acl(Pattern(ResourceType.TOPIC, "*"), "User:a", "*", Operation.READ, Permission.ALLOW)
    >>> AclFilter(name="orders", pattern_type=PatternType.MATCH).finds(orders)
    True
    """

    resource_type: int = ResourceType.ANY
    name: str | None = None
    pattern_type: int = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = Operation.ANY
    permission: int = Permission.ANY

    @property
    def is_known(self) -> bool:
        """Whether every number of the filter has a name."""
        return (
            self.resource_type in ResourceType.__members__.values()
            and self.pattern_type in PatternType.__members__.values()
            and self.operation in Operation.__members__.values()
            and self.permission in Permission.__members__.values()
        )

    def finds(self, acl: Acl) -> bool:
        """Whether an entry is one of those that are meant."""
        return self.finds_pattern(acl.pattern) and (
            self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
        )

    def finds_pattern(self, pattern: Pattern) -> bool:
        """Whether the entries of a pattern can be meant."""
        if self.resource_type not in (ResourceType.ANY, pattern.resource_type):
            return False
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, pattern.pattern_type):
            return False
        if self.name is None or self.name == pattern.name:
            return True
        return self.pattern_type == PatternType.MATCH and pattern.matches(self.name)
