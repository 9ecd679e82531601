"""Errors of the clients; an error code of a broker is a `KafkaError` (kafkawire.messages.errors).

Rules:
- Every class derives from ClientError; `retriable` states whether the same call may succeed later.
- An error of a transaction has the error of the broker as its cause.
"""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING, ClassVar

from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import KafkaError
from kafkawire.records import CorruptRecordError

if TYPE_CHECKING:
    from kafkawire.client._cluster.metadata import TopicPartition


class ClientError(KafkaWireError):
    """Base class of the errors that a client raises itself."""

    retriable: ClassVar[bool] = False


class OptionError(ClientError):
    """The option does not exist or does not accept the value."""


class ConnectionLostError(ClientError, ConnectionError):
    """No connection could be opened, or the connection was lost."""

    retriable = True


class RequestTimeoutError(ClientError, TimeoutError):
    """The request, or the condition the call waits for, timed out."""

    retriable = True


class AuthenticationFailedError(ClientError):
    """The broker refuses the credentials, or its certificate is not trusted."""


class ClosedError(ClientError):
    """The client was not started, or is closed."""


class NoOffsetError(ClientError):
    """A partition has no position: no offset is committed, and `auto_offset_reset` is none."""


class UnknownPartitionError(ClientError):
    """The topic does not have the partition, or it is not assigned to the consumer."""


class BufferFullError(RequestTimeoutError):
    """The producer's buffer stayed full for `max_block_ms`."""

    retriable = False


class RecordTooLargeError(ClientError):
    """A record is larger than a request may be."""


class PlaceError(ClientError):
    """An error at one offset of a partition; `seek` skips it."""

    def __init__(self, message: str, partition: TopicPartition, offset: int) -> None:
        Exception.__init__(self, message, partition, offset)
        self.partition = partition
        self.offset = offset

    def __str__(self) -> str:
        return str(self.args[0])


class CorruptFetchError(PlaceError, CorruptRecordError):
    """Fetched bytes differ from the batch that was written; `offset` is the first of the batch."""


class LogTruncatedError(PlaceError):
    """Records that were read are no longer in the log, which has other records from `offset` on."""


class GroupError(ClientError):
    """The group cannot be joined, or its assignment cannot be read."""


class TransactionError(ClientError):
    """A step of a transaction failed; the class states what the application has to do (KIP-1050)."""


class AbortableTransactionError(TransactionError):
    """The transaction cannot be committed: abort it. The producer can begin the next one."""


class FatalTransactionError(TransactionError):
    """The producer cannot be used any more: close it and make another."""


class FencedError(FatalTransactionError):
    """Another producer with the same transactional id has taken over, or the coordinator gave up on this one."""


class TransactionStateError(TransactionError):
    """The call does not fit the state of the transaction; the state does not change."""


def why(error: OSError) -> str:
    """The message of the system without its number; the message of asyncio would repeat the address.

    >>> why(ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 9092)"))
    'Connection refused'
    """
    is_systems = error.errno is not None and error.errno > 0 and not isinstance(error, ssl.SSLError)
    return (
        os.strerror(error.errno)
        if is_systems and error.errno is not None
        else error.strerror or str(error) or "connection closed"
    )


def is_retriable(error: BaseException) -> bool:
    """Whether the same call may succeed later."""
    if isinstance(error, (ClientError, KafkaError)):
        return error.retriable
    return False
