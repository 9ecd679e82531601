"""`python -m tools.generate`: writes or checks the generated files."""

import sys

from tools.generate.derived import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
