"""Settings of resources that are known only by their settings: groups, and subscriptions to client metrics.

Rules:
- A resource exists for its settings as long as it has one of its own. The empty name is not a resource.
- Names and values are checked together, as they are after a change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from kafkawire.messages.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.broker._config.settings import Setting


class OwnSettings(ABC):
    """The settings of all resources of one type that have own ones, by name of the resource."""

    what: str
    """One such resource, in messages of errors and of the log."""
    is_slow_to_check = False
    """Whether a check takes too long for the loop."""

    def __init__(self) -> None:
        self.own: dict[str, dict[str, str]] = {}
        self.version = 0
        """The number of changes so far."""

    def check_name(self, name: str) -> None:
        """Refuse the empty name."""
        if not name:
            raise InvalidRequestError(f"the settings of a {self.what} need its name, found ''")

    def change(self, resource: str, changes: Mapping[str, str | None]) -> None:
        """Set values; None restores the default."""
        after = {name: value for name, value in {**self.own.get(resource, {}), **changes}.items() if value is not None}
        self.version += 1
        self.own.pop(resource, None)
        if after:
            self.own[resource] = after

    @abstractmethod
    def check(self, after: Mapping[str, str]) -> None:
        """Refuse settings that no such resource can have."""

    @abstractmethod
    def settings(self, resource: str, name: str) -> list[Setting]:
        """Every value that a setting of a resource has somewhere, the effective one first."""
