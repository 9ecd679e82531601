"""SUPPORTED.md and the protocol reference under docs/protocol, as Markdown, from the schemas.

Rules:
- Only the sentences around the tables are written by hand.
- The column of vectors is counted from the published rows. Generated tests cover every version.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kafkawire.broker._dispatch.registry import served_apis
from kafkawire.messages._registry import Api, apis, message_class, message_names
from kafkawire.messages._schema_files import SCHEMAS
from kafkawire.messages.errors import ErrorCode
from kafkawire.messages.schema import MessageSchema, Versions
from tools.generate.releases import render_releases

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

GENERATED = "<!-- Generated from the schemas by `make generate`; not to be edited. -->\n"


def vector_versions(rows: Iterable[str]) -> dict[str, set[int]]:
    """The versions of each message that the published vectors cover."""
    found: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        _, message, version, _ = row.split("\t", 3)
        found[message].add(int(version))
    return found


def served_versions() -> dict[str, str]:
    """The APIs that the broker serves, and in which versions if not in all."""
    served = served_apis().values()
    return {each.api.name: "all" if each.versions == each.api.versions else str(each.versions) for each in served}


def render_supported(vectors: dict[str, set[int]], served: dict[str, str]) -> str:
    """SUPPORTED.md: every API and message, its versions, and how they are tested."""
    lines = [
        GENERATED,
        "# Supported APIs and messages\n",
        "Every version in these tables can be decoded and encoded. In each version, random values are equal after",
        "encoding and decoding, and truncated or corrupted bytes raise only `DecodeError`. *Vectors* are versions that",
        "are compared with bytes of Kafka's own code. Versions that the library kio has are compared with it too.",
        "`make interop` compares every version with Kafka's own classes, on random values.",
        "*Broker* has the versions that the embedded broker serves. Tests send valid, random, truncated and corrupted",
        "requests in each of them, and use them with confluent-kafka, aiokafka and kafka-python. `ApiVersions` lists",
        "exactly these versions.\n",
        f"## APIs ({len(apis())})\n",
        "| key | API | versions | flexible | deprecated | vectors | broker |",
        "|---|---|---|---|---|---|---|",
    ]
    for api in apis():
        name = f"[{api.name}](docs/protocol/{_page(api)})"
        unstable = " (latest unstable)" if api.schema.latest_unstable else ""
        deprecated = str(api.schema.deprecated) if api.schema.deprecated else ""
        covered = vectors.get(api.name + "Request", set()) & set(api.versions)
        lines.append(
            f"| {api.key} | {name} | {api.versions}{unstable} | {_flexible(api.flexible)} | {deprecated} "
            f"| {_covered(covered)} | {served.get(api.name, '')} |"
        )
    data = [name for name in message_names() if message_class(name).__schema__.kind == "data"]
    lines += [
        f"\n## Other messages ({len(data)})\n",
        "Headers, embedded protocols, and the records that Kafka keeps in its own topics and files.\n",
        "| message | versions | flexible | vectors |",
        "|---|---|---|---|",
    ]
    for name in data:
        schema = message_class(name).__schema__
        covered = vectors.get(name, set())
        if schema.stored == "key":  # the vectors are older than Kafka 4.1, and have the type as the version
            covered = {0} if schema.key in vectors.get(name.removeprefix("Legacy"), set()) else set()
        lines.append(f"| {name} | {schema.versions} | {_flexible(schema.flexible)} | {_covered(covered)} |")
    return "\n".join(lines) + "\n"


def render_reference() -> Iterator[tuple[str, str]]:
    """Each page under docs/protocol: its path and its text."""
    yield "README.md", _index()
    yield "errors.md", _errors()
    yield "data.md", _data()
    yield "releases.md", f"{GENERATED}\n{render_releases()}"
    for api in apis():
        yield _page(api), _api(api)


def _page(api: Api) -> str:
    return f"api/{api.schema.place.rpartition('/')[2].removesuffix('.api')}.md"


def _index() -> str:
    rows = "\n".join(f"| {api.key} | [{api.name}]({_page(api)}) | {api.versions} |" for api in apis())
    return (
        f"{GENERATED}\n# The protocol\n\nA frame is an int32 size, a header and a body. In a *flexible* version "
        "strings, bytes and arrays have compact lengths and every struct ends with a tag section.\n\n"
        "[Errors](errors.md) · [Data messages](data.md) · [Releases of Kafka](releases.md)\n\n"
        f"| key | API | versions |\n|---|---|---|\n{rows}\n"
    )


def _errors() -> str:
    lines = [
        GENERATED,
        "# Error codes\n",
        "| code | name | retriable | refresh metadata | meaning |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {error.code} | {error.name} | {'yes' if error.retriable else ''} "
        f"| {'yes' if error.refresh_metadata else ''} | {error.meaning} |"
        for error in ErrorCode
    ]
    return "\n".join(lines) + "\n"


def _data() -> str:
    lines = [
        GENERATED,
        "# Data messages\n",
        "Headers, embedded protocols and log records, in the notation of the schemas.\n",
        "- `message NAME id N` is a record of type N. In the log it follows a frame of three varints: the version of",
        "  the frame, the type and the version of the record.",
        "- `message NAME key N` and `message NAME value N` are the key and the value of a coordinator's record of type",
        "  N. A stored key begins with its type as an int16, and its version is always 0. A stored value begins with",
        "  its version as an int16.\n",
    ]
    for name in message_names():
        schema = message_class(name).__schema__
        if schema.kind == "data":
            lines += [f"## {name}\n", "```", _schema_text(SCHEMAS / schema.place), "```\n"]
    return "\n".join(lines)


def _api(api: Api) -> str:
    schema = api.schema
    lines = [GENERATED, f"# {api.name} (key {api.key})\n", "| | |", "|---|---|", f"| versions | {api.versions} |"]
    lines.append(f"| flexible | {_flexible(api.flexible)} |")
    if schema.deprecated:
        lines.append(f"| deprecated | {schema.deprecated} |")
    if schema.listeners:
        lines.append(f"| listeners | {', '.join(schema.listeners)} |")
    lines.append(f"| sent by | {schema.senders} |")
    lines.append(f"| sent to | {schema.receivers} |")
    if schema.forwarded:
        lines.append("| forwarded | a broker forwards it to the controller |")
    if schema.cluster_action:
        lines.append("| cluster action | only brokers and controllers may send it |")
    for kind, header in (("request", api.request_header_version), ("response", api.response_header_version)):
        lines.append(f"| {kind} header | {_header_versions(api.versions, header)} |")
    for message in (schema.request, schema.response):
        lines += [f"\n## {message.name}\n", *_fields(message)]
    lines += ["\n## Schema\n", "```", _schema_text(SCHEMAS / schema.place), "```"]
    return "\n".join(lines) + "\n"


def _header_versions(versions: Versions, header: object) -> str:
    assert callable(header)
    groups: dict[int, list[int]] = defaultdict(list)
    for version in versions:
        groups[header(version)].append(version)
    return ", ".join(f"v{number} for {Versions(group[0], group[-1])}" for number, group in groups.items())


def _fields(message: MessageSchema) -> Iterator[str]:
    if not message.root.fields:
        yield "No fields."
        return
    yield "| field | type | versions | tag | default | description |"
    yield "|---|---|---|---|---|---|"
    yield from _rows(message.root.fields, "")


def _rows(fields: Iterable[object], prefix: str) -> Iterator[str]:
    from kafkawire.messages.schema import EMPTY, Field

    for field in fields:
        assert isinstance(field, Field)
        default = "" if field.default is EMPTY else "null" if field.default is None else f"`{field.default!r}`"
        tag = "" if field.tag is None else str(field.tag)
        cells = (prefix + field.name, field.type_text, str(field.versions), tag, default, field.description)
        yield f"| {' | '.join(cells)} |"
        if field.struct is not None:
            yield from _rows(field.struct.fields, prefix + "· ")


def _schema_text(path: Path) -> str:
    return path.read_text(encoding="utf-8").rstrip()


def _flexible(versions: Versions) -> str:
    return f"{versions.first}+" if versions else "never"


def _covered(versions: set[int]) -> str:
    return str(Versions(min(versions), max(versions))) if versions else ""
