"""Kafka's error codes: the meaning and the exception of each, and the conversions between them.

Rules:
- Every number has an `ErrorCode`: an unknown one is UNKNOWN_SERVER_ERROR with its own number.
- An unknown name is an error of the caller; the message suggests the closest name.
- An exception's code is that of the first class in its chain that has one, as in Kafka's own servers: a class of any
  layer declares its CODE, and Python's TimeoutError and ConnectionError have their counterparts.
"""

from __future__ import annotations

import logging
from functools import cache

from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import _error_names as error_names
from kafkawire.messages._error_names import *  # noqa: F403 - its __all__ is this module's vocabulary
from kafkawire.messages._error_names import ApiError, ErrorCode, KafkaError, UnknownServerError
from kafkawire.messages._error_table import NO_EXCEPTION, table

__all__ = ["ErrorLookupError", "code_for", "error", "error_for"]
__all__ += error_names.__all__

_log = logging.getLogger("kafkawire.messages")
_PYTHON_CODES: dict[type[BaseException], ErrorCode] = {
    TimeoutError: ErrorCode.REQUEST_TIMED_OUT,
    ConnectionError: ErrorCode.NETWORK_EXCEPTION,
}


class ErrorLookupError(KafkaWireError, LookupError):
    """No error code has this name."""


def error(wanted: int | str) -> ErrorCode:
    """The error code of a number, of its own name, or of its exception's name in Java or Python.

    >>> error(35).name, error("unsupported_version").code, error("NotCoordinatorException").code
    ('UNSUPPORTED_VERSION', 35, 16)
    >>> error(31999).name, error(31999).code
    ('UNKNOWN_SERVER_ERROR', 31999)
    """
    if isinstance(wanted, int):
        return ErrorCode(wanted)
    try:
        return ErrorCode(int(wanted))
    except ValueError:
        pass
    names = _codes_by_name()
    code = names.get(_folded(wanted))
    if code is None:
        raise ErrorLookupError(f"no error code is named {wanted!r}{_suggestion(wanted)}")
    return code


def error_for(code: int, message: str | None = None) -> KafkaError:
    """The exception of a code, ready to raise. A code that is not known is logged once, and named in the message.

    >>> error_for(3)
    UnknownTopicOrPartitionError()
    >>> error_for(31999, "topic orders")
    UnknownServerError('topic orders: error code 31999 is not known', 31999)
    """
    if code == ErrorCode.NONE:
        raise ErrorLookupError("code 0 (NONE) is success; there is no exception for it")
    precise = _classes().get(code)
    if precise is not None:
        return precise(message)
    _report_unknown(code)
    unknown = f"error code {code} is not known"
    return UnknownServerError(f"{message}: {unknown}" if message else unknown, code)


@cache
def _report_unknown(code: int) -> None:
    """Log a code that the table of errors does not have; once, because a client may meet it often."""
    _log.warning("error code %d is not known: the broker is newer than this table of errors, or not Kafka", code)


def code_for(exception: BaseException) -> int:
    """The error code for this exception in a response.

    >>> code_for(TimeoutError()), code_for(KeyError("x"))
    (7, -1)
    """
    if isinstance(exception, KafkaError):
        return exception.code
    for cls in type(exception).__mro__:
        code = vars(cls).get("CODE", _PYTHON_CODES.get(cls))
        if isinstance(code, int):
            return int(code)
    return int(ErrorCode.UNKNOWN_SERVER_ERROR)


@cache
def _classes() -> dict[int, type[ApiError]]:
    found = {}
    for name in error_names.__all__:
        cls = getattr(error_names, name)
        if issubclass(cls, ApiError) and cls is not ApiError and "CODE" in vars(cls):
            found[cls.CODE] = cls
    return found


@cache
def _codes_by_name() -> dict[str, ErrorCode]:
    names = {}
    for name in error_names.__all__:
        cls = getattr(error_names, name)
        if cls is not ApiError and "CODE" in vars(cls):
            names[_folded(name)] = ErrorCode(cls.CODE)
    for row in table().values():
        names[_folded(row.name)] = names[_folded(row.exception)] = ErrorCode(row.code)
    del names[_folded(NO_EXCEPTION)]
    return names


def _folded(name: str) -> str:
    return name.strip().casefold().replace("_", "").replace("-", "").replace(" ", "")


def _suggestion(wanted: str) -> str:
    from difflib import get_close_matches  # only a mistake pays for it

    names = {_folded(row.name): row.name for row in table().values()}
    close = get_close_matches(_folded(wanted), names, n=1, cutoff=0.5)
    return f"; did you mean {names[close[0]]}?" if close else ""
