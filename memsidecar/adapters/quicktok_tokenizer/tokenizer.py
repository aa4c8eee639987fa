"""The Tokenizer over quicktok's bundled vocabularies."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from memsidecar.adapters.quicktok_tokenizer.estimate import estimate
from memsidecar.adapters.quicktok_tokenizer.names import ESTIMATE, encoding_of, is_model_name
from memsidecar.domain.errors import TokenizerUnknown

_log = logging.getLogger(__name__)

VOCABULARIES = {"o200k": "o200k_base", "cl100k": "cl100k_base", "llama3": "llama3", "qwen3": "qwen3"}
"""Our names and quicktok's."""


class QuicktokTokenizer:
    """Exact counts for o200k, cl100k, llama3 and qwen3; `estimate` is a formula.

    Where quicktok has no wheel, every known name stands for `estimate`, and `names` says so. A vocabulary takes about
    half a second and 60 MB when it is first used: `load` those that are expected, in a thread, before serving.
    """

    def __init__(self, fallback: str = "o200k") -> None:
        """Raises TokenizerUnknown for a fallback that is no encoding."""
        self._counters: dict[str, Callable[[str], int]] = {ESTIMATE: estimate}
        self._loading = threading.Lock()
        try:
            import quicktok
        except ImportError:
            _log.warning("quicktok is not installed: token counts are estimates")
            self._open: Callable[[str], Callable[[str], int]] | None = None
            available: tuple[str, ...] = (ESTIMATE,)
        else:
            self._open = lambda vocabulary: quicktok.get_encoding(vocabulary).count
            available = (*VOCABULARIES, ESTIMATE)
        encoding = encoding_of(fallback)
        if encoding is None:
            raise TokenizerUnknown(fallback, available)
        first = encoding if encoding in available else ESTIMATE
        self._names = (first, *(name for name in available if name != first))

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def load(self, *encodings: str) -> None:
        """Blocks until these encodings, and the fallback, count in microseconds."""
        for encoding in (self._names[0], *map(self.resolve, encodings)):
            self._counter(encoding)

    def resolve(self, name: str) -> str:
        """See the port. An encoding or one of its aliases (`o200k_base`) is itself; a model of a known family has the
        family's (`openai/gpt-4o-mini` o200k, `gpt-4` cl100k, `meta-llama/Llama-3.1-8B` llama3, `qwen2.5-7b` qwen3); any
        other name with a `-`, `/` or `:` in it is an unknown model, and gets the fallback. What is left, one word that
        is no encoding, is TokenizerUnknown: a spelling mistake must not change counts in silence.
        """
        if not name:
            return self._names[0]
        encoding = encoding_of(name)
        if encoding is not None:
            return encoding if encoding in self._names else ESTIMATE
        if is_model_name(name):
            return self._names[0]
        raise TokenizerUnknown(name, self._names)

    def count(self, text: str, encoding: str = "") -> int:
        """See the port. `<|endoftext|>` and the like in a text are counted as the letters they are."""
        return self._counter(self.resolve(encoding))(text)

    def _counter(self, encoding: str) -> Callable[[str], int]:
        counter = self._counters.get(encoding)
        if counter is None:
            with self._loading:
                counter = self._counters.get(encoding) or self._opened(encoding)
                self._counters[encoding] = counter
        return counter

    def _opened(self, encoding: str) -> Callable[[str], int]:
        assert self._open is not None, "resolve() names only what is there"
        raw = self._open(VOCABULARIES[encoding])

        def count(text: str) -> int:
            try:
                return raw(text)
            except (TypeError, UnicodeError):  # a lone surrogate, which has no bytes to count
                return raw(text.encode("utf-8", "replace").decode())

        return count
