"""Elements of HTML and SVG as values: the reports write them as text, and the page makes nodes of them.

Rules:
- An element never holds markup. Its texts and attributes are escaped when it is written.
- As JSON an element is a list of its tag, its attributes and its children.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Element(NamedTuple):
    """A tag with its attributes and children."""

    tag: str
    attributes: Mapping[str, str]
    children: Sequence[Element | str]


def element(tag: str, *children: Element | str, **attributes: str | float) -> Element:
    """An element. Numbers are written with at most one decimal; `class_` is `class`, and `text_anchor` `text-anchor`.

    >>> html_of(element("text", "a < b", x=4, class_="value"))
    '<text x="4" class="value">a &lt; b</text>'
    """
    named = {name.rstrip("_").replace("_", "-"): _text(value) for name, value in attributes.items()}
    return Element(tag, named, children)


def html_of(*elements: Element | str) -> str:
    """Elements as text."""
    return "".join(escape(each) if isinstance(each, str) else _html(each) for each in elements)


def _html(each: Element) -> str:
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in each.attributes.items())
    return f"<{each.tag}{attributes}>{html_of(*each.children)}</{each.tag}>"


def _text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    shown = f"{value:.1f}"
    return shown.removesuffix(".0")
