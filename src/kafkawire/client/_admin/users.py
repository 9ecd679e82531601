"""SCRAM users of a cluster, as the admin client changes and lists them.

Rules:
- The password is never sent. The broker gets the salted password, and stores two keys that it derives from it.
- A user has at most one credential per mechanism. Setting it replaces it.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.client._admin.controller import at_controller
from kafkawire.client._admin.types import raise_errors
from kafkawire.client.errors import OptionError
from kafkawire.messages import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from kafkawire.messages.errors import error_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.client._cluster.cluster import Cluster

_NUMBERS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_SALT_LENGTH: Final = 25  # Kafka's tools write 130 random bits in base 36
DEFAULT_MECHANISM: Final = "SCRAM-SHA-512"
DEFAULT_ITERATIONS: Final = 4096


class ScramUser(NamedTuple):
    """A credential of a user."""

    name: str
    mechanism: str
    iterations: int


class UserAdmin:
    """The methods of the admin client for SCRAM users."""

    _cluster: Cluster

    async def describe_users(self, names: Iterable[str] | None = None) -> list[ScramUser]:
        """The credentials of users, by default of all, without secrets."""
        wanted = None if names is None else [DescribeUserScramCredentialsRequest.UserName(name=each) for each in names]
        answer = await at_controller(
            self._cluster, DescribeUserScramCredentialsRequest(users=wanted), DescribeUserScramCredentialsResponse
        )
        if answer.error_code:
            raise error_for(answer.error_code, answer.error_message)
        raise_errors(
            {each.user: error_for(each.error_code, each.error_message) for each in answer.results if each.error_code}
        )
        return sorted(
            ScramUser(each.user, _name(info.mechanism), info.iterations)
            for each in answer.results
            for info in each.credential_infos
        )

    async def set_user(
        self,
        name: str,
        password: str,
        *,
        mechanism: str = DEFAULT_MECHANISM,
        iterations: int = DEFAULT_ITERATIONS,
    ) -> None:
        """Create a user with a password for a mechanism, or replace the password."""
        number = _number(mechanism)
        salt = "".join(secrets.choice(_DIGITS) for _ in range(_SALT_LENGTH)).encode()
        salted = hashlib.pbkdf2_hmac(_HASHES[mechanism], password.encode(), salt, iterations)
        upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
            name=name, mechanism=number, iterations=iterations, salt=salt, salted_password=salted
        )
        await self._alter_user(AlterUserScramCredentialsRequest(upsertions=[upsertion]))

    async def delete_user(self, name: str, *, mechanism: str = DEFAULT_MECHANISM) -> None:
        """Delete the credential of a user for a mechanism."""
        deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=name, mechanism=_number(mechanism))
        await self._alter_user(AlterUserScramCredentialsRequest(deletions=[deletion]))

    async def _alter_user(self, request: AlterUserScramCredentialsRequest) -> None:
        answer = await at_controller(self._cluster, request, AlterUserScramCredentialsResponse)
        raise_errors(
            {each.user: error_for(each.error_code, each.error_message) for each in answer.results if each.error_code}
        )


def _number(mechanism: str) -> int:
    found = _NUMBERS.get(mechanism)
    if found is None:
        raise OptionError(f"SCRAM mechanism {mechanism!r}: expected one of {', '.join(_NUMBERS)}")
    return found


def _name(number: int) -> str:
    return next((name for name, each in _NUMBERS.items() if each == number), str(number))
