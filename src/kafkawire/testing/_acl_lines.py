"""Access control entries as a test writes them: `alice: read, describe topic orders*`.

Rules:
- A line is `<who>: <operations> <resource> <name>`. `deny` before the operations forbids them, and ` from <host>` after
  the name limits the line to a host. An operation that reads or writes allows DESCRIBE too, as in Kafka.
- `<who>` is a user, a principal such as `User:CN=ann`, or `*` for every user. The resources are topic, group, cluster,
  transactional-id, delegation-token and user. A cluster has no name.
- A name that ends with `*` is a prefix, and `*` alone is every name.
- `consume topic orders group app*` and `produce topic orders` are what a consumer and a producer need.
- Lines may be in a list or in one text. Blank lines and lines that begin with # are skipped.
- Words that are unknown raise AclLineError with the closest known one. So does a user who does not exist.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from kafkawire.exceptions import KafkaWireError
from kafkawire.wire.acls import (
    CLUSTER_NAME,
    EVERYBODY,
    WILDCARD,
    Acl,
    Operation,
    Pattern,
    PatternType,
    Permission,
    ResourceType,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

FORM: Final = "expected a line such as 'alice: read topic orders*'"
_LINE: Final = re.compile(r"(\S.*?)\s*:\s+(.+)")
_RESOURCES: Final = {each.name.lower().replace("_", "-"): each for each in ResourceType if each is not ResourceType.ANY}
_OPERATIONS: Final = {each.name.lower().replace("_", "-"): each for each in Operation if each is not Operation.ANY}
_ROLES: Final[Mapping[str, Mapping[int, tuple[Operation, ...]]]] = {
    "consume": {ResourceType.TOPIC: (Operation.READ,), ResourceType.GROUP: (Operation.READ,)},
    "produce": {
        ResourceType.TOPIC: (Operation.WRITE, Operation.CREATE),
        ResourceType.TRANSACTIONAL_ID: (Operation.WRITE,),
    },
}


class AclLineError(KafkaWireError, ValueError):
    """A line of `acls` that cannot be read."""


def parse_acls(given: str | Iterable[str], users: Collection[str] | None = None) -> list[Acl]:
    """The entries that lines describe; `users` are those who exist, if that is known.

    >>> [acl] = parse_acls(["alice: read topic orders*"], {"alice"})
    >>> acl.principal, Operation(acl.operation).name, acl.pattern.name, PatternType(acl.pattern.pattern_type).name
    ('User:alice', 'READ', 'orders', 'PREFIXED')
    >>> parse_acls("alcie: read topic orders", {"alice"})
    Traceback (most recent call last):
    kafkawire.testing._acl_lines.AclLineError: 'alcie: read topic orders': no user 'alcie'; did you mean 'alice'?
    """
    lines = given.splitlines() if isinstance(given, str) else given
    found: dict[Acl, None] = {}
    for line in lines:
        text = line.strip()
        if text and not text.startswith("#"):
            found.update(dict.fromkeys(_parse(text, users)))
    return list(found)


def _parse(line: str, users: Collection[str] | None) -> Iterator[Acl]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise AclLineError(f"{line!r}: {FORM}")
    principal = _principal(line, match[1], users)
    words = re.sub(r"\s*,\s*", ",", match[2]).split()
    permission = Permission.ALLOW
    if words[0].lower() == "deny":
        permission = Permission.DENY
        words = words[1:]
    host = WILDCARD
    if len(words) > 2 and words[-2].lower() == "from":
        host = words[-1]
        words = words[:-2]
    if len(words) < 2:
        raise AclLineError(f"{line!r}: {FORM}")
    for pattern in _patterns(line, words[1:]):
        for operation in _operations(line, words[0], pattern):
            yield Acl(pattern, principal, host, operation, permission)


def _principal(line: str, who: str, users: Collection[str] | None) -> str:
    if who == WILDCARD:
        return EVERYBODY
    if ":" in who:
        return who
    if users is not None and who not in users:
        raise AclLineError(f"{line!r}: no user {who!r}{_hint(who, users)}")
    return f"User:{who}"


def _patterns(line: str, words: Sequence[str]) -> Iterator[Pattern]:
    """The resources that a line names, one after the other."""
    rest = list(words)
    while rest:
        kind = _known(line, "resource", rest.pop(0), _RESOURCES)
        if kind == ResourceType.CLUSTER:
            yield Pattern(kind, CLUSTER_NAME)
            continue
        if not rest:
            raise AclLineError(f"{line!r}: expected the name of the {words[-1]}, or * for every name")
        name = rest.pop(0)
        if name != WILDCARD and name.endswith(WILDCARD):
            yield Pattern(kind, name[:-1], PatternType.PREFIXED)
        else:
            yield Pattern(kind, name)


def _operations(line: str, text: str, pattern: Pattern) -> Iterator[int]:
    for word in text.split(","):
        role = _ROLES.get(word.lower())
        if role is None:
            yield _known(line, "operation", word, {**_OPERATIONS, **dict.fromkeys(_ROLES, Operation.ANY)})
        elif pattern.resource_type in role:
            yield from role[ResourceType(pattern.resource_type)]
        else:
            expected = " and ".join(ResourceType(each).name.lower().replace("_", "-") for each in role)
            raise AclLineError(f"{line!r}: {word} is about {expected}")


def _known(line: str, what: str, word: str, known: Mapping[str, int]) -> int:
    name = word.lower().replace("_", "-")
    if name not in known:
        raise AclLineError(f"{line!r}: no {what} {word!r}{_hint(name, known)}")
    return int(known[name])


def _hint(word: str, known: Collection[str]) -> str:
    close = get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; expected one of {', '.join(sorted(known))}"
