"""A finding as a card, as the page shows it too.

Rules:
- It names at most LISTED of the exchanges that prove it, as CONN/SEQ. Those that the document has are links.
- Rows of findings keep at most KEPT exchanges as evidence.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from kafkawire._look.elements import Element, element, html_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LISTED: Final = 12
KEPT: Final = 20
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def card_of_finding(
    finding: Mapping[str, Any],
    links: Mapping[str, str],
    place: str,
    more: Sequence[tuple[str, Element | str]] = (),
) -> str:
    """A row of findings; `links` are the places of exchanges in the document, and `more` further facts."""
    level, doubt = finding["level"], [element("span", "suspected", class_="soft")]
    facts = [element("div", element("dt", name), element("dd", value)) for name, value in (*_facts(finding), *more)]
    proof = list(_proof(finding, links))
    shown: list[Element | str] = [
        element(
            "h3",
            element("span", level, class_=f"chip {level}"),
            finding["rule"],
            *(doubt if finding["certainty"] != "proven" else ()),
        ),
        element("p", finding["text"]),
        element("p", f"\u2192 {finding['advice']}", class_="soft"),
    ]
    if facts:
        shown.append(element("dl", *facts, class_="facts"))
    if proof:
        shown.append(element("div", element("span", "proven by ", class_="soft"), *proof, class_="evidence"))
    return html_of(element("article", *shown, class_=f"card finding {level}", id=place))


def _facts(finding: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if finding["connection"]:
        yield "connection", f"{finding['conn_id']}, {finding['connection']}"
    if finding["client_id"]:
        yield "client", finding["client_id"]
    if finding["t0"] is not None:
        ends = (finding["t0"], finding["t1"] or finding["t0"])
        moments = (each if isinstance(each, datetime) else _EPOCH + timedelta(microseconds=each) for each in ends)
        first, last = (f"{each:%Y-%m-%d %H:%M:%S.%f}"[:-3] for each in moments)
        yield "time", first if first == last else f"{first} to {last[11:] if last[:10] == first[:10] else last}"


def _proof(finding: Mapping[str, Any], links: Mapping[str, str]) -> Iterator[Element | str]:
    evidence = finding["evidence"] or ()
    names = [f"{each['conn_id']}/{each['seq']}" for each in evidence[:LISTED]]
    for number, name in enumerate(names):
        yield ", " if number else ""
        yield element("a", name, href=f"#{links[name]}") if name in links else name
    total = finding["count"] if len(evidence) >= KEPT else len(evidence)
    if total > len(names):
        yield f" and {total - len(names)} more"
