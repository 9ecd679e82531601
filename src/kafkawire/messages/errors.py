"""Kafka's error codes: what each means, its exception, and the way from one to the other.

Rules:
- A number always has an `ErrorCode`: one that is not known is UNKNOWN_SERVER_ERROR and keeps its number.
- A name that is not known is a mistake of the caller, and the error names the nearest.
- An exception's code is that of the first class in its chain that has one, as in Kafka's own servers: a class of any
  layer takes part by declaring CODE, and Python's TimeoutError and ConnectionError have their counterparts.
"""

from __future__ import annotations

from functools import cache

from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import error_names
from kafkawire.messages.error_names import *  # noqa: F403 - its __all__ is this module's vocabulary
from kafkawire.messages.error_names import ApiError, ErrorCode, KafkaError, UnknownServerError
from kafkawire.messages.error_roots import NO_EXCEPTION, table

__all__ = ["ErrorLookupError", "code_for", "error", "error_for"]
__all__ += error_names.__all__

_PYTHON_CODES: dict[type[BaseException], ErrorCode] = {
    TimeoutError: ErrorCode.REQUEST_TIMED_OUT,
    ConnectionError: ErrorCode.NETWORK_EXCEPTION,
}


class ErrorLookupError(KafkaWireError, LookupError):
    """No error code answers to the name that was given."""


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
    """The exception of a code, ready to raise.

    >>> error_for(3)
    UnknownTopicOrPartitionError()
    >>> error_for(31999).code
    31999
    """
    if code == ErrorCode.NONE:
        raise ErrorLookupError("code 0 (NONE) is success; there is no exception for it")
    precise = _classes().get(code)
    return UnknownServerError(message, code) if precise is None else precise(message)


def code_for(exception: BaseException) -> int:
    """The code that tells a client of this exception.

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
