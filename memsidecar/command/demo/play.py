"""Plays the story through the public client, asks the questions, prints what came back and why."""

from __future__ import annotations

import time
from datetime import timedelta

from memsidecar.command.demo.conversation import ASKED_AT, QUESTIONS, TALKS, USER, Question

SHOWN = 3
# Signals below this are summed up.
WORTH_SAYING = 0.01


async def play(target: str) -> bool:
    """True when every question found what it expects among the memories shown."""
    # Imported here: the server can be installed without the client.
    from memsidecar_client import AsyncMemsidecar

    async with AsyncMemsidecar(target, namespace="demo", user=USER) as client:
        info = await client.ready()
        print(f"memsidecar {info.version}  ·  embedder {info.embedding_model}  ·  graph {info.graph_engine}\n")
        await _remember(client)
        answers = [await _ask(client, question) for question in QUESTIONS]
        print(f"{sum(answers)} of {len(answers)} questions found their memory among the first {SHOWN}.")
    return all(answers)


async def _remember(client: object) -> None:
    from memsidecar_client import AsyncMemsidecar, Item

    assert isinstance(client, AsyncMemsidecar)
    started = time.perf_counter()
    total = 0
    for talk in TALKS:
        print(f"── {talk.day:%d %B %Y}, session {talk.session!r}")
        items = []
        for minute, (speaker, text) in enumerate(talk.turns):
            print(f"   {speaker:>9}: {text}")
            items.append(Item(text, speaker=speaker, time=talk.day + timedelta(minutes=minute)))
        await client.remember_many(items, session=talk.session)
        total += len(items)
    print(f"\nRemembered {total} turns in {(time.perf_counter() - started) * 1000:.0f} ms, durable and searchable.\n")


async def _ask(client: object, question: Question) -> bool:
    from memsidecar_client import AsyncMemsidecar

    assert isinstance(client, AsyncMemsidecar)
    started = time.perf_counter()
    answer = await client.recall(question.text, time=ASKED_AT, max_hits=SHOWN, explain=True)
    elapsed = (time.perf_counter() - started) * 1000
    print(f"❓ {question.text}   ({elapsed:.1f} ms, confidence {answer.confidence:.2f})")
    found = False
    for hit in answer.hits:
        right = question.expects in hit.text
        found = found or right
        print(f"   {'✓' if right else ' '} {hit.score:.3f}  {hit.text}")
        if hit.explanation is not None:
            parts = sorted(hit.explanation.components, key=lambda c: -c.contribution)
            said = [c for c in parts if c.contribution >= WORTH_SAYING]
            others = hit.score - sum(c.contribution for c in said)
            why = " + ".join(f"{c.signal} {c.contribution:.3f}" for c in said)
            why += f" + others {others:.3f}" if others >= 0.0005 else ""
            path = f"  via {', '.join(hit.explanation.path)}" if hit.explanation.path else ""
            print(f"            = {why}{path}")
    print()
    return found
