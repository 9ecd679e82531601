"""Which version of Produce goes to a broker, for both ways of sending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.client.errors import ClientError
from kafkawire.messages.errors import ErrorCode, error_for
from kafkawire.records import Codec

if TYPE_CHECKING:
    from kafkawire.client.connection import Connection
    from kafkawire.client.sockets import SocketConnection


def produce_version(connection: Connection | SocketConnection, codec: Codec) -> int:
    """The version to use; an error where the broker is too old for our batches or for their codec."""
    version = connection.negotiated.version("Produce")
    if version < 3:
        raise ClientError(f"{connection.place}: Produce v{version}, expected 3 or later (Kafka 0.11)")
    if codec is Codec.ZSTD and version < 7:
        raise error_for(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"{connection.place}: zstd needs Produce v7")
    return version
