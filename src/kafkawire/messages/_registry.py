"""The registry of messages and APIs, by name or key, loaded on first use.

Rules:
- The schema files are the list: a file's name gives key and message names, so a file is parsed only on first use. The
  versions of an API are read from the header lines of its file.
- There is one class per message, also if several threads use it first at the same time. The first that is built stays.
- Header versions follow the body's flexibility, with two exceptions: the ApiVersions response always has header 0
  (KIP-511), and ControlledShutdown v0 requests have header 0.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Final

from kafkawire.exceptions import KafkaWireError
from kafkawire.messages._schema_files import SCHEMAS
from kafkawire.messages.schema import ApiSchema, MessageSchema, Versions, camel_case

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.messages._model import Message

API_VERSIONS: Final = 18
CONTROLLED_SHUTDOWN: Final = 7
_classes: dict[str, type[Message]] = {}


class UnknownMessageError(KafkaWireError, LookupError):
    """No message or API has this name or key."""


class Api:
    """One API key: its name, its versions, its two messages, and the versions of their headers."""

    def __init__(self, key: int, name: str) -> None:
        self.key, self.name = key, name

    def __repr__(self) -> str:
        return f"Api({self.key}, {self.name!r})"

    @cached_property
    def schema(self) -> ApiSchema:
        schema = load_schema(_api_files()[self.key])
        assert isinstance(schema, ApiSchema)
        return schema

    @property
    def versions(self) -> Versions:
        return self._ranges[0]

    @property
    def flexible(self) -> Versions:
        """The flexible versions; empty if the API has none."""
        return self._ranges[1]

    @cached_property
    def _ranges(self) -> tuple[Versions, Versions]:
        """The versions and the flexible versions. The schema's fields are not parsed for them."""
        from kafkawire.messages._notation import parse_ranges

        path = _api_files()[self.key]
        return parse_ranges(path.read_text(encoding="utf-8"), _place(path))

    @property
    def request(self) -> type[Message]:
        return message_class(self.name + "Request")

    @property
    def response(self) -> type[Message]:
        return message_class(self.name + "Response")

    def is_flexible(self, version: int) -> bool:
        """Whether a version is flexible; one above the known range counts as flexible if the last known one is."""
        return bool(self.flexible) and version >= self.flexible.first

    def request_header_version(self, version: int) -> int:
        """The version of the request header for a body of this version.

        >>> [api("Produce").request_header_version(v) for v in (8, 9)]
        [1, 2]
        """
        if self.key == CONTROLLED_SHUTDOWN and version == 0:
            return 0
        return 2 if self.is_flexible(version) else 1

    def response_header_version(self, version: int) -> int:
        """The version of the response header for a body of this version."""
        if self.key == API_VERSIONS:
            return 0
        return 1 if self.is_flexible(version) else 0


def api(which: int | str) -> Api:
    """An API by key or by name, in any case.

    >>> api(0).name, api("fetch").key, str(api("Produce").versions)
    ('Produce', 1, '0-13')
    """
    table = _apis_by_key() if isinstance(which, int) else _apis_by_name()
    found = table.get(which if isinstance(which, int) else which.lower())
    if found is not None:
        return found
    hint = "" if isinstance(which, int) else _nearest(which, [each.name for each in apis()])
    raise UnknownMessageError(f"no API {which!r}{hint}")


def apis() -> tuple[Api, ...]:
    """Every API, by key."""
    return tuple(_apis_by_key().values())


def message_names() -> tuple[str, ...]:
    """The name of every message: requests, responses, headers and data messages."""
    return tuple(_message_files())


def message_class(name: str) -> type[Message]:
    """The class of a message by its exact name, built on first use."""
    found = _classes.get(name)
    return _classes.setdefault(name, _build(name)) if found is None else found


def _build(name: str) -> type[Message]:
    path = _message_files().get(name)
    if path is None:
        raise UnknownMessageError(f"no message {name!r}{_nearest(name, list(message_names()))}")
    from kafkawire.messages._compile import build_class

    return build_class(_message_schema(load_schema(path), name))


@cache
def load_schema(path: Path) -> ApiSchema | MessageSchema:
    """The checked schema of a file."""
    from kafkawire.messages._notation import parse

    return parse(path.read_text(encoding="utf-8"), _place(path))


def _place(path: Path) -> str:
    """The name of a schema's file in errors."""
    return path.relative_to(SCHEMAS).as_posix() if path.is_relative_to(SCHEMAS) else path.as_posix()


def _message_schema(schema: ApiSchema | MessageSchema, name: str) -> MessageSchema:
    if isinstance(schema, MessageSchema):
        return schema
    return schema.request if name.endswith("Request") else schema.response


@cache
def _api_files() -> dict[int, Path]:
    return {int(path.stem[:3]): path for path in sorted((SCHEMAS / "api").glob("*.api"))}


@cache
def _apis_by_key() -> dict[int | str, Api]:
    return {key: Api(key, camel_case(path.stem[4:])) for key, path in _api_files().items()}


@cache
def _apis_by_name() -> dict[int | str, Api]:
    return {each.name.lower(): each for each in _apis_by_key().values()}


@cache
def _message_files() -> dict[str, Path]:
    found = {}
    for key, path in _api_files().items():
        for kind in ("Request", "Response"):
            found[_apis_by_key()[key].name + kind] = path
    found.update((camel_case(path.stem), path) for path in sorted((SCHEMAS / "data").glob("*/*.msg")))
    return found


def _nearest(name: str, names: list[str]) -> str:
    from difflib import get_close_matches  # only a mistake pays for it

    by_lower = {each.lower(): each for each in names}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return f"; did you mean {by_lower[close[0]]}?" if close else ""
