"""Runs: Produce requests that arrived together and are served as one.

A short way for the requests that most producers send. `apis/produce.py` serves all others, and is the reference.
Rules:
- A request joins a run only if nothing about it is unusual: acks is 1 or -1, it has no transactional id, its partitions
  exist and take records without a sync, and its batches are admitted. Otherwise, and if anything about it is wrong,
  nothing has changed, and the handler serves it.
- Joining changes no log. `write` appends the batches of all requests, each partition's with one write, and then builds
  the responses. So no response exists before its records are written.
- The responses are byte for byte those of the handler.
- A run has the requests of one connection that arrived in one read, in one version and of one client id. It is written
  before any other request is served, and before the loop runs anything else. So one run exists at a time, and nothing
  that its requests were checked against changes until it is written.
- The response about one partition has a form, which the schema's writer has written once; only its correlation id and
  its offsets differ between requests.
"""

from __future__ import annotations

from struct import Struct
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from kafkawire.broker._metrics.counters import errors_at
from kafkawire.log import SLOW_TO_PACK, AppendResult, admit, admit_plain, append_run, is_slow
from kafkawire.log.config import FOREVER
from kafkawire.messages.errors import KafkaError, KafkaStorageError

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.broker._dispatch.route import Route
    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._metrics.counters import Metrics
    from kafkawire.broker._node import Node
    from kafkawire.log import AdmittedBatch
    from kafkawire.log.config import LogConfig
    from kafkawire.log.partition import Partition
    from kafkawire.log.storage.files import Bytes
    from kafkawire.messages import ProduceRequest, RequestHeader

MOST_PARTITIONS: Final = 64
"""Of one request; the handler of larger ones lets other connections be served in between."""
MOST_FORMS: Final = 10_000
_FIRST_WITH_IDS: Final = 13
_MARKS: Final = (-0x0102030405060708, -0x1112131415161718, -0x2122232425262728)
"""Numbers that no name or index contains, in place of base offset, append time and log start offset."""
_HEAD: Final = Struct(">ii")


class ProduceRun:
    """The Produce requests that wait to be written together."""

    def __init__(self, node: Node, metrics: Metrics) -> None:
        self._node = node
        self._metrics = metrics
        self.requests: list[_Joined] = []
        self.answers: list[bytes] = []
        """The frames of responses whose records are written, in order."""
        self._appends: dict[tuple[object, int], _Appends] = {}
        self._forms: dict[tuple[int, UUID, str, int], ResponseForm] = {}
        self._route: Route | None = None
        self._client_id: str | None = None
        self._now = 0

    def join(self, route: Route, header: RequestHeader, request: ProduceRequest, size: int, began: float) -> bool:
        """Add a request to the run if it is of the usual kind; otherwise nothing has changed."""
        if request.transactional_id is not None or not (request.acks == 1 or request.acks == -1):
            return False
        if not self.requests:
            self._route, self._client_id, self._now = route, header.client_id, self._node.clock.now()
            self._appends.clear()
        elif route is not self._route or header.client_id != self._client_id:
            return False
        topics = request.topic_data
        if len(topics) > MOST_PARTITIONS:
            return False
        by_id, batches = route.version >= _FIRST_WITH_IDS, []
        for topic in topics:
            for data in topic.partition_data:
                key = topic.topic_id if by_id else topic.name, data.index
                appends = self._appends.get(key) or self._find(*key)
                if appends is None or (request.acks == -1 and appends.topic.min_insync_replicas > 1):
                    return False
                records, config = data.records, appends.log.config
                batch = None if records is None else admit_plain(records, config, self._now)
                if batch is None:
                    batch = _admit(records, config, self._now, route.version)
                    if batch is None:
                        return False
                batches.append((appends, batch))
        if not 0 < len(batches) <= MOST_PARTITIONS:
            return False
        if self._node.held is not None:
            self._node.write_held()
        places = []
        for appends, batch in batches:
            places.append((appends, len(appends.batches)))
            appends.batches.append(batch)
        self.requests.append((header.correlation_id, size, began, request, places))
        return True

    def write(self) -> None:
        """Append the batches of all requests, and write them; then build the responses."""
        requests, self.requests = self.requests, []
        found, self._appends = self._appends, {}
        for appends in found.values():
            if appends.batches:
                self._append(appends)
        route = self._route
        assert route is not None
        metrics, answers = route.metrics, self.answers
        total_in = total_out = 0
        for correlation_id, size, began, request, places in requests:
            appends, number = places[0]
            outcome = appends.outcomes[number]
            if len(places) == 1 and isinstance(outcome, AppendResult):
                form = appends.form or self._form(appends, route, request)
                answer = form.fill(correlation_id, outcome)
            else:
                answer = self._encode(route, correlation_id, request, places)
            answers.append(answer)
            metrics.add(size, len(answer), perf_counter() - began)
            total_in += size
            total_out += len(answer)
        self._metrics.clients.add(self._client_id, total_in, total_out, len(requests))

    def drop(self) -> None:
        """Forget the requests that are not written, because their connection is being closed."""
        self.requests, self._appends = [], {}

    def take_answers(self) -> tuple[list[bytes], int]:
        """The responses of all requests that were written, as one part, and its size."""
        joined = b"".join(self.answers)
        self.answers.clear()
        return [joined], len(joined)

    def _find(self, topic: Any, index: int) -> _Appends | None:
        """A partition that takes records without a sync; None if it is of another kind, or if there is none."""
        node = self._node
        found = node.topics.by_name.get(topic) if isinstance(topic, str) else node.topics.by_id.get(topic)
        if found is None or found.is_internal:
            return None
        log = node.logs.partitions.get((found.name, index))
        if log is None or log.config.flush_on_ack or log.config.flush_messages < FOREVER:
            return None
        appends = self._appends[topic, index] = _Appends(found, index, log)
        return appends

    def _append(self, appends: _Appends) -> None:
        node, topic, index = self._node, appends.topic.name, appends.index
        outcomes = append_run(appends.log, appends.batches, self._now, node.epoch_of(topic, index))
        appends.outcomes = outcomes
        for outcome in outcomes:
            if isinstance(outcome, KafkaStorageError):
                node.report(outcome)
        node.notify(topic, index)

    def _form(self, appends: _Appends, route: Route, request: ProduceRequest) -> ResponseForm:
        key = route.version, appends.topic.id, appends.topic.name, appends.index
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) >= MOST_FORMS:
                self._forms.clear()
            form = self._forms[key] = ResponseForm(route, request)
        appends.form = form
        return form

    def _encode(self, route: Route, correlation_id: int, request: ProduceRequest, places: _Places) -> bytes:
        """The response about several partitions, or about one that failed, as the handler builds it."""
        from kafkawire.broker.apis.produce import response_of

        response = response_of(
            request, [(appends.outcomes[number], appends.log.log_start_offset) for appends, number in places]
        )
        for code in errors_at(route.error_paths, response):
            route.metrics.count_error(code)
        parts, _ = route.writer.write(response, correlation_id)
        return b"".join(parts)  # type: ignore[arg-type]  # the response of a Produce has no ranges of files


class _Appends:
    """The batches of a run for one partition, and once they are appended, their outcomes."""

    __slots__ = ("batches", "form", "index", "log", "outcomes", "topic")

    def __init__(self, topic: Topic, index: int, log: Partition) -> None:
        self.topic = topic
        self.index = index
        self.log = log
        self.batches: list[AdmittedBatch] = []
        self.outcomes: list[AppendResult | KafkaError] = []
        self.form: ResponseForm | None = None


_Places = list[tuple[_Appends, int]]
"""For each partition of a request, the run's appends to it, and the number of the request's batch among them."""
_Joined = tuple[int, int, float, "ProduceRequest", _Places]
"""Correlation id, size of the frame, begin, request, and places of its batches."""


class ResponseForm:
    """The response to requests for one partition that succeed, all but the correlation id and the offsets."""

    __slots__ = ("_after", "_before", "_has_start", "_layout", "_size")

    def __init__(self, route: Route, request: ProduceRequest) -> None:
        from kafkawire.broker.apis.produce import response_of

        base, append_time, start = _MARKS
        marked = response_of(request, [(AppendResult(base, base, append_time, start), start)])
        frame = b"".join(route.writer.write(marked, 0)[0])  # type: ignore[arg-type]  # it has no ranges of files
        marks = b"".join(mark.to_bytes(8, "big", signed=True) for mark in _MARKS)
        self._has_start = marks in frame
        if not self._has_start:
            marks = marks[:16]  # versions below 5
        self._before, _, self._after = frame[_HEAD.size :].partition(marks)
        self._size = len(frame) - 4
        self._layout = Struct(f">ii{len(self._before)}s{len(marks) // 8}q{len(self._after)}s")

    def fill(self, correlation_id: int, result: AppendResult) -> bytes:
        """The frame of one response."""
        base, _, append_time, start, _ = result
        if self._has_start:
            return self._layout.pack(self._size, correlation_id, self._before, base, append_time, start, self._after)
        return self._layout.pack(self._size, correlation_id, self._before, base, append_time, self._after)


def _admit(records: Bytes | None, config: LogConfig, now: int, version: int) -> AdmittedBatch | None:
    """One batch that is not stored as it is, or that is compressed; None if it is slow to admit, or refused."""
    from kafkawire.broker.apis.produce import check_shape

    if records is None or (len(records) >= SLOW_TO_PACK and is_slow(records, config)):
        return None
    try:
        check_shape(records, version, is_transactional=False)
        admitted = admit(records, config, now)
    except KafkaError:
        return None
    return admitted[0] if len(admitted) == 1 else None
