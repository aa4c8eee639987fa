"""One heap for all threads."""

import subprocess
import sys

import pytest

_PROGRAM = """
import ctypes, threading
from memsidecar.command.allocator import share_one_heap

share_one_heap()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
kept = []
together = threading.Barrier(4)


def allocate():
    together.wait()
    kept.append(libc.malloc(10_000))


threads = [threading.Thread(target=allocate) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.malloc_stats()
"""


@pytest.mark.parametrize(("environment", "one"), [({}, True), ({"MALLOC_ARENA_MAX": "8"}, False)])
def test_threads_share_one_heap_unless_the_environment_says_otherwise(environment: dict[str, str], one: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True, check=True, timeout=30
    )
    if "Arena 0" not in done.stderr:
        return  # another C library
    assert ("Arena 1" not in done.stderr) is one
