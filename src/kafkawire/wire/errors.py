"""Errors for bytes that violate the protocol; frames and headers raise no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from kafkawire.messages import RequestHeader


class WireError(KafkaWireError):
    """A peer violates the protocol."""


class FrameError(WireError):
    """A frame with an invalid length, or bytes that are not one complete frame."""


class UnknownApiError(WireError):
    """A request for an unknown API key."""

    def __init__(self, header: RequestHeader) -> None:
        super().__init__(f"unknown API key {header.request_api_key} (version {header.request_api_version})")
        self.header = header


class UnsupportedRequestError(WireError):
    """A request in a version that its API does not have; its header is available."""

    def __init__(self, header: RequestHeader, name: str, versions: str) -> None:
        super().__init__(f"{name} version {header.request_api_version}: expected one of {versions}")
        self.header = header


class CorrelationError(WireError):
    """A response to another request than the expected one."""


class NegotiationError(WireError):
    """The two sides have no version of an API in common."""
