"""The command line of kafkawire in a driver's pod: `spark-submit ... local:///opt/jobs/command.py pipeline run ...`."""

from __future__ import annotations

import sys

from kafkawire.cli.main import main

sys.exit(main(sys.argv[1:]))
