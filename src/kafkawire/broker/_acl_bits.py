"""The operations that each type of resource supports, as the bits of authorized operations in responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.wire.acls import ResourceType

if TYPE_CHECKING:
    from collections.abc import Mapping

READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12
NOT_ASKED: Final = -(2**31)


def bits(*operations: int) -> int:
    """The operations as one number.

    >>> bits(READ, DESCRIBE)
    264
    """
    return sum(1 << operation for operation in operations)


TOPIC: Final = bits(READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
GROUP: Final = bits(READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
CLUSTER: Final = bits(CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE)
SUPPORTED: Final[Mapping[int, int]] = {
    ResourceType.TOPIC: TOPIC,
    ResourceType.GROUP: GROUP,
    ResourceType.CLUSTER: CLUSTER,
}
