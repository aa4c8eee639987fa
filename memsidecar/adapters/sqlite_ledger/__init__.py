"""The embedded ledger: one SQLite file, one writer thread, two reader threads."""

from memsidecar.adapters.sqlite_ledger.failures import NewerFormat
from memsidecar.adapters.sqlite_ledger.ledger import SqliteLedger

__all__ = ["NewerFormat", "SqliteLedger"]
