"""The connections to the collector."""

from __future__ import annotations

from typing import Any

import requests


class ForgetfulSession(requests.Session):
    """Its errors can be told to let go of what they hold.

    The exporter keeps an error in a frame that the error's own traceback leads to. Each batch that failed would stay,
    with its spans, until a full collection, and this process hardly ever makes one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._raised: list[BaseException] = []

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:
        try:
            return super().request(*args, **kwargs)
        except Exception as error:
            self._raised.append(error)
            raise

    def forget(self) -> None:
        """Without tracebacks what was raised since the last time leads nowhere."""
        while self._raised:
            error = self._raised.pop()
            self._raised += filter(None, (error.__cause__, error.__context__))
            error.__traceback__ = error.__cause__ = error.__context__ = None
