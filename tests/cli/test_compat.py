"""`kafkawire compat` and `kafkawire api matrix`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.scripted_broker import ScriptedBroker
from tests.client.test_trace import in_loop

import kafkawire.client
from kafkawire.cli.commands import compat
from kafkawire.cli.main import main
from kafkawire.client.requirements import FEATURES, missing_features
from kafkawire.messages import ApiVersionsResponse, Message, api, apis
from kafkawire.messages.releases import release_names, versions_in
from kafkawire.wire import Negotiated
from kafkawire.wire.negotiation import Features

if TYPE_CHECKING:
    from tests.client.topics import Topics


class BrokerOfRelease(ScriptedBroker):
    """A broker that lists the versions of a release."""

    def __init__(self, release: str) -> None:
        super().__init__()
        self._release = release

    def api_versions(self, request: Any, version: int) -> Message:
        return ApiVersionsResponse(
            api_keys=[
                ApiVersionsResponse.ApiVersion(api_key=key, min_version=found.first, max_version=found.last)
                for key, found in versions_in(self._release).items()
                if "broker" in api(key).schema.listeners
            ]
        )


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main([*arguments, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("release", ["0.11.0", "2.8", "3.9", "4.3"])
@in_loop
async def test_a_broker_of_a_release_is_recognised(release: str) -> None:
    async with BrokerOfRelease(release) as broker:
        place, answer = await compat._ask({"bootstrap_servers": broker.bootstrap})
    assert place == broker.bootstrap
    assert Negotiated.from_response(answer).ranges[1] == versions_in(release)[1]


def test_our_broker_is_compared_with_a_release(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = printed(capsys, "compat", broker.bootstrap, "--against", "4.3.1")
    assert found["resembles"] == ["4.4"]
    assert found["against"] == "4.3"
    assert {"key": 83, "api": "InitializeShareGroupState", "release": "0", "broker": None} in found["lacks"]
    assert "Fetch" not in {each["api"] for each in found["lacks"]}
    assert {each["name"] for each in found["features"]} >= {"metadata.version", "group.version"}
    assert main(["compat", broker.bootstrap]) == 0
    text = capsys.readouterr().out
    assert f"{broker.bootstrap} resembles Kafka 4.4 (" in text
    assert "Compared with Kafka 4.4 it lacks:" in text
    assert re.search(r"InitializeShareGroupState +0 +none", text)


def test_an_unknown_release_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compat", "localhost:1", "--against", "9.9"]) == 2
    assert "--against: release '9.9': expected one of" in capsys.readouterr().err
    assert main(["api", "matrix", "--release", "9.9"]) == 2
    assert main(["api", "matrix", "Fetsch"]) == 2
    assert "Fetsch" in capsys.readouterr().err


def test_the_matrix_has_every_release_and_api(capsys: pytest.CaptureFixture[str]) -> None:
    rows = printed(capsys, "api", "matrix")
    assert [row["key"] for row in rows] == [each.key for each in apis()]
    assert list(rows[0]) == ["key", "api", *release_names()]
    assert rows[1]["2.8"] == "0-12"
    assert rows[4]["4.0"] is None


def test_one_release_is_shown_beside_our_versions(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = printed(capsys, "api", "matrix", "fetch", "--release", "2.8")
    assert row == {"key": 1, "api": "Fetch", "2.8": "0-12", "kafkawire": "0-18", "used": 12}


def test_two_releases_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["api"]: row for row in printed(capsys, "api", "matrix", "--between", "3.9", "4.4")}
    assert rows["Fetch"]["used"] == 17
    assert rows["Fetch"]["change"] == "later versions, without the oldest"
    assert rows["LeaderAndIsr"]["change"] == "removed"
    assert rows["ShareFetch"]["change"] == "new"
    assert "Heartbeat" not in rows


def test_features_need_the_apis_that_the_clients_call() -> None:
    folder = Path(str(kafkawire.client.__file__)).parent
    words = {word for path in folder.rglob("*.py") for word in re.findall(r"\b[A-Z]\w+Request\b", path.read_text())}
    called = {each.name for each in apis()} & {word.removesuffix("Request") for word in words}
    assert {name for feature in FEATURES for name in feature.needs} == called


def test_features_need_versions_that_exist() -> None:
    for feature in FEATURES:
        for name, version in feature.needs.items():
            assert version in api(name).versions


def test_features_that_a_release_lacks() -> None:
    def missing(release: str, **levels: int) -> set[str]:
        features = Features(1, {name.replace("_", "."): level for name, level in levels.items()})
        return {each.name for each in missing_features(Negotiated(dict(versions_in(release)), features))}

    assert not missing("4.4", transaction_version=2, share_version=1)
    assert missing("4.4") == {
        "transactions with an epoch of their own (KIP-890)",
        "share groups (ShareConsumer, KIP-932)",
    }
    administered = {"Admin: SCRAM users", "Admin: quotas"}
    assert [administered & missing(release) for release in ("2.5", "2.6", "2.7")] == [
        administered,
        {"Admin: SCRAM users"},
        set(),
    ]
    assert {each for each in missing("3.9") if "share" in each or "streams" in each} == {
        "share groups (ShareConsumer, KIP-932)",
        "renewal of share groups' locks, limits of records",
        "Admin.describe_groups of share groups",
        "Admin.describe_groups of share groups: lag",
        "Admin.describe_groups of streams groups",
        "Admin.alter_share_group_offsets",
        "Admin.delete_share_group_offsets",
    }
    assert "a new start if a broker has moved to another cluster" in missing("4.3", transaction_version=2)
    assert {"producing with zstd", "static members (group_instance_id)"} <= missing("2.0")
    assert "producing with zstd" not in missing("2.1")
    assert "idempotent producing (the default)" not in missing("0.11.0")
