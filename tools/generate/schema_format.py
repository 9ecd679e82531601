"""The canonical text of a schema.

Rules:
- Header lines in a fixed order, a blank line before each section, none elsewhere, two spaces a level.
- Words are one space apart; a comment stands two spaces behind its line, or alone at the depth of what follows.
- Formatting changes layout only: the text parses to the same schema.
"""

from __future__ import annotations

from kafkawire.messages._notation import HEADERS, SECTIONS, Line, parse, split_lines


def format_schema(text: str, place: str) -> str:
    """The text in canonical form; raises SchemaError where it is not a schema.

    >>> print(format_schema("message A\\nflexible none\\nversions 0\\nfields\\n  X:   int8", "a.msg"), end="")
    message A
    versions 0
    flexible none
    <BLANKLINE>
    fields
      X: int8
    """
    parse(text, place)
    lines = [line for line in split_lines(text, place) if line.text or line.comment]
    head, body = _split_at_first_section(lines)
    blocks = [_block(block) for block in _headers(head)]
    out = [text for block in sorted(blocks, key=lambda block: block[0]) for text in block[1]]
    pending: list[Line] = []
    for line in body:
        if not line.text:
            pending.append(line)
            continue
        if line.depth == 0:
            out.append("")
        out += ["  " * line.depth + comment.comment for comment in pending]
        pending.clear()
        out.append("  " * line.depth + line.text + (f"  {line.comment}" if line.comment else ""))
    out += [comment.comment for comment in pending]
    return "\n".join(out) + "\n"


def _split_at_first_section(lines: list[Line]) -> tuple[list[Line], list[Line]]:
    first = next(i for i, line in enumerate(lines) if line.text in SECTIONS and line.depth == 0)
    while first and not lines[first - 1].text:
        first -= 1
    return lines[:first], lines[first:]


def _headers(lines: list[Line]) -> list[list[Line]]:
    """Each header line with the comments above it."""
    blocks: list[list[Line]] = [[]]
    for line in lines:
        blocks[-1].append(line)
        if line.text:
            blocks.append([])
    return [block for block in blocks if block]


def _block(lines: list[Line]) -> tuple[int, list[str]]:
    last = lines[-1]
    rank = HEADERS.index(last.text.split(" ")[0])
    texts = [line.comment for line in lines[:-1]]
    return rank, [*texts, last.text + (f"  {last.comment}" if last.comment else "")]
