"""Errors of the coordinator, as the version of a request knows them."""

from __future__ import annotations

from typing import Final

from kafkawire.messages.errors import ErrorCode

KNOWS_FENCED: Final = 2
"""The version of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn from which clients know PRODUCER_FENCED."""


def known_error(error: ErrorCode, version: int) -> ErrorCode:
    """The error of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn."""
    if error is ErrorCode.PRODUCER_FENCED and version < KNOWS_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error
