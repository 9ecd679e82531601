"""Delegation tokens of a cluster (KIP-48), as the admin client creates, renews, expires and lists them.

Rules:
- A token is a password of its owner that expires. No `repr` contains it.
- Principals are text, such as User:alice. A name without a type means a user.
- A broker without delegation.token.secret.key raises DELEGATION_TOKEN_AUTH_DISABLED. The connection of the admin client
  must be authenticated, and not by a token, else DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kafkawire.client._admin.controller import at_controller
from kafkawire.client.errors import OptionError
from kafkawire.messages import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from kafkawire.messages.errors import error_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.client._cluster.cluster import Cluster

_USER: Final = "User"
_BROKER_DEFAULT: Final = -1
_NOW: Final = -1


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A delegation token; times are in milliseconds since 1970."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    expires_ms: int
    max_ms: int
    hmac: bytes = field(repr=False)

    @property
    def password(self) -> str:
        """The HMAC as text, which is the password of the token."""
        return base64.b64encode(self.hmac).decode()

    def login(self, mechanism: str = "SCRAM-SHA-512") -> dict[str, Any]:
        """The options of a client that logs in with the token.

        >>> token = DelegationToken("an-id", "User:ann", "User:ann", (), 0, 1, 2, b"secret")
        >>> token.login()["sasl_plain_username"], token
        ('an-id', DelegationToken(token_id='an-id', owner='User:ann', requester='User:ann', renewers=(), issued_ms=0, \
expires_ms=1, max_ms=2))
        """
        return {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": self.token_id,
            "sasl_plain_password": self.password,
            "sasl_token_auth": True,
        }


class TokenAdmin:
    """The methods of the admin client for delegation tokens."""

    _cluster: Cluster

    async def create_delegation_token(
        self, *, owner: str | None = None, renewers: Iterable[str] = (), max_lifetime_ms: int = _BROKER_DEFAULT
    ) -> DelegationToken:
        """Create a token: for the principal of this client, or for `owner`, which needs CREATE_TOKENS on it."""
        kind = CreateDelegationTokenRequest.CreatableRenewers
        named = [_parse(each) for each in renewers]
        request = CreateDelegationTokenRequest(
            renewers=[kind(principal_type=each, principal_name=name) for each, name in named],
            max_lifetime_ms=max_lifetime_ms,
        )
        if owner is not None:
            request.owner_principal_type, request.owner_principal_name = _parse(owner)
        answer = await at_controller(self._cluster, request, CreateDelegationTokenResponse)
        if answer.error_code:
            raise error_for(answer.error_code, None)
        found = f"{answer.principal_type}:{answer.principal_name}"
        # versions before 3 do not name the requester, who is the owner then
        requester = answer.token_requester_principal_name
        return DelegationToken(
            answer.token_id,
            found,
            f"{answer.token_requester_principal_type}:{requester}" if requester else found,
            tuple(f"{each}:{name}" for each, name in named),
            answer.issue_timestamp_ms,
            answer.expiry_timestamp_ms,
            answer.max_timestamp_ms,
            bytes(answer.hmac),
        )

    async def renew_delegation_token(
        self, token: DelegationToken | bytes | str, *, period_ms: int = _BROKER_DEFAULT
    ) -> int:
        """Let a token, named by its HMAC, be valid for a further period; returns its new end."""
        request = RenewDelegationTokenRequest(hmac=_hmac(token), renew_period_ms=period_ms)
        answer = await at_controller(self._cluster, request, RenewDelegationTokenResponse)
        if answer.error_code:
            raise error_for(answer.error_code, None)
        return answer.expiry_timestamp_ms

    async def expire_delegation_token(self, token: DelegationToken | bytes | str, *, period_ms: int = _NOW) -> int:
        """Let a token, named by its HMAC, end after a period, or by default remove it at once; returns its new end."""
        request = ExpireDelegationTokenRequest(hmac=_hmac(token), expiry_time_period_ms=period_ms)
        answer = await at_controller(self._cluster, request, ExpireDelegationTokenResponse)
        if answer.error_code:
            raise error_for(answer.error_code, None)
        return answer.expiry_timestamp_ms

    async def describe_delegation_tokens(self, owners: Iterable[str] | None = None) -> list[DelegationToken]:
        """The tokens of owners, by default all that this client may see, with their HMACs."""
        wanted = None
        if owners is not None:
            kind = DescribeDelegationTokenRequest.DescribeDelegationTokenOwner
            wanted = [kind(principal_type=each, principal_name=name) for each, name in map(_parse, owners)]
        answer = await at_controller(
            self._cluster, DescribeDelegationTokenRequest(owners=wanted), DescribeDelegationTokenResponse
        )
        if answer.error_code:
            raise error_for(answer.error_code, None)
        return sorted(map(_described, answer.tokens), key=lambda each: (each.issued_ms, each.token_id))


def _described(found: DescribeDelegationTokenResponse.DescribedDelegationToken) -> DelegationToken:
    owner = f"{found.principal_type}:{found.principal_name}"
    requester = found.token_requester_principal_name
    return DelegationToken(
        found.token_id,
        owner,
        f"{found.token_requester_principal_type}:{requester}" if requester else owner,
        tuple(f"{each.principal_type}:{each.principal_name}" for each in found.renewers),
        found.issue_timestamp,
        found.expiry_timestamp,
        found.max_timestamp,
        bytes(found.hmac),
    )


def _parse(principal: str) -> tuple[str, str]:
    """The type and the name of a principal."""
    kind, colon, name = principal.partition(":")
    if not colon:
        kind, name = _USER, principal
    if not kind or not name:
        raise OptionError(f"principal {principal!r}: expected Type:name, such as User:alice")
    return kind, name


def _hmac(token: DelegationToken | bytes | str) -> bytes:
    """The HMAC of a token; as text it is in base64."""
    if isinstance(token, DelegationToken):
        return token.hmac
    if isinstance(token, bytes):
        return token
    try:
        return base64.b64decode(token, validate=True)
    except (binascii.Error, ValueError):
        raise OptionError("the HMAC of the token: expected base64, as the list of tokens shows it") from None
