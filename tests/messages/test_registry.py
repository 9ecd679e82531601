"""APIs by key and name, and the headers they travel with."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from kafkawire.messages import ApiVersionsRequest, FetchResponse, UnknownMessageError, _registry, api, apis
from kafkawire.messages.schema import Versions

if TYPE_CHECKING:
    from kafkawire.messages import Message

THREADS = 8


def test_an_api_is_found_by_key_and_by_name_in_any_case() -> None:
    assert api(1) is api("Fetch") is api("fetch")
    assert (api(18).name, api(18).request, api("Fetch").response) == ("ApiVersions", ApiVersionsRequest, FetchResponse)
    assert (api(1).versions, api(1).flexible) == (Versions(0, 18), Versions(12, 18))
    assert not api("SaslHandshake").flexible


def test_an_unknown_api_suggests_the_nearest() -> None:
    with pytest.raises(UnknownMessageError, match="no API 'Fecth'; did you mean Fetch"):
        api("Fecth")
    with pytest.raises(UnknownMessageError, match="no API 95"):
        api(95)


def test_keys_are_0_to_94_without_a_gap() -> None:
    assert [each.key for each in apis()] == list(range(95))


@pytest.mark.parametrize(
    ("name", "version", "request_header", "response_header"),
    [
        ("Produce", 8, 1, 0),
        ("Produce", 9, 2, 1),
        ("Produce", 99, 2, 1),
        ("ApiVersions", 2, 1, 0),
        ("ApiVersions", 3, 2, 0),
        ("ApiVersions", 99, 2, 0),
        ("ControlledShutdown", 0, 0, 0),
        ("ControlledShutdown", 1, 1, 0),
        ("ControlledShutdown", 3, 2, 1),
        ("SaslHandshake", 1, 1, 0),
        ("OffsetDelete", 0, 1, 0),
    ],
)
def test_header_versions_follow_the_body_but_for_two(
    name: str, version: int, request_header: int, response_header: int
) -> None:
    which = api(name)
    found = (which.request_header_version(version), which.response_header_version(version))
    assert found == (request_header, response_header)


def test_threads_that_use_a_message_first_at_the_same_time_share_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registry, "_classes", {})
    together = Barrier(THREADS)
    build = _registry._build

    def build_together(name: str) -> type[Message]:
        together.wait(10)
        return build(name)

    monkeypatch.setattr(_registry, "_build", build_together)
    with ThreadPoolExecutor(THREADS) as pool:
        found = set(pool.map(_registry.message_class, ["FetchRequest"] * THREADS))
    assert len(found) == 1


def test_the_versions_of_an_api_are_read_without_its_fields() -> None:
    script = (
        "from kafkawire.messages import _registry, api\n"
        "print([str(each.versions) for each in map(api, (0, 1, 18))], _registry.load_schema.cache_info().misses)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    versions = [str(api(key).schema.versions) for key in (0, 1, 18)]
    assert found.strip() == f"{versions} 0"


def test_both_messages_of_an_api_share_its_ranges() -> None:
    for each in apis():
        for schema in (each.schema.request, each.schema.response):
            assert (schema.versions, schema.flexible, schema.key) == (each.versions, each.flexible, each.key)
