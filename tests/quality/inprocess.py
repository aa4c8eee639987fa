"""Recall of the real services in this process, quickly enough to try one weight after another.

Ingests as the evaluation through the API does (a namespace a sample, turns in order with their own speakers, sessions
and times), with the default settings; embeddings are kept on disk between runs. Used by the ablation and calibration;
numbers for the README come from `python -m tests.quality`, through the API.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import fields
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tqdm import tqdm

from memsidecar.adapters.quicktok_tokenizer import QuicktokTokenizer
from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from memsidecar.bootstrap.services import make_services
from memsidecar.bootstrap.shown import Shown as ShownMetrics
from memsidecar.bootstrap.stores import open_stores
from memsidecar.config import build
from memsidecar.domain.draft import Draft, Outcome, Request
from memsidecar.domain.events import Matrix
from memsidecar.domain.memory import Episode, Provenance, State
from memsidecar.domain.profile import Profile
from memsidecar.domain.recall import Hit, Question, Recalled, Tier
from memsidecar.domain.scope import Scope
from memsidecar.ports.models import Embedder
from memsidecar.services.remember import Wait
from tests.quality.marks import Shown, Stated, marks
from tests.quality.questions import load

USER = "user"
HITS = 20


class KeptEmbeddings:
    """An embedder whose vectors are kept in a file from run to run."""

    def __init__(self, inner: Embedder, path: Path) -> None:
        self._inner = inner
        self.model, self.dimensions, self.max_chars = inner.model, inner.dimensions, inner.max_chars
        self._rows = sqlite3.connect(path)
        self._rows.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB)")

    async def embed(self, texts: Sequence[str]) -> Matrix:
        keys = [hashlib.sha256(f"{self.model}\n{text}".encode()).digest() for text in texts]
        found = {key: self._find(key) for key in keys}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if found[key] is None}
        if missing:
            made = await self._inner.embed([*missing.values()])
            with self._rows:
                for key, row in zip(missing, made, strict=True):
                    self._rows.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (key, row.tobytes()))
                    found[key] = row
        return np.stack([row for key in keys if (row := found[key]) is not None])

    def _find(self, key: bytes) -> Matrix | None:
        row = self._rows.execute("SELECT vector FROM vectors WHERE text = ?", (key,)).fetchone()
        return np.frombuffer(row[0], dtype=np.float32) if row else None

    async def close(self) -> None:
        self._rows.close()


class InProcess:
    """The services over a data set: `async with InProcess(file, cache) as run: await run.ask(question)`."""

    def __init__(self, data: Path, cache: Path, settings: dict[str, Any] | None = None) -> None:
        self.turns, self.questions = load(data)
        self.name = data.stem
        self._cache, self._settings = cache, settings or {}
        # Sample and memory id -> the turns that the memory stands for.
        self._turns: dict[tuple[str, str], list[str]] = defaultdict(list)

    async def __aenter__(self) -> InProcess:
        self._stack = AsyncExitStack()
        folder = Path(self._stack.enter_context(TemporaryDirectory())) / "data"
        folder.mkdir()
        shown = ShownMetrics()
        config = build({"data_dir": folder, "embedding.cache_mb": 0, **self._settings})
        stores = await open_stores(config, self._stack, shown)
        inner = stores.space._embedder
        if inner is not None:
            kept = KeptEmbeddings(inner, self._cache)
            self._stack.push_async_callback(kept.close)
            stores.space._embedder = kept
        tokenizer = QuicktokTokenizer(config.tokenizer)
        sessions = RedisSessions.connect(RedisSettings(f"unix://{folder / 'none.sock'}"))  # nobody asks it
        self._stack.push_async_callback(sessions.close)
        self._services = await make_services(config, stores, sessions, tokenizer, self._stack, shown)
        for sample, turns in tqdm(self.turns.items(), desc=self.name, unit="sample", disable=None):
            for session, group in groupby(turns, key=lambda turn: turn["session"]):
                said = [turn for turn in group if turn["text"].strip()]
                drafts = [_draft(turn, session) for turn in said]
                stored = await self._services.remember(Scope(sample, USER), drafts, Wait.SEARCHABLE, Request())
                for turn, outcome in zip(said, stored.outcomes, strict=True):
                    if isinstance(outcome, Outcome):
                        self._note(sample, turn["id"], outcome)
        return self

    def _note(self, sample: str, turn: str, outcome: Outcome) -> None:
        self._turns[sample, outcome.memory.id].append(turn)
        for read in outcome.extracted:
            if isinstance(read, Outcome):
                # What an earlier turn says may have been read only now.
                said = [message for source in read.memory.provenance for message in source.messages]
                known = self._turns[sample, read.memory.id]
                known += [each for each in dict.fromkeys(said) if each not in known]

    def result(self, question: dict[str, Any], answer: Recalled) -> dict[str, Any]:
        """What the scorer takes."""
        turns = {memory: found for (sample, memory), found in self._turns.items() if sample == question["sample"]}
        return {
            "id": question["id"],
            "ranked": [turns[hit.memory.id] for hit in answer.hits if hit.memory.id in turns],
            "confidence": answer.confidence,
            **marks(map(_shown, answer.hits), turns),
        }

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def ask(
        self, question: dict[str, Any], profile: Profile | None = None, tiers: frozenset[Tier] = frozenset()
    ) -> Recalled:
        return await self._services.recall.once(
            Question(
                Scope(question["sample"], USER),
                question["question"],
                time=moment(question.get("time")),
                max_hits=HITS,
                weights=_weights(profile) if profile is not None else {},
                tiers=tiers,
            )
        )


def _shown(hit: Hit) -> Shown:
    standings = [
        Stated(each.memory_id, each.state is State.SUPERSEDED, each.superseded_by, each.counterparts)
        for each in hit.standings
    ]
    return Shown(hit.memory.id, standings, hit.counterpart_of)


def _weights(profile: Profile) -> dict[str, float]:
    """All weights of a profile; its spread is the embedder's."""
    return {field.name: getattr(profile, field.name) for field in fields(profile) if field.name != "spread"}


def _draft(turn: dict[str, Any], session: str) -> Draft:
    body = Episode(turn["text"], speaker=turn.get("speaker") or "", start_time=moment(turn.get("time")))
    return Draft(body, session=session, source=Provenance(session=session, messages=(turn["id"],)))


def moment(text: str | None) -> int | None:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000_000) if text else None


def turns_of(answer: Recalled) -> list[str]:
    """The turns that the hits stand for, best first, each once."""
    found = (turn for hit in answer.hits for source in hit.memory.provenance for turn in source.messages)
    return list(dict.fromkeys(found))


def recall_at(ranked: Sequence[str], gold: Sequence[str], k: int) -> float:
    return len({*ranked[:k]} & {*gold}) / len({*gold})


def ndcg_at_10(ranked: Sequence[str], gold: Sequence[str]) -> float:
    gained = sum(1 / math.log2(place + 2) for place, turn in enumerate(ranked[:10]) if turn in gold)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(10, len({*gold}))))


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The chance that a positive stands above a negative; equal ones count half."""
    above = sum((p > n) + 0.5 * (p == n) for p in positive for n in negative)
    return above / (len(positive) * len(negative))
