"""What can go wrong on our side of the connection; what a broker answers is a `KafkaError` (kafkawire.messages.errors).

Rules:
- Everything here roots in ClientError, and says whether the same call may succeed later (`retriable`).
"""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING, ClassVar

from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import KafkaError
from kafkawire.records import CorruptRecordError

if TYPE_CHECKING:
    from kafkawire.client.metadata import TopicPartition


class ClientError(KafkaWireError):
    """Anything the client gives up on."""

    retriable: ClassVar[bool] = False


class OptionError(ClientError):
    """An option that does not exist or does not take this value."""


class ConnectionLostError(ClientError, ConnectionError):
    """No connection could be made, or the one there was is gone."""

    retriable = True


class RequestTimeoutError(ClientError, TimeoutError):
    """An answer, or whatever the call waits for, did not come in time."""

    retriable = True


class AuthenticationFailedError(ClientError):
    """The broker does not let us in, or cannot prove that it is the broker."""


class ClosedError(ClientError):
    """A client that was not started, or is closed."""


class NoOffsetError(ClientError):
    """A partition without a position: nothing is committed, and `auto_offset_reset` is none."""


class UnknownPartitionError(ClientError):
    """A partition that its topic does not have, or that is not assigned."""


class BufferFullError(RequestTimeoutError):
    """The producer's buffer stayed full for `max_block_ms`."""

    retriable = False


class RecordTooLargeError(ClientError):
    """A record larger than a request may be."""


class PlaceError(ClientError):
    """What is wrong at one place of a partition; `seek` goes past it."""

    def __init__(self, message: str, partition: TopicPartition, offset: int) -> None:
        Exception.__init__(self, message, partition, offset)
        self.partition = partition
        self.offset = offset

    def __str__(self) -> str:
        return str(self.args[0])


class CorruptFetchError(PlaceError, CorruptRecordError):
    """Fetched bytes that are not the batch that was written; `offset` is that batch's first."""


class LogTruncatedError(PlaceError):
    """Records that were read are no longer in the log, which goes on differently from `offset`."""


class GroupError(ClientError):
    """A group that cannot be joined, or an assignment that cannot be read."""


def why(error: OSError) -> str:
    """The system's reason without its numbers; asyncio's words for it name the address once more.

    >>> why(ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 9092)"))
    'Connection refused'
    """
    is_systems = error.errno is not None and error.errno > 0 and not isinstance(error, ssl.SSLError)
    return os.strerror(error.errno) if is_systems and error.errno is not None else error.strerror or str(error)


def is_retriable(error: BaseException) -> bool:
    """Whether the same call may succeed later."""
    if isinstance(error, (ClientError, KafkaError)):
        return error.retriable
    return False
