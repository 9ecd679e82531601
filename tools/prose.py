"""Finds sentences that the style forbids: `python -m tools.prose [FILE ...]`; without files, in the whole tree.

Rules:
- It reads docstrings, comments and texts of four words or more in Python, and pages in Markdown without their code.
- A sentence does not start with a relative clause (Who, Whoever, What, Whatever, Where, Wherever). Questions and
  headings may.
- Some words have a technical word instead: see WORDS.
- A sentence has at most LONGEST words. A list, a table row and a colon end a sentence here.
- Generated pages and the texts of Apache Kafka's own errors and settings are not ours.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST: Final = 25
ROOT: Final = Path(__file__).parents[1]
PAGES: Final = ("*.md", "docs/*.md", "docs/design/*.md", "docs/guides/*.md", "docs/reference/*.md", "examples/**/*.md")
SOURCES: Final = ("src", "examples", "tools", "tests", "torture", "benchmarks")
NOT_OURS: Final = {"SUPPORTED.md", "src/kafkawire/messages/_error_names.py", "tools/generate/stubs.py"}
FAULTY_ON_PURPOSE: Final = {"tools/prose.py", "tests/test_prose.py"}
START: Final = re.compile(r"(?:Who|Whoever|What|Whatever|Where|Wherever|Which|Whichever)\b")
COMPARATIVES: Final = "longer|more|less|later|earlier|other|better|worse|larger|such"
WORDS: Final = {
    r"told|untold": "logged, reported, sent",
    r"tells": "logs, returns, reports",
    r"goes? before": "overrides",
    r"anew": "again, or the verb: rebuilds, recreates",
    rf"(?<!here )(?:is|are|was|were) no (?!(?:{COMPARATIVES})\b)": "is not a",
    r"passed over": "skipped, ignored",
    r"held against": "compared with",
    r"an? (?:row|file|line|class|message|task|partition) an? (?:record|batch|message|command|topic|API)": "per",
}
WORDS_FOR_USERS: Final = {
    r"(?:any|every|no|some)body(?:'s)?": "the role: no client, another user, the caller",
    r"hand(?:s|ed|ing)? out": "returns, assigns, sends",
}
"""These are forbidden in the package and its pages; tests use them as names."""
NOT_FOR_USERS: Final = ("tests/", "tools/", "torture/", "benchmarks/")


def _compiled(words: dict[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(rf"\b(?:{pattern})\b" if not pattern.endswith(")") else rf"\b(?:{pattern})", re.IGNORECASE), use)
        for pattern, use in words.items()
    ]


FORBIDDEN: Final = _compiled(WORDS)
FORBIDDEN_FOR_USERS: Final = _compiled(WORDS | WORDS_FOR_USERS)


class Fault(NamedTuple):
    """A sentence, its place, and the reason why it is a fault."""

    path: Path
    line: int
    reason: str
    sentence: str


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The prose of a file, in pieces, with the line where each begins."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from _paragraphs(
            re.sub(r"```.*?```|<!--.*?-->", lambda code: "\n" * code[0].count("\n"), source, flags=re.DOTALL)
        )
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 3:
            for line, text in _paragraphs(re.sub(r"^\s*(?:>>>|\.\.\.).*$", "", node.value, flags=re.MULTILINE)):
                yield node.lineno + line - 1, text
    block: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            is_alone = token.line.lstrip().startswith("#")
            if block and not (is_alone and token.start[0] == last + 1):
                yield last - len(block) + 1, " ".join(block)
                block = []
            block.append(token.string.lstrip("# "))
            last = token.start[0]
    if block:
        yield last - len(block) + 1, " ".join(block)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, list items and table cells."""
    lines = text.splitlines()
    start, block = 0, ""
    for number, line in enumerate([*lines, ""], 1):
        stripped = line.strip()
        if not stripped or stripped.startswith(("- ", "* ", "|", "#", "!!!", ":::")) or re.match(r"\d+\. ", stripped):
            if block:
                yield start, block
            block = ""
        if stripped.startswith("|"):
            yield from ((number, cell.strip()) for cell in re.split(r"(?<!\\)\|", stripped) if cell.strip())
        elif stripped:
            start = start if block else number
            block = f"{block} {stripped}".strip()


def faults_of(path: Path) -> Iterator[Fault]:
    """The faults in the prose of a file."""
    is_ours = path.is_relative_to(ROOT) and path.relative_to(ROOT).as_posix().startswith(NOT_FOR_USERS)
    forbidden = FORBIDDEN if is_ours else FORBIDDEN_FOR_USERS
    for line, text in texts_of(path):
        is_heading = text.startswith("#") and path.suffix == ".md"
        for sentence in re.split(r"(?<=[.!?:;])(?:\*\*)?\s+", re.sub(r"^(?:[-*#]+|\d+\.)\s+", "", text)):
            bare = re.sub(r"`[^`]*`", "x", sentence)
            if START.match(bare) and not bare.rstrip().endswith("?") and not is_heading:
                yield Fault(path, line, "starts with a relative clause: name the thing", sentence)
            for pattern, use in forbidden:
                if found := pattern.search(bare):
                    yield Fault(path, line, f"{found[0].strip()!r}: say {use}", sentence)
            if len(words := bare.split()) > LONGEST and not _is_data(bare):
                yield Fault(path, line, f"{len(words)} words: split it", sentence)


def _is_data(text: str) -> bool:
    """Whether a text is code, a query, a table, or numbers, rather than a sentence."""
    words = text.split()
    if text.startswith(("SELECT ", "import ")) or sum(any(map(str.isdigit, word)) for word in words) > 8:
        return True
    return sum(not re.fullmatch(r"[\w'’(),.;:!?/*\"-]+", word) for word in words) > 5


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools.prose", description="Find sentences that the style forbids.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="Python or Markdown files (default: all)")
    named = [path.resolve() for path in parser.parse_args(arguments).files]
    found = sorted(
        {path for pattern in (*(f"{folder}/**/*.py" for folder in SOURCES), *PAGES) for path in ROOT.glob(pattern)}
    )
    count = 0
    for path in named or [each for each in found if str(each.relative_to(ROOT)) not in NOT_OURS | FAULTY_ON_PURPOSE]:
        for fault in faults_of(path):
            count += 1
            print(f"{fault.path.relative_to(ROOT)}:{fault.line}: {fault.reason}\n    {fault.sentence[:200]}")
    if count:
        print(f"{count} sentences", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
