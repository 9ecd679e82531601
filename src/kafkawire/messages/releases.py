"""The versions of every API in the releases of Apache Kafka, and the release that a broker resembles.

Rules:
- `schemas/releases.tsv` is the only source. It lists the releases, and per API only the changes: `2.0:0-6` from 2.0 on,
  `4.0:-` removed in 4.0. Versions that a release marks as unstable are not listed.
- A release is named as in the table, or with a patch version: 3.9.1 is 3.9.
- A broker resembles the release with the most equal last versions. Versions that the release lacks count against it.
  APIs that the release has and the broker does not count half, because listeners and settings hide some of them.
- First versions do not count: Kafka 4 lists 0 as the first version of Produce for librdkafka's sake (KAFKA-18659).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.exceptions import KafkaWireError
from kafkawire.messages._registry import UnknownMessageError, api, apis
from kafkawire.messages._schema_files import SCHEMAS
from kafkawire.messages.schema import NO_VERSIONS, Versions

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE: Final = SCHEMAS / "releases.tsv"


class UnknownReleaseError(KafkaWireError, LookupError):
    """The table does not have a release."""


class Difference(NamedTuple):
    """An API whose versions differ: None on the side that does not have it."""

    key: int
    before: Versions | None
    after: Versions | None

    @property
    def name(self) -> str:
        return api_name(self.key)

    @property
    def kind(self) -> str:
        """The change from before to after, in words.

        >>> Difference(0, Versions(0, 11), Versions(3, 13)).kind, Difference(4, Versions(0, 7), None).kind
        ('later versions, without the oldest', 'removed')
        """
        if self.before is None:
            return "new"
        if self.after is None:
            return "removed"
        words = []
        if self.after.last != self.before.last:
            words.append("later versions" if self.after.last > self.before.last else "without the latest")
        if self.after.first != self.before.first:
            words.append("without the oldest" if self.after.first > self.before.first else "older versions")
        return ", ".join(words) or "the same"


class Resemblance(NamedTuple):
    """The releases that fit best, oldest first, and how the versions of the broker differ from the last of them."""

    releases: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def is_exact(self) -> bool:
        return not self.differences


@cache
def release_names() -> tuple[str, ...]:
    """The releases of the table, oldest first.

    >>> release_names()[0], release_names()[-1]
    ('0.11.0', '4.4')
    """
    return _table()[0]


def versions_in(release: str) -> Mapping[int, Versions]:
    """The versions of every API in a release, by key.

    >>> str(versions_in("2.8")[1]), str(versions_in("3.9.1")[0]), 4 in versions_in("4.0")
    ('0-12', '0-11', False)
    """
    return _table()[1][find_release(release)]


def releases_serving(key: int, version: int) -> tuple[str, ...]:
    """The releases that serve a version of an API, oldest first.

    >>> releases_serving(1, 2)[-1], releases_serving(1, 13)[0], releases_serving(1, 99)
    ('3.9', '3.1', ())
    """
    return tuple(name for name in release_names() if version in versions_in(name).get(key, NO_VERSIONS))


def find_release(text: str) -> str:
    """The name of a release in the table.

    >>> find_release("v3.9.1"), find_release("0.11"), find_release("4.3.0")
    ('3.9', '0.11.0', '4.3')
    """
    wanted = text.strip().lower().removeprefix("v")
    for name in release_names():
        if wanted == name or wanted.startswith(f"{name}.") or ("." in wanted and name == f"{wanted}.0"):
            return name
    raise UnknownReleaseError(f"release {text!r}: expected one of {', '.join(release_names())}")


def differences(before: Mapping[int, Versions], after: Mapping[int, Versions]) -> list[Difference]:
    """The APIs whose versions differ, by key."""
    found = (Difference(key, before.get(key), after.get(key)) for key in sorted(before.keys() | after.keys()))
    return [each for each in found if each.before != each.after]


def resemblance(offered: Mapping[int, Versions]) -> Resemblance:
    """The releases that a broker with these versions resembles.

    >>> resemblance(versions_in("2.8")).releases
    ('2.8',)
    """
    scores = {release: _score(offered, release) for release in release_names()}
    best = max(scores.values())
    fitting = tuple(release for release, score in scores.items() if score == best)
    listed = _of_brokers(fitting[-1], offered)
    unlike = [
        each
        for each in differences(listed, offered)
        if each.before is None or each.after is None or each.before.last != each.after.last
    ]
    return Resemblance(fitting, tuple(unlike))


def lacking(offered: Mapping[int, Versions], release: str) -> list[Difference]:
    """The APIs and versions that brokers of a release have, and this broker does not."""
    wanted = _of_brokers(find_release(release), offered)
    return [
        each
        for each in differences(wanted, offered)
        if each.before is not None and (each.after is None or not _covers(each.after, each.before))
    ]


def api_name(key: int) -> str:
    """The name of an API; its key if it is not known."""
    try:
        return api(key).name
    except UnknownMessageError:
        return f"key {key}"


def _covers(outer: Versions, inner: Versions) -> bool:
    return outer.first <= inner.first and inner.last <= outer.last


def _of_brokers(release: str, offered: Mapping[int, Versions]) -> dict[int, Versions]:
    """The versions that brokers of a release list to clients; of other APIs only those that this broker lists too."""
    public = _client_apis()
    return {key: versions for key, versions in versions_in(release).items() if key in public or key in offered}


def _score(offered: Mapping[int, Versions], release: str) -> float:
    listed = versions_in(release)
    score = 0.0
    for key, versions in offered.items():
        known = listed.get(key)
        score += 1 if known is not None and known.last == versions.last else -1
    return score - sum(0.5 for key in listed if key in _client_apis() and key not in offered)


@cache
def _client_apis() -> frozenset[int]:
    """The APIs that both kinds of brokers offer to clients; those of one kind, and of controllers, prove nothing."""
    return frozenset(each.key for each in apis() if "broker" in each.schema.listeners)


@cache
def _table() -> tuple[tuple[str, ...], dict[str, dict[int, Versions]]]:
    head, *rows = FILE.read_text(encoding="utf-8").splitlines()
    names = tuple(head.split("\t")[1].split(" "))
    found: dict[str, dict[int, Versions]] = {name: {} for name in names}
    for row in rows:
        key, changes = row.split("\t")
        by_release = dict(change.split(":") for change in changes.split(" "))
        current: Versions | None = None
        for name in names:
            text = by_release.get(name)
            if text is not None:
                first, _, last = text.partition("-")
                current = Versions(int(first), int(last or first)) if first else None
            if current is not None:
                found[name][int(key)] = current
    return names, found
