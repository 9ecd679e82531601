"""The options of a write that choose exactly-once, and name the sink.

Rules:
- `deliveryGuarantee` is `at-least-once`, the default, or `exactly-once`. The other options here need exactly-once.
- A stream is named by the id of its query, which its checkpoint keeps, unless `sinkId` names it. A batch write has a
  random name, unless `sinkId` makes it repeatable.
- A transaction must stay open from the first row of its task to the commit of the batch. Its timeout is 15 minutes, the
  most that brokers allow by default, unless `kafka.transaction.timeout.ms` is set.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kafkawire.spark._exactly_once.names import SinkNames
from kafkawire.spark._options import choice
from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

GUARANTEES: Final = ("at-least-once", "exactly-once")
OPTIONS: Final = ("deliveryGuarantee", "sinkId", "sinkBatch", "transactionalIdPrefix", "decisionTopic")
PREFIX: Final = "kafkawire"
DECISIONS: Final = "kafkawire-sink-decisions"
TIMEOUT_MS: Final = 900_000
_TIMEOUT: Final = "transaction.timeout.ms"
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_MOST_LETTERS: Final = 200


@dataclass(frozen=True)
class SinkOptions:
    """The checked options of an exactly-once write."""

    client: tuple[tuple[str, str], ...] = field(repr=False)  # contains passwords
    sink: str | None
    batch: int
    prefix: str
    decisions: str
    timeout_ms: int
    topic: str | None = None

    @classmethod
    def parse(cls, options: Mapping[str, str], client: Mapping[str, str], *, is_stream: bool) -> SinkOptions | None:
        """Parse options with lower-case keys; None if the write is at least once."""
        given = {name: options[name.lower()].strip() for name in OPTIONS if name.lower() in options}
        chosen = choice("deliveryGuarantee", given.pop("deliveryGuarantee", GUARANTEES[0]).lower(), GUARANTEES)
        if chosen == GUARANTEES[0]:
            if given:
                raise SourceOptionError(f"{', '.join(given)}: only with deliveryGuarantee=exactly-once")
            return None
        sink = given.get("sinkId")
        if sink is not None and not 0 < len(sink) <= _MOST_LETTERS:
            raise SourceOptionError(f"sinkId is {sink!r}, expected a name of 1 to {_MOST_LETTERS} characters")
        batch = given.get("sinkBatch", "0")
        if "sinkBatch" in given and (is_stream or sink is None):
            reason = "a stream has its own" if is_stream else "it numbers the writes of a sinkId, which is missing"
            raise SourceOptionError(f"sinkBatch: {reason}")
        if not batch.isdecimal() or int(batch) >= 2**63:
            raise SourceOptionError(
                f"sinkBatch is {batch!r}, expected a number that grows with every write of the sinkId"
            )
        decisions = given.get("decisionTopic", DECISIONS)
        if not _TOPIC.fullmatch(decisions):
            raise SourceOptionError(f"decisionTopic is {decisions!r}, expected a name of a topic")
        timeout = client.get(_TIMEOUT, str(TIMEOUT_MS))
        if not timeout.isdecimal() or not 0 < int(timeout) < 2**31:
            raise SourceOptionError(f"kafka.{_TIMEOUT} is {timeout!r}, expected milliseconds")
        config = ((name, value) for name, value in client.items() if name != _TIMEOUT)
        prefix = given.get("transactionalIdPrefix", PREFIX)
        return cls(tuple(sorted(config)), sink, int(batch), prefix, decisions, int(timeout), options.get("topic"))

    def names(self, sink: str) -> SinkNames:
        """The transactional ids of the sink."""
        return SinkNames(self.prefix, sink)
