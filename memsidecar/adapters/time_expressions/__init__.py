"""Reads the times that a text names, by a grammar of English, Chinese and the commonest words of other languages."""

from __future__ import annotations

from memsidecar.adapters.time_expressions.finder import GrammarTimeExpressions

__all__ = ["GrammarTimeExpressions"]
