"""The destinations of a trace: standard error or a file, in one of the forms.

Rules:
- A trace is named FORM or FORM:FILE. Without a file it is written to standard error.
- `1`, `2` and `3` are other names of `lines`, `trees` and `full-trees`, and `0` turns a trace off.
- Each event is appended to the file in one write, so that several clients and processes can name the same file.
"""

from __future__ import annotations

import sys
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkawire.client._trace import forms
from kafkawire.client.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.client._trace.events import Sink, TraceEvent

_FORMS: Final[dict[str, Callable[[TraceEvent], str]]] = {
    "lines": forms.line,
    "trees": forms.tree,
    "full-trees": forms.full_tree,
    "json": forms.json_line,
    "json-trees": forms.json_tree,
}
_OTHER_NAMES: Final = {"1": "lines", "2": "trees", "3": "full-trees"}
_OFF: Final = ("0", "off", "")


def sink_of(wanted: str | Sink, place: str) -> Sink | None:
    """The sink of an option: a callable as it is, or the sink that a text names; None for `off`."""
    if callable(wanted):
        return wanted
    if not isinstance(wanted, str):
        raise OptionError(f"{place}: expected a text or a callable, found {wanted!r}")
    try:
        return _named(wanted)
    except OptionError as error:
        raise OptionError(f"{place}: {error}") from error.__cause__


@cache
def _named(text: str) -> Sink | None:
    name, _, file = text.partition(":")
    if name.lower() in _OFF and not file:
        return None
    form = _FORMS.get(_OTHER_NAMES.get(name, name.lower()))
    if form is None:
        expected = ", ".join(_FORMS)
        raise OptionError(f"expected one of {expected} or off, or FORM:FILE, found {text!r}")
    if not file:
        return partial(_print, form)
    try:
        Path(file).open("ab").close()
    except OSError as error:
        raise OptionError(f"file {file!r}: {error.strerror or error}") from error
    return partial(_append, Path(file), form)


def _print(form: Callable[[TraceEvent], str], event: TraceEvent) -> None:
    sys.stderr.write(f"{form(event)}\n")
    sys.stderr.flush()


def _append(path: Path, form: Callable[[TraceEvent], str], event: TraceEvent) -> None:
    line = f"{form(event)}\n".encode("utf-8", "backslashreplace")
    with path.open("ab", buffering=0) as stream:
        stream.write(line)
