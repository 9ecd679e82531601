"""The schema notation: text to model, with every rule checked, and text to canonical text.

Rules:
- One fact per line; indentation by two spaces is nesting; `#` starts a comment. The comment behind a field is its
  description.
- `sent by SENDERS to RECEIVERS` is the route of an API. `forwarded to controller` marks an API that brokers forward.
  `cluster action` marks an API between brokers and controllers, which clients are not allowed.
- Field: `Name: TYPE[?[RANGE]] [vRANGE] [@TAG] [= DEFAULT] [legacy] [ignorable] [key]`, in that order.
- `message NAME id N` is a record of type N in a frame of its own (metadata, remote log metadata). `message NAME key N`
  and `message NAME value N` are the key and the value of a coordinator's record of type N. A stored key begins with its
  type as an int16; its version is always 0. A stored value begins with its version as an int16.
- Every error names file, line and the rule broken; the first one found is raised.
- Shared structs (`struct Name [vRANGE]`) are at the start of a section. They are visible only in it, may refer to each
  other, and never contain themselves.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, NoReturn

from kafkawire.messages import _rules as rules
from kafkawire.messages.schema import (
    ALIASES,
    HIGHEST_VERSION,
    NO_VERSIONS,
    PRIMITIVES,
    ApiSchema,
    Field,
    MessageSchema,
    SchemaError,
    Struct,
    Versions,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME: Final = r"[A-Za-z][A-Za-z0-9]*"
RANGE: Final = r"\d+(?:-\d+|\+)?"
FIELD: Final = re.compile(
    rf"(?P<name>{NAME}): (?P<array>\[\])?(?P<type>{NAME})(?P<null>\?(?:{RANGE})?)?"
    rf"(?: v(?P<versions>{RANGE}))?(?: @(?P<tag>\d+))?"
    r'(?: = (?P<default>"[^"]*"|[^\s"]+))?(?P<flags>(?: (?:legacy|ignorable|key))*)'
)
STRUCT: Final = re.compile(rf"struct (?P<name>{NAME})(?: v(?P<versions>{RANGE}))?")
FLAGS: Final = ("legacy", "ignorable", "key")
HEADERS: Final = (
    *("api", "message", "versions", "flexible", "deprecated", "unstable", "listeners"),
    *("sent", "forwarded", "cluster"),
)
_OF_APIS: Final = ("deprecated", "unstable", "listeners", "sent", "forwarded", "cluster")
SECTIONS: Final = ("request", "response", "fields")
_FIRST_SECTION: Final = re.compile(rf"^(?:{'|'.join(SECTIONS)})\b", re.MULTILINE)


class Line:
    """One line that is not blank: its depth, its text, and its comment."""

    __slots__ = ("children", "comment", "depth", "number", "text")

    def __init__(self, number: int, depth: int, text: str, comment: str) -> None:
        self.number, self.depth, self.text, self.comment = number, depth, text, comment
        self.children: list[Line] = []


class Parser:
    """Reads one file. `parse()` returns an ApiSchema or a MessageSchema."""

    def __init__(self, text: str, place: str) -> None:
        self.place = place
        self.headers: dict[str, tuple[int, str]] = {}
        self.sections: dict[str, Line] = {}
        self.last_line = 1
        for line in nest(text, place):
            self._top_level(line)

    def parse(self) -> ApiSchema | MessageSchema:
        versions, flexible = self.ranges()
        if "api" in self.headers:
            return self._api(versions, flexible)
        return self._message(versions, flexible)

    def ranges(self) -> tuple[Versions, Versions]:
        """The versions, and those of them that are flexible."""
        versions = self._range_of("versions")
        if versions.last == HIGHEST_VERSION:
            self._fail(self.headers["versions"][0], "versions of a message are closed: N or N-M")
        flexible = NO_VERSIONS
        if self._value("flexible") != "none":
            flexible = self._range_of("flexible")
            if flexible.last != HIGHEST_VERSION:
                self._fail(self.headers["flexible"][0], "flexible versions are open ended: N+, or none")
            flexible &= versions
        return versions, flexible

    def _top_level(self, line: Line) -> None:
        self.last_line = line.number
        word, _, rest = line.text.partition(" ")
        if line.text in SECTIONS:
            if line.text in self.sections:
                self._fail(line.number, f"section {line.text} appears twice")
            self.sections[line.text] = line
        elif word in HEADERS:
            if word in self.headers or self.sections:
                self._fail(line.number, f"header line {word!r} is repeated or stands after a section")
            if line.children:
                self._fail(line.children[0].number, "only sections, structs and struct fields have indented lines")
            if not self.headers and word not in ("api", "message"):
                self._fail(line.number, "a schema begins with `api KEY NAME` or `message NAME [id|key|value N]`")
            self.headers[word] = (line.number, rest)
        else:
            self._fail(line.number, f"expected a header line or a section ({', '.join(SECTIONS)}), found {line.text!r}")

    def _api(self, versions: Versions, flexible: Versions) -> ApiSchema:
        number, text = self.headers["api"]
        match = re.fullmatch(rf"(\d+) ({NAME})", text)
        if match is None:
            self._fail(number, "expected `api KEY NAME`")
        if set(self.sections) != {"request", "response"}:
            self._fail(self.last_line, "an api has the sections request and response, and no other")
        key, name = int(match[1]), match[2]
        deprecated = self._range_of("deprecated") if "deprecated" in self.headers else NO_VERSIONS
        unstable = self.headers.get("unstable")
        if unstable is not None and unstable[1] != "latest":
            self._fail(unstable[0], "expected `unstable latest`")
        listeners = tuple(self.headers.get("listeners", (0, ""))[1].split())
        senders, receivers = self._route()
        for word, rest in (("forwarded", "to controller"), ("cluster", "action")):
            if word in self.headers and self.headers[word][1] != rest:
                self._fail(self.headers[word][0], f"expected `{word} {rest}`")
        request, response = (
            self._body(name + kind.title(), kind, key, versions, flexible) for kind in ("request", "response")
        )
        api = ApiSchema(
            key=key,
            name=name,
            versions=versions,
            flexible=flexible,
            deprecated=deprecated,
            latest_unstable=unstable is not None,
            listeners=listeners,
            request=request,
            response=response,
            place=self.place,
            senders=senders,
            receivers=receivers,
            forwarded="forwarded" in self.headers,
            cluster_action="cluster" in self.headers,
        )
        rules.check_file_name(PurePath(self.place).stem, f"{key:03d}", name, self.place, number)
        return api

    def _route(self) -> tuple[str, str]:
        number, text = self.headers.get("sent", (0, ""))
        match = re.fullmatch(r"by (.+?) to (.+)", text)
        if match is None and number:
            self._fail(number, "expected `sent by SENDERS to RECEIVERS`")
        return (match[1], match[2]) if match else ("", "")

    def _message(self, versions: Versions, flexible: Versions) -> MessageSchema:
        number, text = self.headers.get("message", (1, ""))
        match = re.fullmatch(rf"({NAME})(?: (id|key|value) (\d+))?", text)
        if match is None:
            self._fail(number, "expected `message NAME`, or `message NAME id N` (or key N, value N)")
        for word in _OF_APIS:
            if word in self.headers:
                self._fail(self.headers[word][0], f"{word} belongs to an api, not to a message")
        if set(self.sections) != {"fields"}:
            self._fail(self.last_line, "a message has the section fields, and no other")
        rules.check_file_name(PurePath(self.place).stem, "", match[1], self.place, number)
        if match[2] == "key" and versions != Versions(0, 0):
            self._fail(number, "the key of a coordinator's record has version 0 only; a new layout is a new type")
        body = self._body(match[1], "data", int(match[3]) if match[3] else None, versions, flexible, "fields")
        return body._replace(stored=match[2] or "")

    def _body(
        self, name: str, kind: str, key: int | None, versions: Versions, flexible: Versions, section: str = ""
    ) -> MessageSchema:
        reader = SectionReader(self.place, versions, flexible)
        root = reader.read(name, self.sections[section or kind])
        return MessageSchema(name, kind, key, versions, flexible, root, tuple(reader.structs.values()), self.place)

    def _value(self, word: str) -> str:
        if word not in self.headers:
            self._fail(self.last_line, f"the header line {word!r} is missing")
        return self.headers[word][1]

    def _range_of(self, word: str) -> Versions:
        return parse_range(self._value(word), self.place, self.headers[word][0])

    def _fail(self, line: int, rule: str) -> NoReturn:
        raise SchemaError(self.place, line, rule)


class SectionReader:
    """Reads the fields of one section, its shared structs first."""

    def __init__(self, place: str, versions: Versions, flexible: Versions) -> None:
        self.place, self.versions, self.flexible = place, versions, flexible
        self.structs: dict[str, Struct] = {}
        self.shared: dict[str, Line] = {}
        self.open: list[str] = []

    def read(self, name: str, section: Line) -> Struct:
        lines = list(section.children)
        while lines and (match := STRUCT.fullmatch(lines[0].text)):
            if match["name"] in self.shared:
                raise SchemaError(self.place, lines[0].number, f"struct name {match['name']} is taken")
            self.shared[match["name"]] = lines.pop(0)
        root = Struct(name, self.versions, self._fields(lines, self.versions, section.number))
        for struct, line in self.shared.items():
            if struct not in self.structs:
                raise SchemaError(self.place, line.number, f"shared struct {struct} is not used in its section")
        return root

    def _declare(self, name: str, versions: Versions, line: Line, *, shared: bool) -> Struct:
        if name in self.structs or name in PRIMITIVES or name in ALIASES or (name in self.shared and not shared):
            raise SchemaError(self.place, line.number, f"struct name {name} is taken")
        fields = self._fields(line.children, versions, line.number)
        if not fields:
            raise SchemaError(self.place, line.number, f"struct {name} has no fields")
        return self.structs.setdefault(name, Struct(name, versions, fields, shared))

    def _fields(self, lines: list[Line], versions: Versions, number: int) -> tuple[Field, ...]:
        fields = tuple(self._field(line, versions) for line in lines)
        rules.check_struct(fields, self.place, number)
        return fields

    def _field(self, line: Line, parent: Versions) -> Field:
        match = FIELD.fullmatch(line.text)
        if match is None:
            raise SchemaError(
                self.place,
                line.number,
                "expected `Name: TYPE[?[RANGE]] [vRANGE] [@TAG] [= DEFAULT] [legacy] [ignorable] [key]`, "
                f"found {line.text!r}",
            )
        declared = match["type"]
        base = ALIASES.get(declared, declared)
        versions = self._clip(match["versions"], parent, line)
        struct = None if base in PRIMITIVES else self._struct(declared, versions, line)
        if struct is None and line.children:
            raise SchemaError(
                self.place, line.children[0].number, f"a field of type {declared} has no fields of its own"
            )
        nullable = NO_VERSIONS
        if match["null"]:
            nullable = self._clip(match["null"][1:] or None, versions, line)
        flags = match["flags"].split()
        if flags != sorted(set(flags), key=FLAGS.index):
            raise SchemaError(self.place, line.number, f"flags stand once, in the order {' '.join(FLAGS)}")
        result = Field(
            name=match["name"],
            type="struct" if struct else base,
            declared_type=declared,
            is_array=bool(match["array"]),
            versions=versions,
            nullable=nullable,
            tag=int(match["tag"]) if match["tag"] else None,
            default=None,
            ignorable="ignorable" in flags,
            is_key="key" in flags,
            legacy="legacy" in flags,
            line=line.number,
            struct=struct,
            description=line.comment.lstrip("# "),
        )
        rules.check_field(result, self.flexible, self.versions, self.place)
        return rules.with_default(result, match["default"], self.place)

    def _struct(self, name: str, versions: Versions, line: Line) -> Struct:
        if line.children:
            return self._declare(name, versions, line, shared=False)
        if name in self.structs and self.structs[name].shared:
            return self.structs[name]
        declaration = self.shared.get(name)
        if declaration is None:
            raise SchemaError(self.place, line.number, f"unknown type {name}")
        if name in self.open:
            raise SchemaError(self.place, line.number, f"struct {name} contains itself")
        self.open.append(name)
        match = STRUCT.fullmatch(declaration.text)
        own = self._clip(match and match["versions"], self.versions, declaration)
        struct = self._declare(name, own, declaration, shared=True)
        self.open.remove(name)
        return struct

    def _clip(self, text: str | None, parent: Versions, line: Line) -> Versions:
        if text is None:
            return parent
        clipped = parse_range(text, self.place, line.number) & parent
        if not clipped:
            raise SchemaError(self.place, line.number, f"range {text} lies outside the parent's {parent}")
        return clipped


def parse(text: str, place: str) -> ApiSchema | MessageSchema:
    """Parse and check one schema; `place` names the file in errors, and must have its file name."""
    return Parser(text, place).parse()


def parse_ranges(text: str, place: str) -> tuple[Versions, Versions]:
    r"""The versions of a schema and its flexible versions, from its header lines alone.

    >>> parse_ranges("api 26 EndTxn\nversions 0-5\nflexible 3+\nrequest\n  not read", "026_end_txn.api")
    (Versions(0, 5), Versions(3, 5))
    """
    return Parser(_FIRST_SECTION.split(text, 1)[0], place).ranges()


def parse_range(text: str, place: str, line: int) -> Versions:
    match = re.fullmatch(r"(\d+)(?:-(\d+)|(\+))?", text)
    if match is None:
        raise SchemaError(place, line, f"expected a range N, N-M or N+, found {text!r}")
    first = int(match[1])
    last = HIGHEST_VERSION if match[3] else int(match[2]) if match[2] else first
    if first > last or first > HIGHEST_VERSION or last > HIGHEST_VERSION:
        raise SchemaError(place, line, f"range {text} is empty or beyond {HIGHEST_VERSION}")
    return Versions(first, last)


def nest(text: str, place: str) -> list[Line]:
    """Lines as a tree by their indentation."""
    top: list[Line] = []
    stack: list[Line] = []
    for line in split_lines(text, place):
        if not line.text:
            continue
        if line.depth > len(stack):
            raise SchemaError(
                place, line.number, f"indented by {line.depth * 2}, expected {len(stack) * 2} at the most"
            )
        del stack[line.depth :]
        (stack[-1].children if stack else top).append(line)
        stack.append(line)
    return top


def split_lines(text: str, place: str) -> Iterator[Line]:
    for number, raw in enumerate(text.splitlines(), 1):
        if "\t" in raw:
            raise SchemaError(place, number, "tabs are not used; indent by two spaces")
        head, mark, comment = raw.partition("#")
        if '"' not in head:  # nearly all lines: five times faster than the expression below
            content = head.strip(" ")
            depth = len(head) - len(head.lstrip(" "))
            if depth % 2 and content:
                raise SchemaError(place, number, f"indented by {depth} spaces, expected a multiple of two")
            if "  " in content:
                content = " ".join(filter(None, content.split(" ")))
            yield Line(number, depth // 2, content, mark + comment)
            continue
        match = re.fullmatch(r'( *)((?:"[^"]*"|[^"#])*?) *(#.*)?', raw)
        if match is None:
            raise SchemaError(place, number, "a text default is not closed")
        if len(match[1]) % 2 and match[2]:
            raise SchemaError(place, number, f"indented by {len(match[1])} spaces, expected a multiple of two")
        content = re.sub(r'("[^"]*")| +', lambda found: found[1] or " ", match[2])
        yield Line(number, len(match[1]) // 2, content, match[3] or "")
