"""One process at a time owns the data directory."""

from memsidecar.adapters.data_directory.aside import set_aside
from memsidecar.adapters.data_directory.directory import FORMAT, DataDirectory, format_of, owner_of
from memsidecar.adapters.data_directory.restoring import Restoring, is_unfinished
from memsidecar.adapters.data_directory.usage import DiskUsage

__all__ = ["FORMAT", "DataDirectory", "DiskUsage", "Restoring", "format_of", "is_unfinished", "owner_of", "set_aside"]
