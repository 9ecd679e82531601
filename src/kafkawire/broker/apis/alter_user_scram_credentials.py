"""AlterUserScramCredentials: v0. Sets and removes SCRAM credentials, which are in the journal.

Rules:
- A user may occur once in a request, whatever the mechanism; else DUPLICATE_RESOURCE for this user, and none of its
  changes happen. Changes of other users happen.
- An empty name, an empty salt or salted password, and iterations that are not 4096 to 16384 are
  UNACCEPTABLE_CREDENTIAL. Another mechanism is UNSUPPORTED_SASL_MECHANISM. The removal of a credential that is not
  there is RESOURCE_NOT_FOUND.
- Only the keys that the salted password gives are kept. A change acts on new logins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._dispatch.registry import Refusal, RequestContext, serves
from kafkawire.broker._security.scram_users import (
    LEAST_ITERATIONS,
    MOST_ITERATIONS,
    NUMBERS,
    ScramCredential,
    record_of,
)
from kafkawire.messages import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    RemoveUserScramCredentialRecord,
)
from kafkawire.messages.errors import (
    DuplicateResourceError,
    KafkaError,
    ResourceNotFoundError,
    UnacceptableCredentialError,
    UnsupportedSaslMechanismError,
)

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.messages import UserScramCredentialRecord

    Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
    Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    Change = RemoveUserScramCredentialRecord | UserScramCredentialRecord

LONGEST_SALT: Final = 1024


def refuse(
    request: AlterUserScramCredentialsRequest, refusal: Refusal, context: RequestContext
) -> AlterUserScramCredentialsResponse:
    names = dict.fromkeys(each.name for each in _wanted(request))
    return AlterUserScramCredentialsResponse(results=[_result(name, refusal) for name in names])


@serves("AlterUserScramCredentials", refuse=refuse)
async def handle(
    node: Node, request: AlterUserScramCredentialsRequest, context: RequestContext
) -> AlterUserScramCredentialsResponse:
    wanted = _wanted(request)
    times = await context.count(each.name for each in wanted)
    changes: list[Change] = []
    answers: dict[str, Refusal] = {}
    for each in wanted:
        try:
            if times[each.name] > 1:
                raise DuplicateResourceError("a user cannot be altered twice in one request")
            changes.append(_change(node, each))
            answers[each.name] = Refusal(0, None)
        except KafkaError as error:
            answers[each.name] = Refusal.of(error)
        await context.yield_if_due()
    if changes:
        await node.changes.run(node.changes.scram_credentials(changes))
    response = AlterUserScramCredentialsResponse()
    for name, answer in answers.items():
        response.results.append(_result(name, answer))
        await context.yield_if_due()
    return response


def _wanted(request: AlterUserScramCredentialsRequest) -> list[Deletion | Upsertion]:
    return [*request.deletions, *request.upsertions]


def _change(node: Node, wanted: Deletion | Upsertion) -> Change:
    if not wanted.name:
        raise UnacceptableCredentialError("the name of the user is empty")
    mechanism = NUMBERS.get(wanted.mechanism)
    if mechanism is None:
        raise UnsupportedSaslMechanismError(f"mechanism {wanted.mechanism}, expected 1 (SHA-256) or 2 (SHA-512)")
    if isinstance(wanted, AlterUserScramCredentialsRequest.ScramCredentialDeletion):
        if wanted.mechanism not in node.scram_users.of(wanted.name):
            raise ResourceNotFoundError("the user has no such credential")
        return RemoveUserScramCredentialRecord(name=wanted.name, mechanism=wanted.mechanism)
    if not LEAST_ITERATIONS <= wanted.iterations <= MOST_ITERATIONS:
        raise UnacceptableCredentialError(
            f"{wanted.iterations} iterations, expected {LEAST_ITERATIONS} to {MOST_ITERATIONS}"
        )
    salt, salted = bytes(wanted.salt), bytes(wanted.salted_password)
    if not salt or not salted or len(salt) > LONGEST_SALT or len(salted) > LONGEST_SALT:
        raise UnacceptableCredentialError(f"salt and salted password: expected 1 to {LONGEST_SALT} bytes each")
    credential = ScramCredential.of_salted(mechanism, salted, salt, wanted.iterations)
    return record_of(wanted.name, wanted.mechanism, credential)


def _result(name: str, answer: Refusal) -> AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult:
    return AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult(
        user=name, error_code=answer.code, error_message=answer.message
    )
