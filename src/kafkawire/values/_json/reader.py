"""JSON values, checked against their schema by jsonschema.

Rules:
- A value is checked against the schema of the reader, or else of the writer. Without any schema it is only parsed.
- NaN and Infinity are not JSON. A number that is too large for a double is the text Infinity.
- An integer that a schema calls a number is a float in a column, and 1.0 an integer, as in JSON Schema.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kafkawire.values._plain import json_text, plain
from kafkawire.values._reading import naming_malformed
from kafkawire.values.errors import MalformedValueError
from kafkawire.values.schemas import refuse_constant

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkawire.values.schemas import Schema


class JsonReader:
    """Reads JSON documents."""

    def __init__(self, schema: Schema | None) -> None:
        self._compiled: Any = None
        if schema is not None:
            from kafkawire.values._json.schema import compile_json

            self._compiled = compile_json(schema)

    def value(self, payload: bytes | memoryview, indexes: tuple[int, ...] = ()) -> Any:
        with naming_malformed("JSON", ValueError):
            found = json.loads(bytes(payload), parse_constant=refuse_constant)
        if self._compiled is not None:
            self._check(found)
        return found

    def plain(self, payload: bytes | memoryview, indexes: tuple[int, ...] = ()) -> Any:
        return plain(self.value(payload))

    def cell(self, payload: bytes | memoryview, indexes: tuple[int, ...] = ()) -> Any:
        found = self.value(payload)
        if self._compiled is None:
            return json_text(found)
        convert = self._column[1]
        if convert is None or found is None:
            return found
        with naming_malformed("a document of the JSON Schema", ValueError, TypeError, AttributeError, OverflowError):
            return convert(found)

    @property
    def arrow_type(self) -> pa.DataType:
        found: pa.DataType = self._column[0]
        return found

    @cached_property
    def _column(self) -> Any:
        if self._compiled is None:
            import pyarrow as pa

            return pa.string(), None
        from kafkawire.values._json.columns import json_column

        return json_column(self._compiled)

    def _check(self, found: Any) -> None:
        from referencing.exceptions import Unresolvable

        with naming_malformed("a document of the JSON Schema", Unresolvable):
            error = next(self._compiled.validator.iter_errors(found), None)
        if error is not None:
            place = "/".join(map(str, error.absolute_path)) or "the document"
            raise MalformedValueError(f"the JSON does not fit its schema at {place}: {error.message[:300]}")
