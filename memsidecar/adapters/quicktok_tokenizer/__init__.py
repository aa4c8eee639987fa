"""Counts tokens offline, as the models of OpenAI, Meta and Alibaba do."""

from __future__ import annotations

from memsidecar.adapters.quicktok_tokenizer.tokenizer import QuicktokTokenizer

__all__ = ["QuicktokTokenizer"]
