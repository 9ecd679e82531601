"""The SCRAM credentials of a node, as its journal has them, and the logins that they allow.

Rules:
- A credential is one user's for one mechanism: salt, stored key, server key, iterations. The password, and the salted
  password, are not kept.
- A login with an unknown name gets a credential that no password fits. Its salt is always the same for this name, and
  its iterations are those of other users. So an unknown user looks like a wrong password.
- A credential below LEAST_ITERATIONS does not log in, as in Kafka.
- A delegation token logs in as its owner, with a credential that its HMAC is the password of.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker._security.peer import USER, Principal
from kafkawire.messages import RemoveUserScramCredentialRecord, UserScramCredentialRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST_ITERATIONS: Final = 4096
MOST_ITERATIONS: Final = 16384
HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
NUMBERS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""The mechanisms by the number that requests and records have."""
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_SALT_LENGTH: Final = 25


class ScramCredential(NamedTuple):
    """The credential of a user for a mechanism."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential({self.iterations} iterations)"

    @classmethod
    def of_password(
        cls, mechanism: str, password: bytes, salt: bytes, iterations: int = LEAST_ITERATIONS
    ) -> ScramCredential:
        """The credential for a password."""
        salted = hashlib.pbkdf2_hmac(HASHES[mechanism], password, salt, iterations)
        return cls.of_salted(mechanism, salted, salt, iterations)

    @classmethod
    def of_salted(cls, mechanism: str, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
        """The credential for a salted password, which is not kept."""
        digest = HASHES[mechanism]
        client_key = hmac.digest(salted, b"Client Key", digest)
        stored = hashlib.new(digest, client_key).digest()
        return cls(salt, stored, hmac.digest(salted, b"Server Key", digest), iterations)


class Login(NamedTuple):
    """A credential, the principal that it proves, and the time of its end; None for no end."""

    credential: ScramCredential
    principal: Principal
    expires_ms: int | None = None
    used_token: bool = False


TokenLogin = Callable[[str, str], Login | None]
"""The login of a delegation token by its id and the mechanism; None if there is no such token."""


class ScramUsers:
    """All credentials.

    >>> users = ScramUsers()
    >>> users.set("ann", 1, ScramCredential.of_password("SCRAM-SHA-256", b"secret", b"salt"))
    >>> users.of("ann")
    {1: ScramCredential(4096 iterations)}
    """

    def __init__(self) -> None:
        self._users: dict[str, dict[int, ScramCredential]] = {}
        self._secret = secrets.token_bytes(32)
        self._usual: dict[int, tuple[int, int]] = {}
        """Length of the salt and iterations of the first credential, by mechanism; made-up ones look the same."""

    def __len__(self) -> int:
        return sum(map(len, self._users.values()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._users)

    def of(self, name: str) -> dict[int, ScramCredential]:
        """The credentials of a user by the number of their mechanism."""
        return self._users.get(name, {})

    def set(self, name: str, mechanism: int, credential: ScramCredential) -> None:
        """Set the credential of a user."""
        self._users.setdefault(name, {})[mechanism] = credential
        self._usual.setdefault(mechanism, (len(credential.salt), credential.iterations))

    def remove(self, name: str, mechanism: int) -> None:
        """Remove the credential of a user; nothing happens if there is none."""
        credentials = self._users.get(name, {})
        credentials.pop(mechanism, None)
        if not credentials:
            self._users.pop(name, None)

    def apply(self, record: UserScramCredentialRecord | RemoveUserScramCredentialRecord) -> None:
        """Take in a record of the journal."""
        if isinstance(record, RemoveUserScramCredentialRecord):
            self.remove(record.name, record.mechanism)
        elif record.mechanism in NUMBERS:
            parts = bytes(record.salt), bytes(record.stored_key), bytes(record.server_key)
            self.set(record.name, record.mechanism, ScramCredential(*parts, record.iterations))

    def records(self) -> Iterator[UserScramCredentialRecord]:
        """The records of all credentials."""
        for name, credentials in self._users.items():
            for mechanism, credential in credentials.items():
                yield record_of(name, mechanism, credential)

    def login(self, name: str, mechanism: str) -> Login:
        """The login of a name, whether or not there is such a user."""
        number = next(number for number, each in NUMBERS.items() if each == mechanism)
        made_up = self._made_up(name, number, mechanism)  # also for known users, so that both take the same time
        found = self.of(name).get(number)
        usable = found if found is not None and found.iterations >= LEAST_ITERATIONS else made_up
        return Login(usable, Principal(USER, name))

    def _made_up(self, name: str, number: int, mechanism: str) -> ScramCredential:
        seed = hmac.digest(self._secret, f"{mechanism}:{name}".encode(), "sha512")
        length, iterations = self._usual.get(number, (_SALT_LENGTH, LEAST_ITERATIONS))
        salt = "".join(_DIGITS[byte % len(_DIGITS)] for byte in seed)[:length].encode()
        nothing = secrets.token_bytes(hashlib.new(HASHES[mechanism]).digest_size)
        return ScramCredential(salt, nothing, nothing, iterations)


def record_of(name: str, mechanism: int, credential: ScramCredential) -> UserScramCredentialRecord:
    """The record of a credential."""
    return UserScramCredentialRecord(
        name=name,
        mechanism=mechanism,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )
