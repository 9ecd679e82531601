"""`--set NAME=VALUE`: from where on rules of the diagnosis speak up."""

from __future__ import annotations

from dataclasses import fields, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from kafkawire.cli.clients import pair
from kafkawire.cli.commands import UsageError
from kafkawire.inspect.diagnose import Thresholds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable


def add_set_option(parser: argparse.ArgumentParser) -> None:
    """Give a command --set."""
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a threshold of the rules, again for more"
    )


def read_thresholds(settings: Iterable[str]) -> Thresholds:
    """The thresholds, with those changed that were set; a name that is none is refused with the nearest.

    >>> read_thresholds(["slow_ms=200"]).slow_ms
    200.0
    """
    limits = Thresholds()
    known = [each.name for each in fields(Thresholds)]
    for setting in settings:
        name, value = pair(setting, "--set")
        if name not in known:
            close = get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(sorted(known))}"
            raise UsageError(f"--set {setting}: no threshold {name!r}{hint}")
        kind = type(getattr(limits, name))
        try:
            limits = replace(limits, **{name: kind(value)})
        except ValueError:
            raise UsageError(f"--set {setting}: expected {'a whole number' if kind is int else 'a number'}") from None
    return limits
