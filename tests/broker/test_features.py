"""Finalized features: defaults, changes, restarts, and directories of other versions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkawire.broker._metadata.features import Feature, Features, FeatureUpdate, taken_over
from kafkawire.broker._metadata.journal.files import JOURNAL, examine
from kafkawire.broker._metadata.journal.log import JournalError, encode_change
from kafkawire.log.checkpoints import read_properties, write_properties
from kafkawire.messages import FeatureLevelRecord, PartitionRecord, RegisterBrokerRecord
from kafkawire.messages.errors import InvalidUpdateVersionError, KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kafkawire.broker._node import Node
    from kafkawire.log.storage.memory import MemoryFiles

TRANSACTIONS = "transaction.version"
DOWNGRADE = 2


def update(node: Node, level: int, upgrade_type: int = 1, *, validate_only: bool = False) -> None:
    wanted = {TRANSACTIONS: FeatureUpdate(level, upgrade_type)}
    node.changes.run_now(node.changes.feature_levels(wanted, validate_only=validate_only))


def stated(files: MemoryFiles) -> Mapping[str, int]:
    return examine(files, Path("/data")).state.features


def test_a_new_directory_finalizes_the_defaults(node: Node, files: MemoryFiles) -> None:
    assert node.features.level(TRANSACTIONS) == 2
    assert node.features.epoch >= 0
    assert stated(files) == {feature.name: feature.default for feature in node.features.supported.values()}


def test_a_changed_level_and_its_epoch_survive_a_restart(node: Node, open_node: Callable[..., Node]) -> None:
    before = node.features.epoch
    update(node, 0, DOWNGRADE)
    changed = node.features.epoch
    node.close()
    again = open_node()
    assert before < changed <= again.features.epoch
    assert again.features.level(TRANSACTIONS) == 0


def test_a_crash_keeps_a_changed_level(node: Node, open_node: Callable[..., Node]) -> None:
    update(node, 1, DOWNGRADE)
    assert open_node().features.level(TRANSACTIONS) == 1


def test_levels_survive_a_shortened_journal(
    node: Node, open_node: Callable[..., Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    update(node, 0, DOWNGRADE)
    node.close()
    monkeypatch.setattr("kafkawire.broker._metadata.start.JOURNAL_SLACK", -100)
    shortened = open_node()
    assert len(shortened.journal) < shortened.journal.end_offset
    epoch = shortened.features.epoch
    shortened.close()
    again = open_node()
    assert again.features.level(TRANSACTIONS) == 0
    assert again.features.epoch >= epoch


def test_a_directory_of_a_version_without_features_gets_the_defaults(
    open_node: Callable[..., Node], files: MemoryFiles
) -> None:
    journal = Path("/data") / JOURNAL
    files.make_directory(Path("/data"))
    files.make_directory(journal)
    first = encode_change([RegisterBrokerRecord(broker_id=1, broker_epoch=0, fenced=False)], 0)
    files.open(journal / "00000000000000000000.log", create=True).write(0, [first])
    node = open_node()
    assert node.features.level(TRANSACTIONS) == 2
    assert stated(files)[TRANSACTIONS] == 2


def test_a_second_start_writes_no_levels(node: Node, open_node: Callable[..., Node]) -> None:
    end = node.journal.end_offset
    node.close()
    assert open_node().journal.end_offset == end + 1  # the start itself


def test_a_level_above_the_supported_range_forbids_the_start(node: Node, open_node: Callable[..., Node]) -> None:
    node.journal.write([FeatureLevelRecord(name=TRANSACTIONS, feature_level=3)])
    node.close()
    with pytest.raises(JournalError, match=r"transaction\.version is finalized at level 3.*supports 0 to 2"):
        open_node()


def test_a_level_below_the_supported_range_is_raised(node: Node, open_node: Callable[..., Node]) -> None:
    node.journal.write([FeatureLevelRecord(name="metadata.version", feature_level=7)])
    node.close()
    assert open_node().features.level("metadata.version") == 30


def test_a_feature_of_a_newer_version_is_kept_and_not_listed() -> None:
    features = Features([Feature("known", 0, 1, 1)])
    assert features.restore({"known": 1, "newer": 4}) == []
    assert features.finalized == {"known": 1}
    assert FeatureLevelRecord(name="newer", feature_level=4) in list(features.records())


def test_levels_of_another_implementation_are_taken_over_within_the_supported_ranges() -> None:
    found = {record.name: record.feature_level for record in taken_over({TRANSACTIONS: 1, "metadata.version": 99})}
    assert found == {TRANSACTIONS: 1, "metadata.version": 30}


@pytest.mark.parametrize(
    ("level", "upgrade_type", "reason"),
    [
        (1, 1, "the finalized level is 2, and the upgrade type is not a downgrade"),
        (3, 1, "this broker supports 0 to 2"),
        (-1, DOWNGRADE, "this broker supports 0 to 2"),
        (1, 0, "upgrade type 0"),
        (1, 4, "upgrade type 4"),
    ],
)
def test_an_update_that_is_not_a_valid_step_is_refused(node: Node, level: int, upgrade_type: int, reason: str) -> None:
    end = node.journal.end_offset
    with pytest.raises(InvalidUpdateVersionError, match=reason):
        update(node, level, upgrade_type)
    assert (node.features.level(TRANSACTIONS), node.journal.end_offset) == (2, end)


def test_a_downgrade_to_a_higher_level_is_refused(node: Node) -> None:
    update(node, 0, 3)
    with pytest.raises(InvalidUpdateVersionError, match="not a downgrade"):
        update(node, 1, DOWNGRADE)


@pytest.mark.parametrize("level", [0, 1])
def test_one_bad_update_of_several_changes_nothing(node: Node, level: int) -> None:
    wanted = {TRANSACTIONS: FeatureUpdate(1, DOWNGRADE), "nope": FeatureUpdate(level)}
    with pytest.raises(InvalidUpdateVersionError, match="'nope': this broker does not support it"):
        node.changes.run_now(node.changes.feature_levels(wanted, validate_only=False))
    assert node.features.level(TRANSACTIONS) == 2


def test_a_validated_update_changes_nothing(node: Node) -> None:
    end = node.journal.end_offset
    update(node, 0, DOWNGRADE, validate_only=True)
    assert (node.features.level(TRANSACTIONS), node.journal.end_offset) == (2, end)


def test_a_failed_write_of_the_journal_changes_no_level(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(records: object) -> None:
        raise KafkaStorageError("disk full")

    epoch = node.features.epoch
    monkeypatch.setattr(node.journal, "write", fail)
    with pytest.raises(KafkaStorageError):
        update(node, 0, DOWNGRADE)
    assert (node.features.level(TRANSACTIONS), node.features.epoch) == (2, epoch)


def test_simultaneous_updates_apply_one_after_the_other(node: Node) -> None:
    async def race() -> list[object]:
        changes = node.changes
        wanted = [FeatureUpdate(1, DOWNGRADE), FeatureUpdate(0, DOWNGRADE), FeatureUpdate(2), FeatureUpdate(1)]
        works = [changes.feature_levels({TRANSACTIONS: each}, validate_only=False) for each in wanted]
        return await asyncio.gather(*(changes.run(work) for work in works), return_exceptions=True)

    results = asyncio.run(race())
    assert results[:3] == [None] * 3
    assert isinstance(results[3], InvalidUpdateVersionError)
    assert node.features.level(TRANSACTIONS) == 2


def test_the_journal_describes_the_broker_as_kafka_does(node: Node, files: MemoryFiles) -> None:
    changes = list(node.journal.replay())
    (broker,) = (each for each in changes if isinstance(each, RegisterBrokerRecord))
    assert {each.name: each.max_supported_version for each in broker.features}[TRANSACTIONS] == 2
    assert broker.log_dirs == [node.directory_id]
    kinds = [type(each).__name__ for each in changes]
    assert kinds[-3:] == ["TopicRecord", "PartitionRecord", "PartitionRecord"]
    assert [each.directories for each in changes if isinstance(each, PartitionRecord)] == [[node.directory_id]] * 2


def test_a_directory_id_that_cannot_be_read_does_not_prevent_a_start(
    node: Node, open_node: Callable[..., Node], files: MemoryFiles
) -> None:
    node.close()
    path = Path("/data/meta.properties")
    write_properties(files, path, {**(read_properties(files, path) or {}), "directory.id": "not an id"})
    assert "orders" in open_node().topics
