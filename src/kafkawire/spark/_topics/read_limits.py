"""Spark's limits of a trigger, as PySpark 4.2 and newer have them.

Rules:
- PySpark 4.1 has none of these classes, and calls `latestOffset()` without the start of the trigger. So limits of a
  trigger are refused there.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

HAS_LIMITS: Final = find_spec("pyspark.sql.streaming.datasource") is not None

if TYPE_CHECKING or HAS_LIMITS:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )
else:

    class ReadLimit:
        """A limit, which this release never passes."""

    class ReadAllAvailable(ReadLimit):
        """No limit."""

    class ReadMaxRows(ReadLimit):
        """At most so many rows."""

    class ReadMinRows(ReadLimit):
        """At least so many rows."""

    class SupportsTriggerAvailableNow:
        """A reader with a method for queries that end with the existing records."""


__all__ = ["HAS_LIMITS", "ReadAllAvailable", "ReadLimit", "ReadMaxRows", "ReadMinRows", "SupportsTriggerAvailableNow"]
