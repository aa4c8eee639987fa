"""The machine's clock, and ids made from it."""

from memsidecar.adapters.system_runtime.clock import SystemClock
from memsidecar.adapters.system_runtime.ids import TimeOrderedIds

__all__ = ["SystemClock", "TimeOrderedIds"]
