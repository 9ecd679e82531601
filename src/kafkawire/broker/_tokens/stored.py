"""The delegation tokens of the journal: no clock, no I/O, no secrets.

Rules:
- A token has an id, an owner, a requester who asked for it, and renewers. They are principals as text, `User:alice`.
- Nothing here can log in: the password of a token is derived from its id and `delegation.token.secret.key`, which the
  journal does not contain.
- `version` grows with every change, so that an index knows when it is out of date.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkawire.broker._security.peer import Principal
from kafkawire.messages import DelegationTokenRecord, RemoveDelegationTokenRecord

if TYPE_CHECKING:
    from collections.abc import Iterator


def principal_of(text: str) -> Principal:
    """The principal that a record names; Kafka allows an empty type.

    >>> principal_of("User:CN=a:b")
    Principal(type='User', name='CN=a:b')
    """
    kind, _, name = text.partition(":")
    return Principal(kind, name)


class Token(NamedTuple):
    """A delegation token."""

    id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued: int
    expires: int
    """The time after which it has to be renewed, in milliseconds since 1970, as all times here."""
    ends: int
    """The time after which it cannot be renewed."""

    def has_expired(self, now: int) -> bool:
        """Whether it no longer allows a login."""
        return self.expires < now or self.ends < now

    def may_be_changed_by(self, principal: str) -> bool:
        """Whether a principal may renew it, and let it expire. The requester alone may not, as in Kafka."""
        return principal == self.owner or principal in self.renewers

    @property
    def visible_to(self) -> frozenset[str]:
        """The principals that may see it without a permission."""
        return frozenset((self.owner, self.requester, *self.renewers))

    @property
    def record(self) -> DelegationTokenRecord:
        """Its record in the journal."""
        return DelegationTokenRecord(
            owner=self.owner,
            requester=self.requester,
            renewers=list(self.renewers),
            issue_timestamp=self.issued,
            max_timestamp=self.ends,
            expiration_timestamp=self.expires,
            token_id=self.id,
        )


class StoredTokens:
    """All tokens.

    >>> tokens = StoredTokens()
    >>> tokens.apply(Token("id", "User:ann", "User:ann", (), 0, 10, 20).record)
    >>> tokens.find("id").owner, tokens.find("other")
    ('User:ann', None)
    """

    def __init__(self) -> None:
        self.version = 0
        self._tokens: dict[str, Token] = {}

    def __len__(self) -> int:
        return len(self._tokens)

    def __iter__(self) -> Iterator[Token]:
        return iter(list(self._tokens.values()))

    def find(self, token_id: str) -> Token | None:
        """The token with an id."""
        return self._tokens.get(token_id)

    def apply(self, record: DelegationTokenRecord | RemoveDelegationTokenRecord) -> None:
        """Take in a record of the journal."""
        self.version += 1
        if isinstance(record, RemoveDelegationTokenRecord):
            self._tokens.pop(record.token_id, None)
            return
        self._tokens[record.token_id] = Token(
            record.token_id,
            record.owner,
            record.requester,
            tuple(record.renewers),
            record.issue_timestamp,
            record.expiration_timestamp,
            record.max_timestamp,
        )

    def records(self) -> Iterator[DelegationTokenRecord]:
        """The records of all tokens."""
        return (token.record for token in self._tokens.values())
