"""The tables of options in docs/spark-topics.md, from the sets of options that the tests give to both connectors.

Rules:
- Only the text between the two marks is generated.
- Each option of ours has a row. One that is in no set, and has no reason for that, raises.
- Each set where the connectors differ has a row with both outcomes and the reason.
- Each option of Java's clients is listed as used, ignored or refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.interop.spark_cases import (
    DIFFERENT,
    DIFFERENT_ROWS,
    NOT_COMPARED,
    REFUSED,
    REFUSED_BY_BOTH,
    SAME_ROWS,
)
from tests.interop.spark_client_cases import (
    CONSUMER,
    CONTROLLED,
    IGNORED_BY_CONSUMER,
    IGNORED_BY_PRODUCER,
    IGNORED_OF_SECURITY,
    PRODUCER,
    REFUSED_OF_SECURITY,
    USED_OF_SECURITY,
)
from tests.interop.spark_stream_cases import DIFFERENT_STREAMS, REFUSED_STREAMS, SAME_TRIGGERS
from tests.interop.spark_write_cases import DIFFERENT_WRITES, REFUSED_WRITES, SAME_WRITES

from kafkawire.spark._topics.options import option_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BEGIN = "<!-- Generated from the comparing tests by `make generate`; not to be edited. -->\n"
END = "<!-- End of the generated part. -->\n"
_EITHER = {
    **dict.fromkeys(USED_OF_SECURITY, "used"),
    **dict.fromkeys(IGNORED_OF_SECURITY, "ignored with a warning"),
    **{name: f"refused: {why}" for name, why in REFUSED_OF_SECURITY.items()},
    **CONTROLLED,
}


def render_spark_options(page: str) -> str:
    """The page with its generated part replaced."""
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"the page has no generated part, expected {BEGIN!r} and {END!r}")
    return before + BEGIN + "\n" + "\n".join(_lines()) + "\n\n" + END + after


def _lines() -> Iterator[str]:
    batches = [options for options, _ in SAME_ROWS.values()]
    streams = list(SAME_TRIGGERS.values())
    writes = [write.options for write in SAME_WRITES.values()]
    refused = [*REFUSED_BY_BOTH.values(), *REFUSED_STREAMS.values()]
    refused += [write.options for write in REFUSED_WRITES.values()]
    differing = [each.options for each in (*DIFFERENT_ROWS.values(), *DIFFERENT_STREAMS.values())]
    differing += [each.write.options for each in DIFFERENT_WRITES.values()]
    groups = (batches, streams, writes, refused, differing)
    yield f"Both got {sum(map(len, groups))} sets of options. {len(batches)} batches, {len(streams)} streams and"
    yield f"{len(writes)} writes had equal rows, {len(refused)} sets were refused by both, and {len(differing)} had"
    yield "different outcomes, which are listed below.\n"
    yield "| option | batches | streams | writes | refused | different | compared with Spark's connector |"
    yield "|---|---|---|---|---|---|---|"
    of_writes = [name for options in writes for name in options if not name.startswith("kafka.")]
    for name in dict.fromkeys((*option_names(), *of_writes)):
        counts = [sum(name in options for options in group) for group in groups]
        shown = " | ".join(str(count or "") for count in counts)
        yield f"| `{name}` | {shown} | {_verdict(name, counts)} |"
    yield "\nThe sets with different outcomes, as the number of rows:\n"
    yield "| set | options | kafkawire | Spark's connector | reason |"
    yield "|---|---|---|---|---|"
    for kind, table in (("", DIFFERENT_ROWS), ("a stream: ", DIFFERENT_STREAMS)):
        for name, each in table.items():
            yield _difference(kind + name, each.options.items(), each.ours, each.theirs, each.why)
    for name, write in DIFFERENT_WRITES.items():
        yield _difference(f"a write: {name}", write.write.options.items(), write.ours, write.theirs, write.why)
    yield "\nThe options of Java's consumer and producer, each with `kafka.` before its name:\n"
    yield "| option | reading | writing |"
    yield "|---|---|---|"
    tables = ((CONSUMER, IGNORED_BY_CONSUMER), (PRODUCER, IGNORED_BY_PRODUCER))
    for name in sorted({*CONSUMER, *IGNORED_BY_CONSUMER, *PRODUCER, *IGNORED_BY_PRODUCER, *_EITHER}):
        yield f"| `{name}` | {' | '.join(_EITHER.get(name) or _use(name, *each) for each in tables)} |"


def _use(name: str, used: Iterable[str], ignored: Iterable[str]) -> str:
    return "used" if name in used else "ignored with a warning" if name in ignored else ""


def _verdict(name: str, counts: list[int]) -> str:
    if not sum(counts):
        return NOT_COMPARED[name]
    if name in NOT_COMPARED:
        raise ValueError(f"{name} is compared, but has a reason for not being compared")
    return DIFFERENT.get(name) or ("same" if sum(counts[:3]) else "both refuse it")


def _difference(name: str, options: Iterable[tuple[str, str]], ours: int, theirs: int, why: str) -> str:
    shown = ", ".join(f"`{option}={value}`" for option, value in options if value != "$topic")
    cells = [name, shown.replace("|", "\\|"), _outcome(ours), _outcome(theirs), why]
    return f"| {' | '.join(cells)} |"


def _outcome(rows: int) -> str:
    return "refused" if rows == REFUSED else str(rows)
