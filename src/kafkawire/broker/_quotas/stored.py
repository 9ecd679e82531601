"""The quotas that are set, by entity: no clock, no I/O.

Rules:
- An entity is a user, a client id, both, or an ip. The name None is the default of its type.
- The value of a client is the first that exists, for each key alone. The order: user and client id, user and default
  client id, user, then the same three with the default user, then client id, default client id.
- The quota says who shares its meter: all clients of a user, all users of a client id, or one pair.
- An empty client id has no quota of client ids.
- `version` grows with every change, so that caches know when they are out of date.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.messages import ClientQuotaRecord
from kafkawire.messages.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

USER, CLIENT_ID, IP = "user", "client-id", "ip"
PRODUCER, CONSUMER, REQUEST = "producer_byte_rate", "consumer_byte_rate", "request_percentage"
MUTATION, CONNECTIONS = "controller_mutation_rate", "connection_creation_rate"
_LONG, _INT = 2**63 - 1, 2**31 - 1
LARGEST: Final = {PRODUCER: float(_LONG), CONSUMER: float(_LONG), CONNECTIONS: float(_INT)}
"""The largest value of keys that are whole numbers."""
KEYS: Final = {False: frozenset({PRODUCER, CONSUMER, REQUEST, MUTATION}), True: frozenset({CONNECTIONS})}
"""The keys of users and client ids, and with True those of an ip."""
FRACTION: Final = 1e-6
Entity = tuple[tuple[str, str | None], ...]
"""The types and names of an entity, sorted by type."""


class Quota(NamedTuple):
    """A value, and the user and client id that share its meter; None stands for all of them."""

    value: float
    user: str | None
    client_id: str | None


class StoredQuotas:
    """All quotas that are set.

    >>> quotas = StoredQuotas()
    >>> quotas.set((("user", None),), "producer_byte_rate", 1000.0)
    >>> quotas.find("producer_byte_rate", "alice", "app")
    Quota(value=1000.0, user='alice', client_id=None)
    """

    def __init__(self) -> None:
        self.version = 0
        self.values: dict[Entity, dict[str, float]] = {}

    def __len__(self) -> int:
        return sum(map(len, self.values.values()))

    def keys(self) -> set[str]:
        """The keys that have a value for any entity."""
        return {key for values in self.values.values() for key in values}

    def set(self, entity: Entity, key: str, value: float | None) -> None:
        """Set a value, or remove it (None); an entity without values is gone."""
        self.version += 1
        values = self.values.setdefault(entity, {})
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value
        if not values:
            del self.values[entity]

    def find(self, key: str, user: str, client_id: str) -> Quota | None:
        """The quota of a client; None if it has none."""
        clients: tuple[str | None, ...] = (client_id, None) if client_id else ()
        for name in (user, None):
            for client in clients:
                value = self._value(((CLIENT_ID, client), (USER, name)), key)
                if value is not None:
                    return Quota(value, user, client_id)
            value = self._value(((USER, name),), key)
            if value is not None:
                return Quota(value, user, None)
        for client in clients:
            value = self._value(((CLIENT_ID, client),), key)
            if value is not None:
                return Quota(value, None, client_id)
        return None

    def of_ip(self, address: str) -> float | None:
        """The connections per second of an address; None if they are not limited."""
        value = self._value(((IP, address),), CONNECTIONS)
        return self._value(((IP, None),), CONNECTIONS) if value is None else value

    def apply(self, record: ClientQuotaRecord) -> None:
        """Take in a record of the journal."""
        entity = entity_of((each.entity_type, each.entity_name) for each in record.entity)
        self.set(entity, record.key, None if record.remove else record.value)

    def records(self) -> Iterator[ClientQuotaRecord]:
        """The records of all quotas."""
        for entity, values in self.values.items():
            for key, value in values.items():
                yield record_of(entity, key, value)

    def _value(self, entity: Entity, key: str) -> float | None:
        values = self.values.get(entity)
        return None if values is None else values.get(key)


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """The entity with these types and names."""
    return tuple(sorted(parts, key=lambda part: (part[0], part[1] is not None, part[1] or "")))


def record_of(entity: Entity, key: str, value: float | None) -> ClientQuotaRecord:
    """The record of a value, or of its removal."""
    return ClientQuotaRecord(
        entity=[ClientQuotaRecord.EntityData(entity_type=kind, entity_name=name) for kind, name in reversed(entity)],
        key=key,
        value=0.0 if value is None else value,
        remove=value is None,
    )


def check_entity(parts: list[tuple[str, str | None]]) -> Entity:
    """The entity that a request names; INVALID_REQUEST if there is no such entity."""
    if not parts:
        raise InvalidRequestError("an entity without a type")
    types = [kind for kind, _ in parts]
    if len(set(types)) < len(types):
        raise InvalidRequestError("a type of entity occurs twice")
    for kind, name in parts:
        if kind not in (USER, CLIENT_ID, IP):
            raise InvalidRequestError(f"entity type {kind!r}, expected user, client-id or ip")
        if name == "":
            raise InvalidRequestError(f"an empty {kind}")
    if IP in types and len(types) > 1:
        raise InvalidRequestError("an ip together with a user or a client id")
    return entity_of(parts)


def check_value(entity: Entity, key: str, value: float) -> None:
    """Refuse a value that a key of this entity cannot have: INVALID_REQUEST."""
    allowed = KEYS[entity[0][0] == IP]
    if key not in allowed:
        raise InvalidRequestError(f"key {key!r}, expected one of {', '.join(sorted(allowed))}")
    if not value > 0:
        raise InvalidRequestError(f"{key}: found {value:g}, expected more than 0")
    if key in LARGEST:
        if value > LARGEST[key]:
            raise InvalidRequestError(f"{key}: found {value:g}, expected at most {LARGEST[key]:g}")
        if abs(value % 1.0) > FRACTION:
            raise InvalidRequestError(f"{key}: found {value:g}, expected a whole number")


def matches(entity: Entity, exact: Mapping[str, str | None], any_name: set[str], *, strict: bool) -> bool:
    """Whether a filter finds an entity: it has every named type with its name, and with `strict` no other type."""
    names = dict(entity)
    if strict and len(names) != len(exact) + len(any_name):
        return False
    if not all(kind in names and names[kind] == name for kind, name in exact.items()):
        return False
    return all(kind in names for kind in any_name)
