"""What a coordinator writes down before it answers.

Rules:
- Appending either succeeds or raises Kafka's own error and changes nothing; state changes only after it succeeded.
- Errors of the log become what members and committers can act on: to look for the coordinator again, to try again, or
  that the commit is too large.
- That a group became empty is worth a try only: if it cannot be written, a restart finds its last members, and lets
  their sessions end.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Protocol

from kafkawire.broker.groups.records import encode_group, encode_group_end, encode_offset
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import ErrorCode, KafkaError, code_for, error_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafkawire.broker.groups.group import Group, TopicPartition
    from kafkawire.broker.groups.records import Entry

_log: Final = logging.getLogger(__name__)

_TOO_LARGE: Final = (
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_FETCH_SIZE,
)
_COORDINATOR_ERRORS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}


class EntryLog(Protocol):
    """Where records of groups go."""

    def append(self, group_id: str, entries: Sequence[Entry], now: int) -> None:
        """Add records, all or none."""
        ...


class GroupWriter:
    """The records of groups and offsets on their way to the log."""

    def __init__(self, log: EntryLog) -> None:
        self._entries = log

    def write_group(self, group: Group, assignments: Mapping[str, bytes], now: int) -> None:
        self._append(group.group_id, [encode_group(group, assignments, now)], now, ErrorCode.UNKNOWN_SERVER_ERROR)

    def note_empty(self, group: Group, now: int) -> None:
        try:
            self.write_group(group, {}, now)
        except KafkaError as error:
            _log.warning("group %r became empty, and that could not be written down: %s", group.group_id, error)

    def write_offsets(self, group_id: str, entries: Sequence[Entry], now: int) -> None:
        """Write offsets, or that they are gone."""
        if entries:
            self._append(group_id, entries, now, ErrorCode.INVALID_COMMIT_OFFSET_SIZE)

    def write_end(self, group: Group, offsets: Iterable[TopicPartition], now: int) -> None:
        """Write that a group and all of its offsets are gone."""
        entries = [encode_offset(group.group_id, place, None) for place in offsets]
        self._append(group.group_id, [*entries, encode_group_end(group.group_id)], now, ErrorCode.UNKNOWN_SERVER_ERROR)

    def _append(self, group_id: str, entries: Sequence[Entry], now: int, too_large: ErrorCode) -> None:
        try:
            self._entries.append(group_id, entries, now)
        except (KafkaWireError, OSError) as error:
            raise coordinator_error(group_id, error, too_large) from error


def coordinator_error(
    group_id: str, error: Exception, too_large: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR
) -> KafkaError:
    """What clients are told of an error of the log."""
    code = ErrorCode(code_for(error))
    told = too_large if code in _TOO_LARGE else _COORDINATOR_ERRORS.get(code, code)
    return error_for(told, f"group {group_id!r}: {error}")
