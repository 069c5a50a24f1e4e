"""The command `hippocrene`: the same program that `cargo install` makes."""

from __future__ import annotations

import signal
import sys

from hippocrene import _native


def main() -> int:
    """Run the command with this process's arguments and return its exit status."""
    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # Python's own handler would wait for the command to end.
    # There is none where it was closed when Python began.
    return _native.run_command(["hippocrene", *sys.argv[1:]], sys.stdout is None)


if __name__ == "__main__":
    sys.exit(main())
