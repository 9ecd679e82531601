"""Feature levels of the cluster (KIP-584, KIP-1022): the range that this broker supports, and the finalized level.

Rules:
- A broker supports a feature only if it serves the feature's APIs. SUPPORTED is the only list of them.
- Levels are in the journal. A directory that does not state a level of a feature gets the default when it is opened:
  a new directory, and one of an earlier version that did not have the feature. A stated level stays, level 0 too.
- A level below the supported range is raised to its lowest level. A level above the range forbids the start, because a
  newer version may have written records that this one misreads.
- The epoch grows with every change of a level. Java producers read the levels only if the epoch they see has grown, so
  levels and epoch change together.
- A level of 0 is a feature that is turned off. It is not listed as finalized.
- metadata.version has one level: the journal's records have the form of that version and no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker._metadata.journal.log import JournalError
from kafkawire.messages import FeatureLevelRecord
from kafkawire.messages.errors import InvalidUpdateVersionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

METADATA_VERSION: Final = "metadata.version"
TRANSACTION_VERSION: Final = "transaction.version"
GROUP_VERSION: Final = "group.version"
STREAMS_VERSION: Final = "streams.version"
SHARE_VERSION: Final = "share.version"
UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3


class Feature(NamedTuple):
    """A feature, the levels that this broker supports, and the level of a new directory."""

    name: str
    lowest: int
    highest: int
    default: int


SUPPORTED: Final = (
    Feature(METADATA_VERSION, 30, 30, 30),  # 4.3-IV0
    Feature(TRANSACTION_VERSION, 0, 2, 2),
    Feature(GROUP_VERSION, 0, 1, 1),
    Feature(STREAMS_VERSION, 0, 1, 1),
    Feature(SHARE_VERSION, 0, 1, 1),
)


class FeatureUpdate(NamedTuple):
    """A level that a client wants to finalize, and the direction that it allows."""

    level: int
    upgrade_type: int = UPGRADE


class Features:
    """The finalized levels.

    >>> features = Features()
    >>> features.apply(features.restore({"transaction.version": 1}), epoch=3)
    >>> features.level("transaction.version"), features.epoch
    (1, 3)
    """

    def __init__(self, supported: Iterable[Feature] = SUPPORTED) -> None:
        self.supported: Final[Mapping[str, Feature]] = {feature.name: feature for feature in supported}
        self._levels = dict.fromkeys(self.supported, 0)
        self._unknown: dict[str, int] = {}
        """Levels of features that only another version of this broker supports."""
        self.epoch = 0

    def level(self, name: str) -> int:
        """The finalized level of a feature; 0 if it is off."""
        return self._levels.get(name, 0)

    @property
    def finalized(self) -> dict[str, int]:
        """The level of each feature that is on."""
        return {name: level for name, level in self._levels.items() if level}

    def restore(self, stated: Mapping[str, int]) -> list[FeatureLevelRecord]:
        """Take over the levels of a journal; returns the records that the journal lacks, which are not applied yet."""
        lacking = []
        for name, level in stated.items():
            if name not in self.supported:
                self._unknown[name] = level
        for feature in self.supported.values():
            level = stated.get(feature.name, feature.default)
            if level > feature.highest:
                raise JournalError(
                    f"{feature.name} is finalized at level {level}, this broker supports {_range(feature)}; "
                    "start the version that wrote this directory, or downgrade the feature there"
                )
            self._levels[feature.name] = stated.get(feature.name, 0)
            level = max(level, feature.lowest)
            if stated.get(feature.name) != level:
                lacking.append(FeatureLevelRecord(name=feature.name, feature_level=level))
        return lacking

    def records(self) -> Iterator[FeatureLevelRecord]:
        """The levels as the journal states them."""
        for name, level in {**self._levels, **self._unknown}.items():
            yield FeatureLevelRecord(name=name, feature_level=level)

    def check(self, updates: Mapping[str, FeatureUpdate]) -> list[FeatureLevelRecord]:
        """The records of a valid update; else INVALID_UPDATE_VERSION for the first feature that cannot change so."""
        for name, update in updates.items():
            problem = self._problem(name, *update)
            if problem:
                words = f"level {update.level} of feature {name[:100]!r}: {problem}; no feature was changed"
                raise InvalidUpdateVersionError(words)
        return [FeatureLevelRecord(name=name, feature_level=update.level) for name, update in updates.items()]

    def apply(self, records: Iterable[FeatureLevelRecord], *, epoch: int) -> None:
        """Make levels visible that are in the journal."""
        for record in records:
            self._levels[record.name] = record.feature_level
        self.epoch = epoch

    def _problem(self, name: str, level: int, upgrade_type: int) -> str:
        if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            return f"upgrade type {upgrade_type}, expected 1 (upgrade), 2 (safe) or 3 (unsafe downgrade)"
        feature = self.supported.get(name)
        if feature is None:
            return "this broker does not support it"
        if not feature.lowest <= level <= feature.highest:
            return f"this broker supports {_range(feature)}"
        finalized = self._levels[name]
        if level < finalized and upgrade_type == UPGRADE:
            return f"the finalized level is {finalized}, and the upgrade type is not a downgrade"
        if level > finalized and upgrade_type != UPGRADE:
            return f"the finalized level is {finalized}, so this is not a downgrade"
        return ""


def taken_over(stated: Mapping[str, int]) -> Iterator[FeatureLevelRecord]:
    """The levels of another implementation's journal, within the supported ranges."""
    for feature in SUPPORTED:
        if feature.name in stated:
            level = min(max(stated[feature.name], feature.lowest), feature.highest)
            yield FeatureLevelRecord(name=feature.name, feature_level=level)


def _range(feature: Feature) -> str:
    return f"{feature.lowest} to {feature.highest}"
