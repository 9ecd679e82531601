"""The settings of a log."""

from __future__ import annotations

import pytest

from kafkawire.log import LogConfig
from kafkawire.messages.errors import InvalidConfigurationError


def test_defaults_are_those_of_apache_kafka() -> None:
    defaults = LogConfig().properties()
    expected = {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "delete.retention.ms": "86400000",
        "flush.messages": "9223372036854775807",
        "index.interval.bytes": "4096",
        "max.message.bytes": "1048588",
        "message.timestamp.type": "CreateTime",
        "min.cleanable.dirty.ratio": "0.5",
        "retention.bytes": "-1",
        "retention.ms": "604800000",
        "segment.bytes": "1073741824",
        "segment.index.bytes": "10485760",
        "segment.ms": "604800000",
    }
    assert expected.items() <= defaults.items()


def test_settings_survive_the_way_to_text_and_back() -> None:
    config = LogConfig(cleanup_policy="compact,delete", flush_on_ack=True, min_cleanable_dirty_ratio=0.1)
    assert LogConfig.from_properties(config.properties()) == config


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"segment.bites": "1"}, r"segment\.bites: a log has no such setting; did you mean segment\.bytes\?"),
        ({"retention.ms": "soon"}, r"retention\.ms: expected int, found 'soon'"),
        ({"flush.on.ack": "yes"}, r"flush\.on\.ack: expected bool, found 'yes'"),
        ({"segment.bytes": "13"}, r"segment\.bytes: expected 14 to 2147483647, found 13"),
        ({"cleanup.policy": "shred"}, r"cleanup\.policy: expected delete, compact or both, found 'shred'"),
        ({"compression.type": "rar"}, r"compression\.type: expected producer or .* found 'rar'"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_name(properties: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidConfigurationError, match=message):
        LogConfig.from_properties(properties)


@pytest.mark.parametrize(
    ("policy", "compacts", "deletes"),
    [("delete", False, True), ("compact", True, False), ("compact, delete", True, True)],
)
def test_cleanup_policies_combine(policy: str, compacts: bool, deletes: bool) -> None:
    config = LogConfig(cleanup_policy=policy)
    assert (config.compacts, config.deletes) == (compacts, deletes)
