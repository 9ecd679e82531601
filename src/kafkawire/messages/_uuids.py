"""Kafka's spelling of a UUID: 22 characters of URL-safe base64, without padding."""

from __future__ import annotations

import base64
from uuid import UUID


def uuid_text(value: UUID) -> str:
    """A uuid as Kafka prints it.

    >>> uuid_text(UUID(int=1))
    'AAAAAAAAAAAAAAAAAAAAAQ'
    """
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def parse_uuid(text: str) -> UUID:
    """The uuid of a spelling; ValueError if it is invalid.

    >>> parse_uuid("AAAAAAAAAAAAAAAAAAAAAQ").int
    1
    """
    try:
        return UUID(bytes=base64.urlsafe_b64decode(text + "=="))
    except ValueError as error:
        raise ValueError(f"expected 22 characters of URL-safe base64, found {text!r}") from error
