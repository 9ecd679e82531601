"""What a peer can send that is not the protocol; raised by frames and headers, and never anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from kafkawire.messages import RequestHeader


class WireError(KafkaWireError):
    """A peer does not speak the protocol as expected."""


class FrameError(WireError):
    """A frame whose length cannot be believed, or bytes that are not one whole frame."""


class UnknownApiError(WireError):
    """A request for an API key that the protocol does not have."""

    def __init__(self, header: RequestHeader) -> None:
        super().__init__(f"unknown API key {header.request_api_key} (version {header.request_api_version})")
        self.header = header


class UnsupportedRequestError(WireError):
    """A request in a version that its API does not have; the header was read all the same."""

    def __init__(self, header: RequestHeader, name: str, versions: str) -> None:
        super().__init__(f"{name} version {header.request_api_version}: expected one of {versions}")
        self.header = header


class CorrelationError(WireError):
    """A response that answers another request than the one it is read for."""


class NegotiationError(WireError):
    """The two sides have no version of an API in common."""
