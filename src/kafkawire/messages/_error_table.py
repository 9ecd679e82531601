"""The table of Kafka's error codes, and the base classes of the generated names.

Rules:
- schemas/errors.tsv is the only source of facts; it is read once, on first use.
- A code that the table does not have is UNKNOWN_SERVER_ERROR in every respect but its number.
- An exception can be pickled: the arguments it keeps are those that build it again.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import ClassVar, NamedTuple, Self

from kafkawire.exceptions import KafkaWireError
from kafkawire.messages._schema_files import SCHEMAS

UNKNOWN = -1
NO_EXCEPTION = "-"


class Facts(NamedTuple):
    """A row of the table; `exception` and `ancestors` are the names in Java."""

    code: int
    name: str
    retriable: bool
    refresh_metadata: bool
    exception: str
    ancestors: tuple[str, ...]
    meaning: str


@cache
def table() -> dict[int, Facts]:
    """Every code with its facts, in the order of the codes."""
    source = SCHEMAS / "errors.tsv"
    rows = {}
    for line in source.read_text(encoding="utf-8").splitlines()[1:]:
        code, name, retriable, refresh, exception, ancestors, meaning = line.split("\t")
        chain = tuple(ancestors.split(" < ")) if ancestors != NO_EXCEPTION else ()
        rows[int(code)] = Facts(int(code), name, retriable == "yes", refresh == "yes", exception, chain, meaning)
    return rows


def facts_of(code: int) -> Facts:
    """The facts of a code, known or not.

    >>> facts_of(3).name, facts_of(31999).name, facts_of(31999).code
    ('UNKNOWN_TOPIC_OR_PARTITION', 'UNKNOWN_SERVER_ERROR', 31999)
    """
    known = table().get(code)
    if known is not None:
        return known
    meaning = f"The broker sent code {code}, which is newer than this table of codes."
    return table()[UNKNOWN]._replace(code=code, meaning=meaning)


class CodeRoot(IntEnum):
    """The properties of every `ErrorCode`."""

    @property
    def code(self) -> int:
        """The number on the wire."""
        return int(self)

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later."""
        return facts_of(self).retriable

    @property
    def refresh_metadata(self) -> bool:
        """Whether the client must refresh its metadata before it retries."""
        return facts_of(self).refresh_metadata

    @property
    def meaning(self) -> str:
        """The meaning and the remedy, in one line."""
        return facts_of(self).meaning

    @property
    def exception(self) -> str:
        """The exception that Java clients raise for it, as their logs show it; '-' for NONE."""
        return facts_of(self).exception

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_ = facts_of(UNKNOWN).name
        member._value_ = int(value)
        return member


class KafkaError(KafkaWireError):
    """An error that Kafka's protocol has a code for.

    `error_for(code)` returns an instance of the precise class; this one holds any code.

    >>> str(KafkaError(35, "Fetch v99"))
    'UNSUPPORTED_VERSION (35): Fetch v99'
    """

    CODE: ClassVar[int]
    code: int
    message: str | None

    def __init__(self, code: int, message: str | None = None) -> None:
        super().__init__(code, message)
        self.code = int(code)
        self.message = message

    @property
    def name(self) -> str:
        """The code's name, such as NOT_COORDINATOR."""
        return facts_of(self.code).name

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later."""
        return facts_of(self.code).retriable

    @property
    def refresh_metadata(self) -> bool:
        """Whether the client must refresh its metadata before it retries."""
        return facts_of(self.code).refresh_metadata

    def __str__(self) -> str:
        return f"{self.name} ({self.code}): {self.message or facts_of(self.code).meaning}"


class ApiError(KafkaError):
    """An error whose class has its code; the classes between this one and those with a code are for `except`."""

    CODE = UNKNOWN

    def __init__(self, message: str | None = None) -> None:
        super().__init__(self.CODE, message)
        self.args = () if message is None else (message,)
