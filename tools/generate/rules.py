"""The tables of rules and thresholds in docs/inspect.md, from the registry of diagnosis rules.

Rules:
- Only the text between the two marks is generated; the rest of the page is written by hand.
- There is one table per subject of rules, and one table of thresholds with the rules that use each.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from kafkawire.inspect._diagnose.rule import SUBJECTS, built_in_rules
from kafkawire.inspect._diagnose.thresholds import Thresholds, threshold_meanings

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGIN = "<!-- Generated from the rules by `make generate`; not to be edited. -->\n"
END = "<!-- End of the generated part. -->\n"


def render_rules(page: str) -> str:
    """The page with its generated part replaced.

    >>> text = render_rules("before\\n" + BEGIN + "old" + END + "after\\n")
    >>> text.startswith("before\\n<!--"), text.endswith("-->\\nafter\\n"), "`wrong-index`" in text
    (True, True, True)
    """
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"the page has no generated part, expected {BEGIN!r} and {END!r}")
    return before + BEGIN + "\n" + "\n".join(_lines()) + "\n\n" + END + after


def _lines() -> Iterator[str]:
    for subject, title in SUBJECTS.items():
        yield f"**Rules over {title}**\n"
        yield "| rule | worst level | finds | thresholds |"
        yield "|---|---|---|---|"
        for rule in built_in_rules():
            for each in rule.declares if rule.over is subject else ():
                yield f"| `{each.id}` | {each.level} | {each.text} | {_names(each.thresholds)} |"
        yield ""
    yield "**Thresholds**, which `--set NAME=VALUE` overrides:\n"
    yield "| threshold | default | meaning | rules |"
    yield "|---|---|---|---|"
    meanings, defaults = threshold_meanings(), Thresholds()
    for threshold in fields(Thresholds):
        default = getattr(defaults, threshold.name)
        default = round(default) if default == round(default) else default
        yield f"| `{threshold.name}` | {default} | {meanings[threshold.name]} | {_users(threshold.name)} |"


def _users(threshold: str) -> str:
    declared = [each for rule in built_in_rules() for each in rule.declares]
    return _names(sorted({each.id for each in declared if threshold in each.thresholds}))


def _names(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
