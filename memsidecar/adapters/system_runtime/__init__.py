"""The machine's clock, and ids made from it."""

from memsidecar.adapters.system_runtime.clock import SystemClock
from memsidecar.adapters.system_runtime.heap import keep_heaps_few
from memsidecar.adapters.system_runtime.ids import TimeOrderedIds

__all__ = ["SystemClock", "TimeOrderedIds", "keep_heaps_few"]
