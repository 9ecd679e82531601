"""The table of options in docs/spark-topics.md, from the sets of options that the tests give to both connectors.

Rules:
- Only the text between the two marks is generated.
- Each option of ours has a row. One that is in no set, and has no reason for that, raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.interop.spark_cases import DIFFERENT, NOT_COMPARED, REFUSED_BY_BOTH, SAME_ROWS, SAME_TRIGGERS

from kafkawire.spark._topics.options import option_names

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGIN = "<!-- Generated from the comparing tests by `make generate`; not to be edited. -->\n"
END = "<!-- End of the generated part. -->\n"


def render_spark_options(page: str) -> str:
    """The page with its generated part replaced."""
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"the page has no generated part, expected {BEGIN!r} and {END!r}")
    return before + BEGIN + "\n" + "\n".join(_lines()) + "\n\n" + END + after


def _lines() -> Iterator[str]:
    batches = [options for options, _ in SAME_ROWS.values()]
    streams, refused = list(SAME_TRIGGERS.values()), list(REFUSED_BY_BOTH.values())
    yield f"Both were given {len(batches)} sets of options for batches and {len(streams)} for streams, with equal rows,"
    yield f"and {len(refused)} that both refuse.\n"
    yield "| option | batches | streams | refused | compared with Spark's connector |"
    yield "|---|---|---|---|---|"
    given = {name for options in (*batches, *streams, *refused) for name in options}
    for name in (*option_names(), *sorted(name for name in given if name.startswith("kafka."))):
        counts = [sum(name in options for options in group) for group in (batches, streams, refused)]
        shown = " | ".join(str(count or "") for count in counts)
        yield f"| `{name}` | {shown} | {_verdict(name, sum(counts), counts[0] + counts[1])} |"


def _verdict(name: str, compared: int, accepted: int) -> str:
    if not compared:
        return NOT_COMPARED[name]
    if name in NOT_COMPARED:
        raise ValueError(f"{name} is compared, but has a reason for not being compared")
    return DIFFERENT.get(name) or ("same" if accepted else "both refuse it")
