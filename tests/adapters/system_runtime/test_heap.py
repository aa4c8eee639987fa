"""Freed memory goes back to the system."""

import subprocess
import sys

_PROGRAM = """
import ctypes
from memsidecar.adapters.system_runtime import give_back

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]


def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096


blocks = [libc.malloc(16_384) for _ in range(4_000)]
for block in blocks:
    ctypes.memset(block, 1, 16_384)
for block in blocks[:-1]:  # the last one keeps the heap as long as it is
    libc.free(block)
before = resident()
give_back()
print(before - resident())
"""


def test_pages_between_what_is_still_used_are_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True, timeout=30)
    assert int(done.stdout) > 50 << 20
