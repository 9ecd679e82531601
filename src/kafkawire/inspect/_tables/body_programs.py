"""Programs that read the columns of exchanges from bodies, without objects: one per API and version, from its plan.

Rules:
- A program is a flat list of numbers: an operation and its operands, in the order of the wire. `_bodies.pyx` runs it.
- A register has one attribute of the message. It begins with the default of the attribute, because a version without
  the field gives that value. Registers are written to their columns in the order of `body_columns`, the reference.
- A program gives up on tags, on errors that differ within a response, and on all bytes that the codec refuses. The
  reference then reads the exchange. So a program never decides on an error text.
- An API whose columns depend on more than single fields has no program.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire._codec import plan as p
from kafkawire.inspect._tables.exchange_bodies import ERRORS, REQUEST_COLUMNS, RESPONSE_COLUMNS
from kafkawire.messages import UnknownMessageError, api, compile_plan

if TYPE_CHECKING:
    from kafkawire.messages import Message

FIXED, INTEGER, TEXT, KEPT_TEXT, BYTES, ARRAY, STRUCT, ERROR, TAGS, LISTED = range(10)
NUMBERS: Final = (
    *("throttle_ms", "error_code", "acks", "generation", "producer_id", "producer_epoch", "committed"),
    *("transaction_timeout_ms", "replica_id", "max_wait_ms", "min_bytes", "isolation", "session_id", "session_epoch"),
    *("auto_create", "session_lifetime_ms", "session_size", "trailing_bytes"),
)
TEXTS: Final = ("group_id", "member_id", "instance_id", "reason", "transactional_id")
NULL: Final = -(2**63)
_FETCH: Final = 1
# ApiVersions, LeaveGroup, OffsetFetch, FindCoordinator, AddPartitionsToTxn, EndTxn, WriteTxnMarkers, and the heartbeats
# of consumer, share and streams groups
_SPECIAL: Final = frozenset({18, 13, 9, 10, 24, 26, 27, 68, 76, 88})


class Program(NamedTuple):
    """The operations of one message, and its registers."""

    operations: list[int]
    registers: list[tuple[int, int]]
    """The column of each, by its place in NUMBERS or, for texts, in TEXTS; and its default. Texts begin as null."""
    is_text: list[bool]


class Exchange(NamedTuple):
    """The programs of a request and its response."""

    request: Program
    response: Program
    has_request_tags: bool
    has_response_tags: bool
    is_fetch: bool


@cache
def exchange_program(key: int, version: int) -> Exchange | None:
    """The programs for an API and a version of it; None if the reference has to read it."""
    try:
        which = api(key)
    except UnknownMessageError:
        return None
    if version not in which.versions or key in _SPECIAL:
        return None
    request = _Compiler(which.request, version, REQUEST_COLUMNS, counts=key == _FETCH).program()
    response = _Compiler(which.response, version, RESPONSE_COLUMNS, has_errors=True).program()
    if request is None or response is None:
        return None
    return Exchange(
        request,
        response,
        which.request_header_version(version) >= 2,
        which.response_header_version(version) >= 1,
        key == _FETCH,
    )


class _Compiler:
    def __init__(
        self,
        kind: type[Message],
        version: int,
        columns: dict[str, str],
        *,
        has_errors: bool = False,
        counts: bool = False,
    ) -> None:
        self._plan: p.Plan = compile_plan(kind, version)
        self._has_errors, self._counts = has_errors, counts
        self._slots = {slot.attribute: slot for slot in kind.__shape__.slots}
        self._names = [name for name in columns if name in self._slots]
        self._columns = columns
        self._is_simple = True

    def program(self) -> Program | None:
        registers: list[tuple[int, int]] = []
        is_text = []
        for name in self._names:
            default = self._slots[name].default
            column = self._columns[name]
            text = column in TEXTS
            if not text and not isinstance(default, int):
                return None
            if text and default:
                return None
            registers.append((TEXTS.index(column) if text else NUMBERS.index(column), 0 if text else int(default)))
            is_text.append(text)
        operations = self._struct(self._plan, 0, "")
        return Program(operations, registers, is_text) if self._is_simple else None

    def _struct(self, plan: p.Plan, depth: int, owner: str) -> list[int]:
        out: list[int] = []
        for step in plan.steps:
            self._step(step, out, depth, owner)
        if plan.flexible:
            out.append(TAGS)
        if self._has_errors:
            absent = {slot.attribute: slot.default for slot in plan.shape.slots}
            if any(absent.get(name) for name in ERRORS):
                self._is_simple = False
        return out

    def _step(self, step: p.Step, out: list[int], depth: int, owner: str) -> None:
        name = step.slot.attribute
        if step.is_array:
            body: list[int] = []
            if self._counts and depth == 1 and (owner, name) == ("topics", "partitions"):
                body.append(LISTED)
            self._element(step, body, depth + 1, -1)
            out += [ARRAY, step.compact, step.nullable, step.element_minimum, len(body), *body]
            if depth == 0 and name in self._names:
                self._is_simple = False
            return
        register = self._names.index(name) if depth == 0 and name in self._names else -1
        self._element(step, out, depth, register)

    def _element(self, step: p.Step, out: list[int], depth: int, register: int) -> None:
        code = step.code
        if code == p.STRUCT:
            assert step.plan is not None
            body = self._struct(step.plan, depth, step.slot.attribute)
            if step.nullable and not step.is_array:
                out += [STRUCT, len(body)]
            out += body
        elif code == p.STRING:
            nullable = step.nullable and not step.is_array
            out += [TEXT, step.compact, nullable] if register < 0 else [KEPT_TEXT, step.compact, nullable, register]
        elif code in (p.BYTES, p.RECORDS):
            out += [BYTES, step.compact, step.nullable and not step.is_array]
        elif register >= 0:
            if code in (p.FLOAT64, p.UUID, p.UINT16, p.UINT32):
                self._is_simple = False
            out += [INTEGER, p.FIXED_SIZES[code], register]
        elif self._has_errors and step.slot.attribute in ERRORS and code == p.INT16 and not step.is_array:
            out.append(ERROR)
        else:
            size = p.FIXED_SIZES[code]
            if len(out) >= 2 and self._ends_fixed(out):
                out[-1] += size
            else:
                out += [FIXED, size]

    @staticmethod
    def _ends_fixed(out: list[int]) -> bool:
        """Whether the last operation skips bytes; operands before it are skipped by their own lengths."""
        position = 0
        lengths = {FIXED: 2, INTEGER: 3, TEXT: 3, KEPT_TEXT: 4, BYTES: 3, STRUCT: 2, ERROR: 1, TAGS: 1, LISTED: 1}
        last = -1
        while position < len(out):
            last = out[position]
            position += (
                5 + out[position + 4] if last == ARRAY else lengths[last] + (out[position + 1] if last == STRUCT else 0)
            )
        return last == FIXED
