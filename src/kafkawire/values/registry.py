"""A client of Schema Registries with Confluent's API, such as Karapace and Apicurio have it too.

Rules:
- A schema of an id or GUID never changes, so it is asked for once. An unknown one is asked for again
  after FORGET_SECONDS.
- Schemas come with those that they refer to.
- The last version of a subject is asked for each time.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from urllib.parse import quote, urlsplit
from uuid import UUID

from kafkawire.values._connection import Access, Connection
from kafkawire.values.errors import RegistryError, SchemaError, UnknownSchemaError
from kafkawire.values.schemas import Reference, Schema, SchemaType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

FORGET_SECONDS: Final = 30.0
MOST_IMPORTS: Final = 200
_MOST_UNKNOWN: Final = 10_000
_OPTIONS: Final = {
    "basic.auth.user.info": "",
    "basic.auth.credentials.source": "",
    "bearer.auth.token": "token",
    "bearer.auth.credentials.source": "",
    "ssl.ca.location": "cafile",
    "ssl.truststore.location": "cafile",
    "ssl.certificate.location": "certfile",
    "ssl.keystore.location": "certfile",
    "ssl.key.location": "keyfile",
    "ssl.key.password": "key_password",
    "ssl.endpoint.identification.algorithm": "",
    "enable.ssl.certificate.verification": "",
    "request.timeout.ms": "",
}


class RegisteredSchema(NamedTuple):
    """A version of a subject."""

    subject: str
    version: int
    id: int
    schema: Schema


class SchemaRegistry:
    """A Schema Registry.

    >>> SchemaRegistry("http://localhost:8081").urls
    ('http://localhost:8081',)
    """

    def __init__(
        self,
        urls: str | Sequence[str],
        *,
        auth: tuple[str, str] | None = None,
        token: str | None = None,
        cafile: str | None = None,
        certfile: str | None = None,
        keyfile: str | None = None,
        key_password: str | None = None,
        verify: bool = True,
        timeout: float = 30.0,
    ) -> None:
        listed = urls.split(",") if isinstance(urls, str) else list(urls)
        self.urls = tuple(url.strip().rstrip("/") for url in listed if url.strip())
        for url in self.urls:
            _check_url(url)
        if not self.urls:
            raise RegistryError("no URL of a Schema Registry is given")
        user, password = auth or (None, None)
        files = {"cafile": cafile, "certfile": certfile, "keyfile": keyfile, "key_password": key_password}
        access = Access(self.urls, user, password, token, **files, verify=verify, timeout=timeout)
        self._connection = Connection(access)
        self._schemas: dict[int | UUID, Schema] = {}
        self._unknown: dict[int | UUID, tuple[float, UnknownSchemaError]] = {}

    @classmethod
    def from_options(cls, urls: str, options: Mapping[str, str]) -> SchemaRegistry:
        """A registry with options by the names that Confluent's clients have for them.

        >>> SchemaRegistry.from_options("http://r:8081", {"basic.auth.user.info": "ann:secret"}).urls
        ('http://r:8081',)
        """
        given: dict[str, Any] = {}
        for name, value in options.items():
            if name not in _OPTIONS:
                raise RegistryError(f"unknown option {name!r} of the Schema Registry; known are {', '.join(_OPTIONS)}")
            if _OPTIONS[name]:
                given[_OPTIONS[name]] = value
        info = options.get("basic.auth.user.info")
        if info is not None:
            user, colon, password = info.partition(":")
            if not colon:
                raise RegistryError("basic.auth.user.info: expected USER:PASSWORD")
            given["auth"] = user, password
        verifies = options.get("enable.ssl.certificate.verification", "true").lower() != "false"
        given["verify"] = verifies and options.get("ssl.endpoint.identification.algorithm", "https") != ""
        if "request.timeout.ms" in options:
            given["timeout"] = int(options["request.timeout.ms"]) / 1000
        return cls(urls, **given)

    def schema(self, schema: int | UUID) -> Schema:
        """The schema of an id or a GUID, with its imports."""
        found = self._schemas.get(schema)
        if found is not None:
            return found
        since, error = self._unknown.get(schema, (0.0, None))
        if error is not None and time.monotonic() - since < FORGET_SECONDS:
            raise UnknownSchemaError(str(error), status=error.status, code=error.code)
        path = f"/schemas/guids/{schema}" if isinstance(schema, UUID) else f"/schemas/ids/{schema}"
        try:
            found = self._complete(_schema_in(self._connection.request("GET", path)))
        except UnknownSchemaError as unknown:
            if len(self._unknown) >= _MOST_UNKNOWN:
                self._unknown.clear()
            self._unknown[schema] = time.monotonic(), unknown
            raise
        self._schemas[schema] = found
        return found

    def latest(self, subject: str) -> RegisteredSchema:
        """The last version of a subject."""
        return self.version(subject, "latest")

    def version(self, subject: str, version: int | str) -> RegisteredSchema:
        """A version of a subject."""
        found = self._version(subject, version)
        schema = self._complete(found.schema)
        self._schemas[found.id] = schema
        return found._replace(schema=schema)

    def subjects(self) -> list[str]:
        """The names of all subjects."""
        answer = self._connection.request("GET", "/subjects")
        if not isinstance(answer, list):
            raise RegistryError("the answer of the Schema Registry is not a list of subjects; is it a Schema Registry?")
        return [str(name) for name in answer]

    def register(self, subject: str, schema: Schema) -> int:
        """Register a schema; returns its id. A schema that the subject has already keeps its id."""
        answer = self._connection.request("POST", f"/subjects/{_quoted(subject)}/versions", schema.as_dict())
        number = _number(answer, "id")
        self._unknown.pop(number, None)
        return number

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        self._connection.close()

    def _version(self, subject: str, version: int | str) -> RegisteredSchema:
        answer = self._connection.request("GET", f"/subjects/{_quoted(subject)}/versions/{version}")
        return RegisteredSchema(subject, _number(answer, "version"), _number(answer, "id"), _schema_in(answer))

    def _complete(self, schema: Schema) -> Schema:
        imports: dict[str, Schema] = {}
        self._collect(schema, imports, ())
        return replace(schema, imports=imports) if imports else schema

    def _collect(self, schema: Schema, imports: dict[str, Schema], above: tuple[Reference, ...]) -> None:
        for reference in schema.references:
            if reference.name in imports:
                continue
            if reference in above or len(imports) >= MOST_IMPORTS:
                raise SchemaError(f"the references of the schema have no end, at {reference.name!r}")
            found = self._version(reference.subject, reference.version).schema
            self._collect(found, imports, (*above, reference))
            imports[reference.name] = found


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 0) >= 0
    except ValueError:
        fits = False
    if not fits:
        raise RegistryError(f"{url!r} is not the URL of a Schema Registry, expected http://HOST:PORT")


def _quoted(subject: str) -> str:
    return quote(subject, safe="")


def _field(answer: Any, name: str) -> Any:
    if not isinstance(answer, dict) or name not in answer:
        raise RegistryError(f"the answer of the Schema Registry has no {name!r}; is it a Schema Registry?")
    return answer[name]


def _number(answer: Any, name: str) -> int:
    found = _field(answer, name)
    if not isinstance(found, int) or isinstance(found, bool):
        shown = str(found)[:50]
        raise RegistryError(f"the answer of the Schema Registry has {name} {shown!r}, expected a whole number")
    return found


def _schema_in(answer: Any) -> Schema:
    text = _field(answer, "schema")
    kind = answer.get("schemaType") or "AVRO"
    if not isinstance(text, str) or not isinstance(kind, str) or kind not in set(SchemaType):
        raise SchemaError(f"the registry has a schema of type {kind!r}, expected {', '.join(SchemaType)}")
    listed = answer.get("references") or ()
    if not isinstance(listed, list | tuple):
        raise RegistryError("the references in the answer of the Schema Registry are not a list")
    references = tuple(
        Reference(str(_field(each, "name")), str(_field(each, "subject")), _number(each, "version")) for each in listed
    )
    return Schema(text, SchemaType(kind), references)
