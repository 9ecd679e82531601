"""The interface of a reader of one schema, and the errors of libraries as ours."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from kafkawire.values.errors import MalformedValueError, ValuesError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


class Reader(Protocol):
    """Reads values that were written with one schema."""

    def value(self, payload: bytes | memoryview, indexes: tuple[int, ...] = ()) -> Any:
        """A value as Python has it."""

    def plain(self, payload: bytes | memoryview, indexes: tuple[int, ...] = ()) -> Any:
        """A value as JSON has it."""

    def cell(self, payload: bytes | memoryview, indexes: tuple[int, ...] = ()) -> Any:
        """A value as `pyarrow.array` takes it, for the type of the column."""

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of the column."""


@contextmanager
def naming_malformed(what: str, *kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of a library into a MalformedValueError."""
    try:
        yield
    except ValuesError:
        raise
    except RecursionError as error:
        raise MalformedValueError(f"the bytes are not {what}: nested too deep") from error
    except kinds as error:
        raise MalformedValueError(f"the bytes are not {what}: {str(error) or type(error).__name__}") from error
