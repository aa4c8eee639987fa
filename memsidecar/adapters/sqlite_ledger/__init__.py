"""The embedded ledger: one SQLite file, one writer thread, two reader threads."""

from memsidecar.adapters.sqlite_ledger.copying import Contents, check_copy, contents, copy_ledger, renew_history
from memsidecar.adapters.sqlite_ledger.cutting import cut_ledger
from memsidecar.adapters.sqlite_ledger.failures import NewerFormat
from memsidecar.adapters.sqlite_ledger.ledger import SqliteLedger
from memsidecar.adapters.sqlite_ledger.schema import FILE_NAME, FORMAT

__all__ = [
    "FILE_NAME",
    "FORMAT",
    "Contents",
    "NewerFormat",
    "SqliteLedger",
    "check_copy",
    "contents",
    "copy_ledger",
    "cut_ledger",
    "renew_history",
]
