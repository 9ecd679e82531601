"""Checks the front end of the page: `python -m tools.frontend`.

Rules:
- A vendored file has the SHA-256 that `vendored.json` names, and its licence lies beside it. Nothing else is there.
- Our own modules have at most LONGEST lines each, and all of ours together at most LARGEST bytes.
- Words that turn text into markup or into code do not occur. Browsers without trusted types would allow them.
- No address of another host occurs, except as the namespace of SVG.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

STATIC: Final = Path(__file__).parents[1] / "src/kafkawire/web/static"
LONGEST: Final = 300
LARGEST: Final = 180_000
FORBIDDEN: Final = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|new Function|"
    r"setAttribute\([\"']style|javascript:|srcdoc|createContextualFragment|DOMParser"
)
FOREIGN: Final = re.compile(r"(?:https?:)?//[a-z0-9-]+\.[a-z]", re.IGNORECASE)
NAMESPACE: Final = "http://www.w3.org/2000/svg"


def faults(static: Path = STATIC) -> Iterator[str]:
    """Everything that breaks a rule."""
    yield from vendored_faults(static / "vendor")
    total = 0
    for path in sorted(static.rglob("*")):
        if not path.is_file() or "vendor" in path.relative_to(static).parts:
            continue
        text = path.read_text("utf-8")
        total += len(text.encode())
        name = path.relative_to(static)
        lines = text.splitlines()
        if len(lines) > LONGEST:
            yield f"{name}: {len(lines)} lines, expected at most {LONGEST}"
        for number, line in enumerate(lines, 1):
            for word in FORBIDDEN.findall(line):
                yield f"{name}:{number}: {word} could run what data says"
            if FOREIGN.search(line.replace(NAMESPACE, "")):
                yield f"{name}:{number}: an address of another host"
    if total > LARGEST:
        yield f"our files have {total} bytes, expected at most {LARGEST}"


def vendored_faults(folder: Path) -> Iterator[str]:
    """The vendored files that differ from their list."""
    known = json.loads((folder / "vendored.json").read_text("utf-8"))
    listed = {"vendored.json"}
    for package in known:
        for name in package["licences"]:
            listed.add(name)
            if not (folder / name).is_file():
                yield f"vendor/{name}: the licence of {package['name']} is missing"
        for name, digest in package["files"].items():
            listed.add(name)
            path = folder / name
            found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "nothing"
            if found != digest:
                yield f"vendor/{name}: SHA-256 is {found}, expected {digest} of {package['name']} {package['version']}"
    yield from (f"vendor/{path.name}: not in vendored.json" for path in folder.iterdir() if path.name not in listed)


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found) or "the front end keeps its rules")
    sys.exit(1 if found else 0)
