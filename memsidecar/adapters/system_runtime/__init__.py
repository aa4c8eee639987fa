"""The machine's clock, ids made from it, and the process's heap."""

from memsidecar.adapters.system_runtime.clock import SystemClock
from memsidecar.adapters.system_runtime.heap import give_back
from memsidecar.adapters.system_runtime.ids import TimeOrderedIds

__all__ = ["SystemClock", "TimeOrderedIds", "give_back"]
