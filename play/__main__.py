"""`python -m play`: see `play.cli`."""

import sys

from play.cli import main

if __name__ == "__main__":
    sys.exit(main())
