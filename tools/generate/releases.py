"""docs/protocol/releases.md: the versions of every API in the releases of Apache Kafka, and the changes by release."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from kafkawire.messages.releases import api_name, differences, release_names, versions_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_COLUMNS = 9
_INTRODUCTION = """\
The versions of each API in the client library of each release of Apache Kafka. The newest patch release counts, and
versions that are marked as unstable do not. A client and a broker use the highest version that both have. Kafka 4
removed the versions before Kafka 2.1 (KIP-896).

`kafkawire api matrix` prints this table. `kafkawire api matrix --between 3.9 4.4` prints the difference between two
releases. `kafkawire compat HOST:PORT` compares a broker with a release.
"""


def render_releases() -> str:
    """The page, without its first line."""
    names = release_names()
    lines = ["# Releases of Apache Kafka\n", _INTRODUCTION]
    for start in range(0, len(names), _COLUMNS):
        chosen = names[start : start + _COLUMNS]
        lines += [f"## {chosen[0]} to {chosen[-1]}\n", *_table(chosen), ""]
    lines.append("## Changes by release\n")
    for before, after in pairwise(names):
        changes = differences(versions_in(before), versions_in(after))
        words = [f"{each.name} {'removed' if each.after is None else each.after}" for each in changes]
        lines.append(f"- **{after}**: {', '.join(words) or 'none'}.")
    return "\n".join(lines) + "\n"


def _table(names: Sequence[str]) -> Iterator[str]:
    yield f"| key | API | {' | '.join(names)} |"
    yield "|---|---|" + "---|" * len(names)
    for key in sorted({key for name in names for key in versions_in(name)}):
        cells = (str(versions_in(name).get(key, "")) for name in names)
        yield f"| {key} | {api_name(key)} | {' | '.join(cells)} |"
