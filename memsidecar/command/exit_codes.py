"""What the process tells its caller. Documented in `memsidecar --help`; scripts and units depend on them."""

from typing import Final

OK: Final = 0
PROBLEM: Final = 1
"""doctor or verify found something, or the command failed."""
USAGE: Final = 2
"""A wrong flag or a wrong configuration, found before anything is opened: the same call fails again."""
TRY_AGAIN: Final = 75
"""EX_TEMPFAIL: the data directory is in use or a store does not answer. The same call may work later."""
INTERRUPTED: Final = 130
