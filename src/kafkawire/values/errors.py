"""The errors of values with schemas."""

from __future__ import annotations

from kafkawire.exceptions import KafkaWireError


class ValuesError(KafkaWireError):
    """The base of all errors about values with schemas."""


class SchemaError(ValuesError):
    """A schema cannot be read, or does not fit its use."""


class FramingError(ValuesError):
    """A value does not begin with the id of a schema."""


class MalformedValueError(ValuesError):
    """The bytes of a value do not fit its schema."""


class RegistryError(ValuesError):
    """The Schema Registry cannot be reached, or refused a request."""

    def __init__(self, message: str, *, status: int = 0, code: int = 0) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status; 0 without a response."""
        self.code = code
        """The code of the registry, such as 40403; 0 without one."""


class UnknownSchemaError(RegistryError):
    """The registry has no schema of this id, subject or version."""
