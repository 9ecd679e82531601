"""Values as JSON has them.

Rules:
- Bytes are text with one character per byte, as in Avro's JSON. Decimals, times and UUIDs are text.
- Numbers that JSON does not have are the texts NaN, Infinity and -Infinity.
- Halves of surrogate pairs, which UTF-8 does not have, stay escaped in the text of JSON.
"""

from __future__ import annotations

import json
import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID


def plain(value: Any) -> Any:
    """A value of Python with only what JSON has.

    >>> plain({"a": b"\\x00\\xff", "b": [Decimal("1.50"), float("nan")]})
    {'a': '\\x00ÿ', 'b': ['1.50', 'NaN']}
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else ("NaN" if value != value else f"{'-' * (value < 0)}Infinity")
        case dict():
            return {str(name): plain(each) for name, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case bytes():
            return value.decode("latin-1")
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal() | UUID():
            return str(value)
    return str(value)


def json_text(value: Any) -> str:
    """A value as one line of JSON."""
    text = json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace").decode()
