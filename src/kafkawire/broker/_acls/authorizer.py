"""The decisions of Kafka's StandardAuthorizer: pure functions of the entries and two settings.

Rules:
- Super users may do everything, whatever the entries say.
- An entry that denies overrides all that allow. ALL stands for every operation.
- READ, WRITE, DELETE and ALTER allow DESCRIBE too. ALTER_CONFIGS allows DESCRIBE_CONFIGS too. Only allowing implies.
- A resource that no entry is about is open to every client if `allow.everyone.if.no.acl.found` is true.
- "Any resource of a type" is allowed if some entry allows it that no entry which denies covers.
- Decisions are cached until an entry changes. The cache is bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._acls.entries import canonical_host
from kafkawire.broker._security.peer import Principal
from kafkawire.messages.errors import InvalidConfigError
from kafkawire.wire.acls import CLUSTER_NAME, WILDCARD, Operation, PatternType, Permission

if TYPE_CHECKING:
    from collections.abc import Collection

    from kafkawire.broker._acls.entries import Entries
    from kafkawire.broker._config.settings import BrokerConfig

STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
EVERYTHING: Final = sum(1 << operation for operation in Operation if operation > Operation.ALL)
MOST_CACHED: Final = 20_000
_ALL: Final = 1 << Operation.ALL
_IMPLY_DESCRIBE: Final = sum(1 << each for each in (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER))


class Authorizer:
    """Decides which operations a principal may do.

    >>> from kafkawire.broker._acls.entries import Entries
    >>> Authorizer(Entries(), super_users={"User:root"}).allows("User:root", "::1", 3, 2, "orders")
    True
    """

    def __init__(
        self, entries: Entries, super_users: Collection[str] = (), *, allow_everyone_if_no_acl: bool = False
    ) -> None:
        self.entries = entries
        self._super_users = frozenset(super_users)
        self._unprotected = EVERYTHING if allow_everyone_if_no_acl else 0
        self._cache: dict[tuple[str, str, int, str], int] = {}
        self._any_cache: dict[tuple[str, str, int, int], bool] = {}
        self._version = entries.version

    def allows(self, principal: str, host: str, operation: int, resource_type: int, name: str = CLUSTER_NAME) -> bool:
        """Whether a principal may do an operation on a resource."""
        if self._version == self.entries.version:
            mask = self._cache.get((principal, host, resource_type, name))
            if mask is not None:
                return bool(mask >> operation & 1)
        return bool(self.operations(principal, host, resource_type, name) >> operation & 1)

    def operations(self, principal: str, host: str, resource_type: int, name: str = CLUSTER_NAME) -> int:
        """The operations that a principal may do on a resource, one bit each."""
        self._forget_if_changed()
        key = principal, host, resource_type, name
        mask = self._cache.get(key)
        if mask is None:
            if len(self._cache) >= MOST_CACHED:
                self._cache.clear()
            mask = self._cache[key] = self._decide(principal, host, resource_type, name)
        return mask

    def allows_any(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        """Whether a principal may do an operation on at least one resource of a type, which need not exist."""
        self._forget_if_changed()
        key = principal, host, operation, resource_type
        found = self._any_cache.get(key)
        if found is None:
            if len(self._any_cache) >= MOST_CACHED:
                self._any_cache.clear()
            found = self._any_cache[key] = self._decide_any(principal, host, operation, resource_type)
        return found

    def _forget_if_changed(self) -> None:
        if self._version != self.entries.version:
            self._version = self.entries.version
            self._cache.clear()
            self._any_cache.clear()

    def _decide(self, principal: str, host: str, resource_type: int, name: str) -> int:
        if principal in self._super_users:
            return EVERYTHING
        denied, allowed, is_protected = self.entries.find(principal, canonical_host(host), resource_type, name)
        if not is_protected:
            return self._unprotected
        if denied & _ALL:
            return 0
        if allowed & _ALL:
            return EVERYTHING & ~denied
        if allowed & _IMPLY_DESCRIBE:
            allowed |= 1 << Operation.DESCRIBE
        if allowed & 1 << Operation.ALTER_CONFIGS:
            allowed |= 1 << Operation.DESCRIBE_CONFIGS
        return allowed & ~denied

    def _decide_any(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        # Kafka asks for this name first, so that super users and wildcards decide at once (KIP-679)
        if self.operations(principal, host, resource_type, "hardcode") >> operation & 1:
            return True
        denied: dict[int, set[str]] = {PatternType.LITERAL: set(), PatternType.PREFIXED: set()}
        allowed: dict[int, set[str]] = {PatternType.LITERAL: set(), PatternType.PREFIXED: set()}
        for acl in self.entries.of_subject(principal, canonical_host(host), resource_type):
            if acl.operation in (operation, Operation.ALL):
                names = denied if acl.permission == Permission.DENY else allowed
                names[acl.pattern.pattern_type].add(acl.pattern.name)
        if WILDCARD in denied[PatternType.LITERAL]:
            return False
        if WILDCARD in allowed[PatternType.LITERAL]:
            return True
        prefixes = denied[PatternType.PREFIXED]
        lengths = {len(prefix) for prefix in prefixes}
        return any(
            not any(name[:length] in prefixes for length in lengths if length <= len(name))
            for kind, names in allowed.items()
            for name in names - (denied[PatternType.LITERAL] if kind == PatternType.LITERAL else set())
        )


def principals_of(text: str) -> frozenset[str]:
    """The principals of `super.users`, which semicolons separate.

    >>> sorted(principals_of("User:admin; User:CN=a,O=b"))
    ['User:CN=a,O=b', 'User:admin']
    """
    return frozenset(each.strip() for each in text.split(";") if each.strip())


def authorizer_of(config: BrokerConfig, entries: Entries) -> Authorizer | None:
    """The authorizer that the settings ask for; None if they name none."""
    name = config.text("authorizer.class.name").strip()
    if not name:
        return None
    if name != STANDARD:
        raise InvalidConfigError(f"authorizer.class.name: found {name!r}, expected {STANDARD} or nothing")
    users = principals_of(config.text("super.users"))
    for each in users:
        try:
            Principal.parse(each)
        except ValueError as error:
            raise InvalidConfigError(f"super.users: {error}") from None
    return Authorizer(entries, users, allow_everyone_if_no_acl=config.boolean("allow.everyone.if.no.acl.found"))
