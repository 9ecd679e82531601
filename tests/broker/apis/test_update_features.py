"""UpdateFeatures, and the features that ApiVersions lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import ask

from kafkawire.messages import ApiVersionsRequest, UpdateFeaturesRequest
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from kafkawire.broker._node import Node

TRANSACTIONS = "transaction.version"


def update(node: Node, version: int, *updates: dict[str, Any], validate_only: bool = False) -> Any:
    keys = [UpdateFeaturesRequest.FeatureUpdateKey(**each) for each in updates]
    return ask(node, UpdateFeaturesRequest(feature_updates=keys, validate_only=validate_only), version)


def wanted(level: int, feature: str = TRANSACTIONS, **more: object) -> dict[str, object]:
    return {"feature": feature, "max_version_level": level, **more}


def features(node: Node, version: int = 4) -> Any:
    return ask(node, ApiVersionsRequest(client_software_name="test", client_software_version="1"), version)


def test_supported_ranges_that_begin_at_0_are_left_out_below_v4(node: Node) -> None:
    assert {each.name for each in features(node, 3).supported_features} == {"metadata.version"}
    assert (TRANSACTIONS, 0, 2) in [
        (each.name, each.min_version, each.max_version) for each in features(node).supported_features
    ]


@pytest.mark.parametrize("version", [3, 4])
def test_finalized_levels_are_listed_with_an_epoch(node: Node, version: int) -> None:
    told = features(node, version)
    levels = {each.name: (each.min_version_level, each.max_version_level) for each in told.finalized_features}
    assert levels[TRANSACTIONS] == (2, 2)
    assert told.finalized_features_epoch == node.features.epoch


def test_a_feature_that_is_off_is_not_listed_as_finalized_and_the_epoch_grows(node: Node) -> None:
    before = features(node).finalized_features_epoch
    assert update(node, 2, wanted(0, upgrade_type=3)).error_code == ErrorCode.NONE
    told = features(node)
    assert TRANSACTIONS not in {each.name for each in told.finalized_features}
    assert told.finalized_features_epoch > before


@pytest.mark.parametrize(("version", "results"), [(0, 1), (1, 1), (2, 0)])
def test_results_per_feature_end_with_v1(node: Node, version: int, results: int) -> None:
    told = update(node, version, wanted(2))
    assert (told.error_code, told.error_message) == (ErrorCode.NONE, None)
    assert [(each.feature, each.error_code) for each in told.results] == [(TRANSACTIONS, 0)] * results


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_refused_update_has_one_error_and_no_results(node: Node, version: int) -> None:
    told = update(node, version, wanted(2), wanted(1, "nope"))
    assert told.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "'nope'" in told.error_message
    assert told.results == []


def test_v0_does_not_downgrade(node: Node) -> None:
    told = update(node, 0, wanted(1, allow_downgrade=True))
    assert told.error_code == ErrorCode.INVALID_UPDATE_VERSION


def test_of_a_repeated_feature_the_last_update_counts(node: Node) -> None:
    update(node, 2, wanted(7), wanted(1, upgrade_type=2))
    assert node.features.level(TRANSACTIONS) == 1


def test_validate_only_changes_nothing(node: Node) -> None:
    assert update(node, 1, wanted(0, upgrade_type=2), validate_only=True).error_code == ErrorCode.NONE
    assert node.features.level(TRANSACTIONS) == 2
