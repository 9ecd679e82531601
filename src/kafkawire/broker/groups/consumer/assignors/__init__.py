"""The assignors of the broker, `uniform` and `range`: from subscriptions and old targets to new targets.

Rules:
- The result equals that of Apache Kafka's classes for the same input. `make interop` compares them.
- Racks are part of the input, and are ignored, as in Kafka's own assignors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker.groups.consumer.assignors.range import assign_ranges
from kafkawire.broker.groups.consumer.assignors.uniform import assign_uniformly

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker.groups.consumer.assignors.spec import Assignment, GroupSpec

ASSIGNORS: Final[dict[str, Callable[[GroupSpec], dict[str, Assignment]]]] = {
    "uniform": assign_uniformly,
    "range": assign_ranges,
}
"""The assignors by name. Members without an assignment are left out of the result, or have an empty one."""
