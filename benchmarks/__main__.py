"""Run every benchmark, or the subjects named; exit with 1 where a floor does not hold."""

import sys
from importlib import import_module
from pathlib import Path

from benchmarks.report import render
from kafkawire import _native as implementation

SUBJECTS = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py") if path.stem != "report")


def main(wanted: list[str]) -> int:
    unknown = [name for name in wanted if name not in SUBJECTS]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(SUBJECTS)}", file=sys.stderr)
        return 2
    print(f"implementation: {implementation.describe()}")
    results = [render(import_module(f"benchmarks.{name}").rows()) for name in wanted or SUBJECTS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
