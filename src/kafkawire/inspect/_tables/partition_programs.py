"""Programs that read the rows of partitions from bodies, without objects: one per API and version, from its plans.

Rules:
- A program is a flat list of numbers, as those of `body_programs`. `_partition_columns.pyx` runs it.
- A topic begins with its defaults, and so does a partition, because a version without a field gives its default.
- A program gives up on tags, on forgotten topics, and on all bytes that the codec refuses. The reference then reads the
  exchange. So a program never decides on an error text.
- An API whose rows come from more than one list of topics, or depend on more than single fields, has no program.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire._codec import plan as p
from kafkawire.inspect._tables.body_programs import NULL
from kafkawire.inspect._tables.partitions import ASKED_ONLY, COLUMNS, COUNTED, FORMS, NAMES, OTHERS
from kafkawire.messages import UnknownMessageError, api, compile_plan

if TYPE_CHECKING:
    from kafkawire.messages import Message

(SKIP, TEXT, BYTES, ARRAY, STRUCT, TAGS, NAME, ID, NUMBER, VALUE, COUNT, RECORDS, TOPICS, PARTITIONS, EMPTY, HEAD) = (
    range(16)
)
VALUES: Final = (
    *("error_code", "fetch_offset", "max_bytes", "committed_offset", "timestamp", "base_offset", "high_watermark"),
    *("lso", "log_start", "leader_id", "leader_epoch", "replicas", "isr", "bytes", "batches"),
)
"""The columns of a row that programs fill, in the order of the table."""
_SESSION: Final = {"session_id": 0, "session_epoch": 1}
_INTEGERS: Final = (p.INT8, p.INT16, p.INT32, p.INT64)


class Division(NamedTuple):
    """The program of one message, and the values with which its topics and partitions begin."""

    operations: list[int]
    of_topic: list[tuple[int, int]]
    of_partition: list[tuple[int, int]]
    has_topic_rows: bool


class Divided(NamedTuple):
    """The programs of a request and its response."""

    request: Division
    response: Division
    has_request_tags: bool
    has_response_tags: bool


class _NotSimpleError(Exception):
    pass


@cache
def division_program(key: int, version: int) -> Divided | None:
    """The programs for an API and a version of it; None if the reference has to read it."""
    try:
        which = api(key)
        if version not in which.versions or which.name in OTHERS:
            return None
        request, response = (_Compiler(kind, version).division() for kind in (which.request, which.response))
    except (UnknownMessageError, _NotSimpleError):
        return None
    return Divided(
        request, response, which.request_header_version(version) >= 2, which.response_header_version(version) >= 1
    )


class _Compiler:
    def __init__(self, kind: type[Message], version: int) -> None:
        self._plan: p.Plan = compile_plan(kind, version)
        self._name = kind.__name__
        forms = FORMS.get(self._name, ())
        if len(forms) > 1 or any(form.outer for form in forms):
            raise _NotSimpleError
        self._form = forms[0] if forms else None
        self._is_fetch = self._name == "FetchRequest"

    def division(self) -> Division:
        operations: list[int] = []
        topic: p.Shape | None = None
        for step in self._plan.steps:
            name = step.slot.attribute
            if self._form is not None and name == self._form.topics:
                topic = step.slot.shape
                body = self._topic(step)
                operations += [TOPICS, step.compact, step.nullable, step.element_minimum, len(body), *body]
            elif self._is_fetch and name in _SESSION:
                operations += [HEAD, p.FIXED_SIZES[step.code], _SESSION[name]]
            elif self._is_fetch and name == "forgotten_topics_data":
                operations += [EMPTY, step.compact]
            else:
                self._skip(step, operations)
        if self._plan.flexible:
            operations.append(TAGS)
        if topic is None or self._form is None:
            return Division(operations, [], [], False)
        inner = self._inner(topic)
        of_topic = self._defaults(topic) if _has(topic, "error_code") else []
        return Division(operations, of_topic, self._defaults(inner) if inner else [], _has(topic, "error_code"))

    def _inner(self, topic: p.Shape) -> p.Shape | None:
        """The shape of a partition."""
        assert self._form is not None
        return next((slot.shape for slot in topic.slots if slot.attribute == self._form.partitions), None)

    def _columns(self, shape: p.Shape) -> dict[str, int]:
        """The attributes of a struct that fill a column, and its place."""
        left_out = ASKED_ONLY.get(self._name, ())
        names = {**{name: to for name, to in COLUMNS.items() if name not in left_out}, **COUNTED}
        known = {slot.attribute for slot in shape.slots}
        found = {name: VALUES.index(to) for name, to in names.items() if name in known}
        if len(set(found.values())) < len(found) or not known.isdisjoint({"acquired_records"}):
            raise _NotSimpleError
        return found

    def _defaults(self, shape: p.Shape) -> list[tuple[int, int]]:
        slots = {slot.attribute: slot for slot in shape.slots}
        return [(at, _default(slots[name].default, name)) for name, at in self._columns(shape).items()]

    def _topic(self, step: p.Step) -> list[int]:
        assert step.plan is not None
        assert self._form is not None
        names = [slot.attribute for slot in step.plan.shape.slots if slot.attribute in NAMES]
        columns = self._columns(step.plan.shape) if _has(step.plan.shape, "error_code") else {}
        if step.code != p.STRUCT or not step.is_array or len(names) > 1:
            raise _NotSimpleError
        out: list[int] = []
        is_over = False
        for each in step.plan.steps:
            name = each.slot.attribute
            if is_over and (name in names or name == "topic_id" or name in columns):
                raise _NotSimpleError
            if name in names and each.code == p.STRING and not each.is_array:
                out += [NAME, each.compact, each.nullable]
            elif name == "topic_id" and each.code == p.UUID:
                out.append(ID)
            elif self._form.partitions and name == self._form.partitions:
                if each.code != p.STRUCT or not each.is_array:
                    raise _NotSimpleError
                body = self._partition(each)
                out += [PARTITIONS, each.compact, each.nullable, each.element_minimum, len(body), *body]
                is_over = True
            else:
                self._field(each, columns, out)
        if step.plan.flexible:
            out.append(TAGS)
        return out

    def _partition(self, step: p.Step) -> list[int]:
        assert step.plan is not None
        assert self._form is not None
        columns = self._columns(step.plan.shape)
        out: list[int] = []
        for each in step.plan.steps:
            if each.slot.attribute == "current_leader":
                raise _NotSimpleError
            if each.slot.attribute == self._form.number:
                if each.code != p.INT32 or each.is_array:
                    raise _NotSimpleError
                out.append(NUMBER)
            else:
                self._field(each, columns, out)
        if NUMBER not in out:
            raise _NotSimpleError
        if step.plan.flexible:
            out.append(TAGS)
        return out

    def _field(self, step: p.Step, columns: dict[str, int], out: list[int]) -> None:
        """A field of a topic or partition: a column, or nothing."""
        at = columns.get(step.slot.attribute)
        if at is None:
            self._skip(step, out)
        elif step.code == p.RECORDS and not step.is_array:
            out += [RECORDS, step.compact, step.nullable]
        elif step.is_array:
            body: list[int] = []
            self._element(step, body)
            out += [COUNT, step.compact, step.nullable, step.element_minimum, len(body), at, *body]
        elif step.code in _INTEGERS:
            out += [VALUE, p.FIXED_SIZES[step.code], at]
        else:
            raise _NotSimpleError

    def _skip(self, step: p.Step, out: list[int]) -> None:
        if step.is_array:
            body: list[int] = []
            self._element(step, body)
            out += [ARRAY, step.compact, step.nullable, step.element_minimum, len(body), *body]
        else:
            self._element(step, out)

    def _element(self, step: p.Step, out: list[int]) -> None:
        nullable = step.nullable and not step.is_array
        if step.code == p.STRUCT:
            assert step.plan is not None
            body: list[int] = []
            for each in step.plan.steps:
                self._skip(each, body)
            if step.plan.flexible:
                body.append(TAGS)
            out += [STRUCT, len(body), *body] if nullable else body
        elif step.code == p.STRING:
            out += [TEXT, step.compact, nullable]
        elif step.code in (p.BYTES, p.RECORDS):
            out += [BYTES, step.compact, nullable]
        else:
            out += [SKIP, p.FIXED_SIZES[step.code]]


def _has(shape: p.Shape, name: str) -> bool:
    return any(slot.attribute == name for slot in shape.slots)


def _default(value: Any, name: str) -> int:
    if name in COUNTED:
        return 0
    return NULL if value is None else int(value)
