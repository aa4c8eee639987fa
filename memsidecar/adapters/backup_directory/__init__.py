"""A backup: a directory with copies of what cannot be derived, and a manifest that says what they must be."""

from memsidecar.adapters.backup_directory.manifest import FORMAT, Manifest, StoredFile, read_manifest
from memsidecar.adapters.backup_directory.reading import copy_out
from memsidecar.adapters.backup_directory.writing import BackupWriter

__all__ = ["FORMAT", "BackupWriter", "Manifest", "StoredFile", "copy_out", "read_manifest"]
