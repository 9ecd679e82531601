"""Regular expressions of subscriptions: which topics they match, and when this is computed again.

Rules:
- A new expression is compiled at once; INVALID_REGULAR_EXPRESSION if that fails. Its topics are found later, in steps
  beside requests, so that the first answer to its member has none of them.
- All expressions of a group are resolved together: when one is new or topics were created, at most every
  REGEX_PAUSE_MS, and at least every refresh interval. Heartbeats start it.
- Topics that a member may not describe do not match: the member whose heartbeat started the resolution, as in Apache
  Kafka.
- The group's epoch rises if an expression matches other topics than before, or a matched topic has changed.
- An expression without a subscriber is removed.
"""

from __future__ import annotations

import logging
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker.groups.consumer.changes import GroupEpoch, Resolved, ResolvedRegex
from kafkawire.broker.groups.consumer.patterns import compile_pattern
from kafkawire.broker.groups.consumer.settings import REGEX_PAUSE_MS
from kafkawire.broker.groups.consumer.subscriptions import metadata_hash
from kafkawire.messages.errors import InvalidRegularExpressionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kafkawire.broker._metadata.topics import Topics
    from kafkawire.broker.groups.consumer.group import ConsumerGroup
    from kafkawire.broker.groups.consumer.work import Work
    from kafkawire.broker.groups.steps import Steps


_log: Final = logging.getLogger(__name__)


class RegexUpdate(Enum):
    """The change of a member's regular expression."""

    NONE = auto()
    UNRESOLVED = auto()
    RESOLVED = auto()


class Wanted(NamedTuple):
    """Regular expressions of a group that are to be resolved."""

    group: ConsumerGroup
    regexes: tuple[str, ...]
    sees: Callable[[str], bool] | None = None


class Resolutions:
    """The resolutions that wait to be done; `wanted` is emptied by the driver."""

    def __init__(self, refresh_ms: int, topics: Topics) -> None:
        self.wanted: list[Wanted] = []
        self._refresh_ms = refresh_ms
        self._topics = topics

    def update(
        self, work: Work, old: str | None, new: str | None, now: int, sees: Callable[[str], bool] | None = None
    ) -> RegexUpdate:
        """Take in the expression of a member, whose subscription has been applied."""
        group = work.group
        update = RegexUpdate.NONE
        is_new = False
        known = len(group.resolved)
        last = next((each.resolved_at for each in group.resolved.values()), None)
        if (old or "") != (new or ""):
            update = RegexUpdate.UNRESOLVED
            if old and old not in group.regexes and old in group.resolved:
                work.do([Resolved(old, None)])
            if not new:
                update = RegexUpdate.RESOLVED
            elif group.regexes[new] == 1:
                compile_pattern(new)
                is_new = True
            elif new in group.resolved:
                update = RegexUpdate.RESOLVED
        if not group.regexes or group.is_resolving or (last is not None and now <= last + REGEX_PAUSE_MS):
            return update
        is_due = is_new or len(group.regexes) != known or group.resolved_topics < self._topics.last_added
        if is_due or last is None or now > last + self._refresh_ms:
            group.is_resolving = True
            self.wanted.append(Wanted(group, tuple(group.regexes), sees))
        return update

    def resolve(self, wanted: Wanted, now: int) -> Steps[dict[str, ResolvedRegex]]:
        """The topics that match, in short steps. An expression of another broker may be invalid here: it has none."""
        found: dict[str, set[str]] = {regex: set() for regex in wanted.regexes}
        version = self._topics.version
        for regex, names in found.items():
            try:
                pattern = compile_pattern(regex)
            except InvalidRegularExpressionError as error:
                _log.warning("group %r: %s", wanted.group.group_id, error)
                continue
            yield
            for topic in list(self._topics):
                matches = yield from pattern.matching(topic.name)
                if matches and (wanted.sees is None or wanted.sees(topic.name)):
                    names.add(topic.name)
                yield
        return {regex: ResolvedRegex(frozenset(names), version, now) for regex, names in found.items()}

    def take(self, work: Work, resolved: Mapping[str, ResolvedRegex]) -> None:
        """Take in the topics that match."""
        group = work.group
        bump = False
        for regex, now in resolved.items():
            if regex in group.regexes:
                before = group.resolved.get(regex)
                bump |= (before.topics if before is not None else frozenset()) != now.topics
                work.do([Resolved(regex, now)])
        found = metadata_hash(group, self._topics)
        if bump or found != group.metadata_hash:
            work.do([GroupEpoch(group.epoch + 1, found)])
