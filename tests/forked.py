"""Work in a process of its own that is killed at a chosen moment."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable


def killed_at(call: str, number: int, work: Callable[[], object]) -> bool:
    """Does the work in a child that gets SIGKILL right before its n-th `os.<call>`.

    Whether it was killed; False when it came to its end before. What it raises fails the caller.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _arm(call, number)
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def _arm(call: str, number: int) -> None:
    real, left = getattr(os, call), number

    def counted(*arguments: object, **options: object) -> object:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)

    setattr(os, call, counted)
