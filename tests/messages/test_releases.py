"""The table of releases, and the release that a broker resembles."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kafkawire.messages import api, apis
from kafkawire.messages.releases import (
    Difference,
    UnknownReleaseError,
    differences,
    find_release,
    lacking,
    release_names,
    releases_serving,
    resemblance,
    versions_in,
)
from kafkawire.messages.schema import Versions


def listed_by(release: str, listener: str) -> dict[int, Versions]:
    """The versions that a broker of a release lists on a listener."""
    return {key: found for key, found in versions_in(release).items() if listener in api(key).schema.listeners}


def test_every_version_of_every_release_has_a_schema() -> None:
    for release in release_names():
        for key, versions in versions_in(release).items():
            known = api(key).versions
            assert known.first <= versions.first
            assert versions.last <= known.last


def test_the_latest_release_has_the_latest_stable_versions() -> None:
    latest = versions_in(release_names()[-1])
    removed = {4, 5, 6, 7}
    assert latest.keys() == {each.key for each in apis()} - removed
    for key, versions in latest.items():
        unstable = api(key).schema.latest_unstable
        assert versions.last == api(key).versions.last - unstable


def test_last_versions_never_fall_from_one_release_to_the_next() -> None:
    for before, after in pairwise(release_names()):
        for each in differences(versions_in(before), versions_in(after)):
            if each.before is not None and each.after is not None:
                assert each.after.last >= each.before.last


@pytest.mark.parametrize("release", release_names())
def test_a_broker_resembles_its_own_release(release: str) -> None:
    kraft, classic = resemblance(listed_by(release, "broker")), resemblance(listed_by(release, "zkBroker"))
    assert release in kraft.releases
    assert kraft.is_exact
    if release < "4":
        assert release in classic.releases
        assert all(each.after is None for each in classic.differences)


def test_a_broker_that_hides_apis_or_adds_some_resembles_its_release_still() -> None:
    offered = listed_by("3.6", "broker")
    for key in (38, 39, 40, 41, 51):
        del offered[key]
    offered[0] = Versions(3, 9)
    offered[1000] = Versions(0, 0)
    found = resemblance(offered)
    assert found.releases == ("3.6",)
    assert [each.key for each in found.differences] == [38, 39, 40, 41, 51, 1000]
    assert found.differences[-1] == Difference(1000, None, Versions(0, 0))
    assert found.differences[-1].name == "key 1000"


def test_lacking_are_missing_apis_and_versions_of_the_release() -> None:
    offered = listed_by("4.0", "broker")
    lacks = {each.name: (each.before, each.after) for each in lacking(offered, "4.1")}
    assert lacks["Fetch"] == (Versions(4, 18), Versions(4, 17))
    assert lacks["ShareFetch"] == (Versions(1, 1), None)
    assert "Heartbeat" not in lacks
    assert not lacking(offered, "4.0")
    assert {each.name for each in lacking(offered, "3.9")} >= {"Produce", "Fetch"}


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (None, Versions(0, 0), "new"),
        (Versions(0, 3), None, "removed"),
        (Versions(0, 3), Versions(0, 4), "later versions"),
        (Versions(0, 4), Versions(0, 3), "without the latest"),
        (Versions(0, 4), Versions(2, 4), "without the oldest"),
        (Versions(2, 4), Versions(0, 5), "later versions, older versions"),
    ],
)
def test_a_difference_in_words(before: Versions | None, after: Versions | None, kind: str) -> None:
    assert Difference(0, before, after).kind == kind


@pytest.mark.parametrize(
    ("text", "name"), [("2.8", "2.8"), ("2.8.2", "2.8"), ("v4.0.0", "4.0"), ("0.11", "0.11.0"), (" 3.9 ", "3.9")]
)
def test_a_release_may_have_a_patch_version(text: str, name: str) -> None:
    assert find_release(text) == name


@pytest.mark.parametrize("text", ["", "2", "2.80", "5.0", "latest", "0.10.2"])
def test_an_unknown_release_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(UnknownReleaseError, match=r"expected one of 0\.11\.0, 1\.0, .*, 4\.4"):
        find_release(text)


def test_the_releases_of_a_version() -> None:
    assert releases_serving(4, 0)[-1] == "3.9"
    assert releases_serving(0, 2) == release_names()[: release_names().index("4.0")]
    assert releases_serving(18, 5) == ("4.4",)
    assert releases_serving(4711, 0) == ()
