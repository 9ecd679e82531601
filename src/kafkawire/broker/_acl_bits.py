"""The authorized operations of a client, as the bits that responses carry: all of them, without an authorizer."""

from __future__ import annotations

from typing import Final

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
