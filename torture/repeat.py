"""One disk or one fault again, as a broken promise names it; threads differ from run to run, so it is tried many times.

`python -m torture.repeat power SEED` and `python -m torture.repeat disks SEED "CASE"`.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from random import Random

from torture.disks import all_cases, run_case
from torture.power import run_disk
from torture.scenario import BrokenPromiseError, Stage

TRIES = 50


def main(which: str, seed: int, words: str = "") -> int:
    stage = Stage(Path(), Random(seed))
    run = partial(run_disk, seed, stage)
    if which == "disks":
        (case,) = (case for case in all_cases() if str(case) == words)
        run = partial(run_case, case, seed, stage)
    for number in range(TRIES):
        try:
            run()
        except BrokenPromiseError as broken:
            print(f"try {number + 1}\n  promised: {broken.promised}\n  found:    {broken.found}")
            return 1
    print(f"kept every promise {TRIES} times")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))
