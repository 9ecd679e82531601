"""Whether values of one Avro schema can be read by another, by Avro's rules of schema resolution.

Rules:
- Every difference is reported, each with its path in the reader's schema.
- Records match by name without namespace, or by an alias, as in Java.
- A pair of record types that is being compared counts as compatible, so recursion ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.values._avro.schema import NAMED, definitions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.values._avro.schema import Parsed

_PROMOTIONS: Final = {
    "int": {"long", "float", "double"},
    "long": {"float", "double"},
    "float": {"double"},
    "string": {"bytes"},
    "bytes": {"string"},
}


class Difference(NamedTuple):
    """Why a reader cannot read a writer's values."""

    kind: str
    path: str
    text: str

    def __str__(self) -> str:
        return f"{{errorType:'{self.kind}', description:'{self.text} at path {self.path or '/'!r}'}}"


def differences(reader: Parsed, writer: Parsed) -> list[Difference]:
    """The reasons why a reader cannot read the values of a writer; empty if nothing does."""
    return list(_Comparison(reader, writer).compare(reader, writer, ""))


class _Comparison:
    def __init__(self, reader: Parsed, writer: Parsed) -> None:
        self._of_reader, self._of_writer = definitions(reader), definitions(writer)
        self._seen: set[tuple[str, str]] = set()

    def compare(self, reader: Parsed, writer: Parsed, path: str) -> Iterator[Difference]:
        reader = self._of_reader.get(reader, reader) if isinstance(reader, str) else reader
        writer = self._of_writer.get(writer, writer) if isinstance(writer, str) else writer
        if isinstance(writer, list):
            for number, branch in enumerate(writer):
                if isinstance(reader, list):
                    yield from self._branch(reader, branch, f"{path}/{number}")
                else:
                    yield from self.compare(reader, branch, path)
            return
        if isinstance(reader, list):
            yield from self._branch(reader, writer, path)
            return
        wanted, given = _kind(reader), _kind(writer)
        if wanted != given:
            if wanted not in _PROMOTIONS.get(given, ()):
                text = f"The type {wanted} of the reader does not match the type {given} of the writer"
                yield Difference("TYPE_MISMATCH", path, text)
        elif wanted == "array":
            yield from self.compare(reader["items"], writer["items"], f"{path}/items")
        elif wanted == "map":
            yield from self.compare(reader["values"], writer["values"], f"{path}/values")
        elif wanted in NAMED:
            yield from self._named(reader, writer, wanted, path)

    def _branch(self, union: list[Parsed], writer: Parsed, path: str) -> Iterator[Difference]:
        for branch in union:
            kept = set(self._seen)
            if not list(self.compare(branch, writer, path)):
                return
            self._seen = kept
        text = f"The union of the reader has no branch for the type {_kind(writer)} of the writer"
        yield Difference("MISSING_UNION_BRANCH", path, text)

    def _named(self, reader: Parsed, writer: Parsed, kind: str, path: str) -> Iterator[Difference]:
        pair = reader["name"], writer["name"]
        if pair in self._seen:
            return
        self._seen.add(pair)
        if not _same_name(reader, writer):
            text = f"The name {pair[0]} of the reader differs from the name {pair[1]} of the writer"
            yield Difference("NAME_MISMATCH", f"{path}/name", text)
        elif kind == "fixed" and reader["size"] != writer["size"]:
            text = f"The size {reader['size']} of the reader differs from the size {writer['size']} of the writer"
            yield Difference("FIXED_SIZE_MISMATCH", f"{path}/size", text)
        elif kind == "enum":
            missing = [symbol for symbol in writer["symbols"] if symbol not in reader["symbols"]]
            if missing and "default" not in reader:
                text = f"The enum of the reader has no default and lacks the symbols {', '.join(missing)}"
                yield Difference("MISSING_ENUM_SYMBOLS", f"{path}/symbols", text)
        elif kind in ("record", "error"):
            yield from self._record(reader, writer, path)

    def _record(self, reader: Parsed, writer: Parsed, path: str) -> Iterator[Difference]:
        written = {field["name"]: field for field in writer["fields"]}
        for number, field in enumerate(reader["fields"]):
            names = (field["name"], *field.get("aliases", ()))
            found = next((written[name] for name in names if name in written), None)
            at = f"{path}/fields/{number}"
            if found is not None:
                yield from self.compare(field["type"], found["type"], f"{at}/type")
            elif "default" not in field:
                text = f"The field {field['name']} of the reader has no default and the writer lacks it"
                yield Difference("READER_FIELD_MISSING_DEFAULT_VALUE", at, text)


def _kind(part: Parsed) -> str:
    if isinstance(part, str):
        return part
    kind = part["type"]
    return kind if isinstance(kind, str) else _kind(kind)


def _same_name(reader: Parsed, writer: Parsed) -> bool:
    short = writer["name"].rpartition(".")[2]
    names = {reader["name"].rpartition(".")[2]}
    names |= {alias.rpartition(".")[2] for alias in reader.get("aliases", ())}
    return short in names
