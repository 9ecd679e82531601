"""Every field of every message has the facts that the definitions inside Kafka's jars state."""

from __future__ import annotations

import pytest
from tests.interop.definitions.description import (
    Described,
    describe_definition,
    describe_schema,
    differences,
    layout,
    parse_versions,
)
from tests.interop.definitions.jars import newest_definitions, removed
from tests.messages.kafka_changes import RENAMED, Renamed

from kafkawire.messages import api, message_class, message_names
from kafkawire.messages.schema import NO_VERSIONS, MessageSchema, Versions

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

# A key is the path of a field, a value its reason. Nothing else may differ.
DIFFERENT_FLAGS = {
    "RequestHeader.ClientId": "ignorable, as in Kafka 3.9, because header version 0 has no client id",
}
STORED = {"coordinator-key": "key", "coordinator-value": "value", "metadata": "id"}
REMOVED_LISTENER = "zkBroker"


def schemas() -> dict[str, MessageSchema]:
    return {name: message_class(name).__schema__ for name in message_names()}


def versions_in(name: str, definitions: dict[str, dict[str, object]]) -> Versions:
    """The versions of a message that some jars have."""
    definition = definitions.get(name)
    return NO_VERSIONS if definition is None else parse_versions(str(definition["validVersions"]))


def test_every_message_and_version_has_a_schema() -> None:
    known = schemas()
    missing = []
    for name, definition in newest_definitions().items():
        valid = versions_in(name, newest_definitions())
        if name not in known:
            missing.append(f"{name} {valid}")
        elif valid and (known[name].versions & valid != valid or known[name].versions.last > valid.last):
            missing.append(f"{name}: the schema has {known[name].versions}, Kafka has {valid}")
        elif valid and known[name].flexible & valid != parse_versions(definition["flexibleVersions"]) & valid:
            missing.append(f"{name}: flexible are {known[name].flexible}, in Kafka {definition['flexibleVersions']}")
    assert not missing, "\n".join(missing)


def test_every_version_of_a_schema_is_in_one_of_the_jars() -> None:
    unknown = []
    for name, schema in schemas().items():
        older = Versions(0, 0) if schema.stored == "key" and name in removed().definitions else None
        for version in schema.versions:
            known = version in versions_in(name, newest_definitions())
            if not known and version not in (older or versions_in(name, removed().definitions)):
                unknown.append(f"{name} v{version}")
    assert not unknown, "no definition has " + ", ".join(unknown)


def test_keys_types_of_records_listeners_and_stability_are_equal() -> None:
    wrong = []
    for name, definition in newest_definitions().items():
        schema = message_class(name).__schema__
        ours: tuple[object, ...] = (schema.key, schema.stored)
        theirs: tuple[object, ...] = (definition.get("apiKey"), STORED.get(definition["type"], ""))
        if schema.kind == "request" and versions_in(name, newest_definitions()):
            of_api = api(schema.key or 0).schema
            ours += (set(of_api.listeners) - {REMOVED_LISTENER}, of_api.latest_unstable)
            theirs += (set(definition["listeners"]), definition.get("latestVersionUnstable", False))
        if ours != theirs:
            wrong.append(f"{name}: the schema has {ours}, Kafka has {theirs}")
    assert not wrong, "\n".join(wrong)


def test_every_field_is_equal_in_all_versions_of_the_newest_releases() -> None:
    found, expected = [], set(DIFFERENT_FLAGS)
    for name, definition in newest_definitions().items():
        versions = versions_in(name, newest_definitions())
        if not versions:
            continue
        ours = describe_schema(message_class(name).__schema__, versions)
        theirs = describe_definition(definition, versions)
        for path in [path for path in theirs if f"{name}.{path}" in DIFFERENT_FLAGS]:
            assert ours[path].flags != theirs[path].flags, f"{name}.{path} no longer differs: remove it from the table"
            expected.discard(f"{name}.{path}")
            ours[path] = ours[path]._replace(flags=theirs[path].flags)
        found += differences(name, ours, theirs)
    assert not found, "\n".join(found)
    assert not expected, f"the table has fields that Kafka does not have: {expected}"


def test_every_field_has_its_place_in_the_versions_that_kafka_removed() -> None:
    found = []
    compared = 0
    for name, definition in removed().definitions.items():
        if name not in message_names():
            continue
        schema, gone = message_class(name).__schema__, versions_in(name, removed().definitions)
        if schema.stored == "key":  # the older release calls the type a version
            if name not in newest_definitions():
                ours = describe_schema(schema, Versions(0, 0))
                theirs = describe_definition(definition, gone)
                found += differences(name, _at(ours, gone), theirs)
            continue
        still = versions_in(name, newest_definitions())
        gone = Versions(gone.first, min(gone.last, still.first - 1)) if still else gone
        if gone:
            compared += 1
            ours, theirs = describe_schema(schema, gone), describe_definition(definition, gone)
            found += differences(name, layout(ours), layout(theirs))
    assert not found, "\n".join(found)
    assert compared > 50


def test_deprecated_versions_are_those_that_the_last_release_with_them_states() -> None:
    for name, definition in removed().definitions.items():
        if definition["type"] == "request" and name in message_names():
            of_api = api(definition["apiKey"]).schema
            assert of_api.deprecated == parse_versions(definition.get("deprecatedVersions")), name


@pytest.mark.parametrize("change", RENAMED, ids=lambda change: f"{change.message}.{change.old}")
def test_the_table_of_changed_names_has_the_names_of_today(change: Renamed) -> None:
    definitions = newest_definitions()
    assert change.reason
    if not change.message:
        assert change.new in definitions
        assert change.old not in definitions
        return
    fields = describe_definition(definitions[change.message], versions_in(change.message, definitions))
    assert change.new in {path.rpartition(".")[2] for path in fields}


def _at(description: dict[str, Described], versions: Versions) -> dict[str, Described]:
    return {path: field._replace(versions=str(versions)) for path, field in description.items()}
