"""The transactional ids of a sink.

Rules:
- `PREFIX.SINK` belongs to the driver, which writes decisions with it. Two drivers of one sink fence each other.
- `PREFIX.SINK.RUN.TASK.ATTEMPT` belongs to one attempt of one task, so that a retried or speculative attempt does not
  fence the attempt that counts. Later batches of a run use the same ids, which bounds their number. Every run has its
  own, so that no run fences the transactions that an earlier run has decided to commit.
- A name of a run has no dot. The sink may have dots: an id is split from its end.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SinkNames:
    """The names of one sink."""

    prefix: str
    sink: str

    @property
    def of_driver(self) -> str:
        return f"{self.prefix}.{self.sink}"

    def of_task(self, run: str, task: int, attempt: int) -> str:
        """The id of an attempt.

        >>> SinkNames("kafkawire", "orders").of_task("5a1f", 3, 0)
        'kafkawire.orders.5a1f.3.0'
        """
        return f"{self.of_driver}.{run}.{task}.{attempt}"

    def run_of(self, transactional_id: str) -> str | None:
        """The run that an id of a task belongs to; None if it is not an id of a task of this sink.

        >>> [SinkNames("kafkawire", "a").run_of(name) for name in ("kafkawire.a.5a1f.3.0", "kafkawire.a.b.5a1f.3.0")]
        ['5a1f', None]
        """
        found = transactional_id.rsplit(".", 3)
        if len(found) != 4 or found[0] != self.of_driver or not (found[2].isdecimal() and found[3].isdecimal()):
            return None
        return found[1]
