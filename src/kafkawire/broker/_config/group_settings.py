"""Settings of single groups (KIP-848, `--entity-type groups`): names, checks, and the values that apply.

Rules:
- A group need not exist to have settings. The empty name is not a group.
- A value must lie within the broker's limits when it is set. Limits may change later, so a value that lies outside
  counts as the nearest limit.
- The session timeout of a group must be longer than its heartbeat interval.
- Without an own value the broker's setting applies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.broker._config.settings import Setting, Source, keys
from kafkawire.messages.errors import InvalidConfigError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.broker._config.settings import BrokerConfig

SCOPE: Final = "group"
SESSION_TIMEOUT: Final = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL: Final = "consumer.heartbeat.interval.ms"
ASSIGNMENT_INTERVAL: Final = "consumer.assignment.interval.ms"
_LIMITS: Final = {
    SESSION_TIMEOUT: ("group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    HEARTBEAT_INTERVAL: ("group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"),
    ASSIGNMENT_INTERVAL: ("group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"),
}


def check_group_name(name: str) -> None:
    """Refuse the empty name."""
    if not name:
        raise InvalidRequestError("the settings of a group need its name, found ''")


class GroupConfigs:
    """The settings of all groups that have own ones, by name of the group."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self.own: dict[str, dict[str, str]] = {}

    def change(self, group: str, changes: Mapping[str, str | None]) -> None:
        """Set values; None restores the broker's."""
        after = {name: value for name, value in {**self.own.get(group, {}), **changes}.items() if value is not None}
        self.own.pop(group, None)
        if after:
            self.own[group] = after

    def check(self, after: Mapping[str, str]) -> None:
        """Refuse settings that no group can have."""
        for name, value in after.items():
            key = keys(SCOPE).get(name)
            if key is None:
                raise InvalidConfigError(
                    f"{name}: a group has no such setting, expected one of {', '.join(keys(SCOPE))}"
                )
            key.check(value)
            least, most = (self._config.integer(limit) for limit in _LIMITS[name])
            if not least <= int(value) <= most:
                raise InvalidConfigError(f"{name}: found {value}, expected {least} to {most}")
        session, interval = self._within(after, SESSION_TIMEOUT), self._within(after, HEARTBEAT_INTERVAL)
        if after and session <= interval:
            raise InvalidConfigError(
                f"{SESSION_TIMEOUT}: found {session}, expected more than {HEARTBEAT_INTERVAL}, which is {interval}"
            )

    def integer(self, group: str, name: str) -> int:
        """The value that applies to a group."""
        own = self.own.get(group)
        if own is None or name not in own:
            return self._config.integer(keys(SCOPE)[name].server[0])
        return self._within(own, name)

    def settings(self, group: str, name: str) -> list[Setting]:
        """Every value that a group's setting has somewhere, the effective one first."""
        own = self.own.get(group, {})
        found = [Setting(own[name], Source.GROUP, name)] if name in own else []
        return [*found, *self._config.settings(keys(SCOPE)[name].server[0])]

    def _within(self, own: Mapping[str, str], name: str) -> int:
        if name not in own:
            return self._config.integer(keys(SCOPE)[name].server[0])
        least, most = (self._config.integer(limit) for limit in _LIMITS[name])
        return min(max(int(own[name]), least), most)
