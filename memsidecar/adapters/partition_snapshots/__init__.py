"""Snapshots of resident partitions as files."""

from memsidecar.adapters.partition_snapshots.store import SnapshotFiles

__all__ = ["SnapshotFiles"]
