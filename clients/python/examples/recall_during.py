"""Memories appear beside the text while a model writes it, and one is taken back as soon as it stops being true.

python recall_during.py [--pace SECONDS] [unix:///path/to/memsidecar.sock]

Without a target it starts a sidecar of its own, for as long as it runs. A simulated model writes, unless OPENAI_MODEL
names a real one; OPENAI_BASE_URL and OPENAI_API_KEY say where. Fails when no memory came, or when the simulated model
saw none taken back; a real one may never come to the concert, of which the memory is corrected.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

import models
from margin import GREEN, Note, Page, best_page

from memsidecar_client import AsyncGeneration, AsyncMemsidecar, Episode, Hit, Item, Memory, Recalled, Retracted

REMEMBERED = (
    ("Ben", "I'm allergic to peanuts, a spoonful of peanut sauce once sent me to hospital."),
    ("林晓", "我吃素，连鱼露也不吃。"),
    ("Ana", f"The Fado concert in Alfama begins at {models.OLD_TIME}."),
    ("Ana", "豆包的膝盖不好，散步不能走远。"),
    ("Mei", "I collect old maps of Lisbon."),
    ("Ana", "My sister lives in Porto and comes for Christmas."),
)

# With so few memories a low bar is the right one; the server's own is for thousands.
MIN_CONFIDENCE = 0.15


async def play(target: str, pace: float) -> bool:
    """Whether memories came and one was taken back."""
    page = best_page()
    mine = f"recall-during-{uuid4()}"
    async with (
        AsyncMemsidecar(target, namespace=mine, user="ana", agent="chat") as memory,
        AsyncMemsidecar(target, namespace=mine, user="ana", agent="calendar") as calendar,
    ):
        await memory.ready(timeout=60)
        await memory.remember_many(Item(text, speaker=speaker) for speaker, text in REMEMBERED)
        page.write(f"❯ {models.QUESTION}\n\n")
        reader = Reader(page, calendar, pace)

        # The three lines that add recall to a loop over a model's stream:
        async with memory.generation(models.QUESTION, min_confidence=MIN_CONFIDENCE) as generation:
            reading = asyncio.create_task(reader.read(generation))
            async for chunk in generation.follow(models.stream(reader.holding, reader.correct_soon, pace)):
                # From here on it is what the loop did before.
                text = models.text_of(chunk)
                page.write(text)
                reader.written(generation.length)
            await generation.flush()
            await reader.corrected()
        await reading
        page.end()

    summary = generation.result
    assert summary is not None
    recalled, back = summary.recalled, summary.retracted
    print(f"\n{recalled} memories in {summary.evaluations} looks at the text, {back} taken back. {reader.speed()}")
    if not recalled:
        print("No memory came: the answer had nothing to do with what is remembered.")
    elif not back:
        print("None was taken back: the answer never came to the concert, whose memory is the one that is corrected.")
    return recalled > 0 and (back > 0 or models.is_real())


class Reader:
    """Shows what comes in, and knows what holds. Another client corrects one memory under its eyes."""

    def __init__(self, page: Page, calendar: AsyncMemsidecar, pace: float) -> None:
        self._page, self._calendar, self._pace = page, calendar, pace
        self._written: list[tuple[int, float]] = []
        self._notes: dict[str, Note] = {}
        self._holds: dict[str, str] = {}
        self._latencies: list[float] = []
        self._concert: asyncio.Future[Hit] = asyncio.get_running_loop().create_future()
        self._correction: asyncio.Task[None] | None = None
        self._taken_back = asyncio.Event()

    async def read(self, generation: AsyncGeneration) -> None:
        async for event in generation:
            match event:
                case Recalled(hit, trigger_seq, (_, end)):
                    self._show(hit, self._since(end) if trigger_seq else None)
                    if models.OLD_TIME in hit.memory.text and not self._concert.done():
                        self._concert.set_result(hit)
                case Retracted(name, _, successor):
                    self._page.strike(self._notes[name])
                    del self._holds[name]
                    if successor is not None:
                        self._holds[name] = successor.text
                        self._page.note("↻", "another client has just corrected it", said(successor), GREEN)
                    self._taken_back.set()

    def written(self, length: int) -> None:
        self._written.append((length, time.perf_counter()))

    def holding(self, words: str) -> bool:
        return any(words in text for text in self._holds.values())

    def correct_soon(self) -> None:
        self._correction = self._correction or asyncio.create_task(self._correct())

    async def corrected(self) -> None:
        """Waits a little for what is still on its way."""
        if self._correction is not None:
            await asyncio.wait({self._correction, asyncio.ensure_future(self._taken_back.wait())}, timeout=5)

    def speed(self) -> str:
        middle = sorted(self._latencies)[len(self._latencies) // 2] if self._latencies else 0.0
        return f"Half of them came within {middle * 1000:.0f} ms of the words."

    def _show(self, hit: Hit, latency: float | None) -> None:
        name = hit.memory.name
        if latency is not None:
            self._latencies.append(latency)
        head = "from the question" if latency is None else f"{latency * 1000:.0f} ms after the words"
        if self._holds.get(name) != hit.memory.text:  # or it was shown as the successor already
            self._notes[name] = self._page.note("●", head, said(hit.memory), GREEN)
        self._holds[name] = hit.memory.text

    def _since(self, end: int) -> float:
        """Seconds since the text up to there was written."""
        return time.perf_counter() - next((at for length, at in self._written if length >= end), time.perf_counter())

    async def _correct(self) -> None:
        memory = (await self._concert).memory
        await asyncio.sleep(50 * self._pace)
        assert isinstance(memory.body, Episode)
        body = replace(memory.body, text=memory.body.text.replace(models.OLD_TIME, models.NEW_TIME))
        await self._calendar.update_memory(replace(memory, body=body, etag=""), fields=["episode.text"])


def said(memory: Memory) -> str:
    speaker = memory.body.speaker if isinstance(memory.body, Episode) else ""
    return f"{speaker}: {memory.text}" if speaker else memory.text


@contextmanager
def sidecar() -> Iterator[str]:
    """One of its own, on a socket in a temporary directory; its target."""
    with tempfile.TemporaryDirectory(prefix="memsidecar-") as folder:
        options = {
            "data-dir": f"{folder}/data",
            "listen.socket": f"{folder}/s",
            "health.port": "0",
            "metrics.port": "0",
        }
        options |= {"listen.tcp_port": "0", "log.level": "warning"}
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        process = subprocess.Popen([sys.executable, "-m", "memsidecar", "serve", *flags])
        try:
            yield f"unix://{folder}/s"
        finally:
            process.terminate()
            process.wait()


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("target", nargs="?", default="", help="of a sidecar that runs already")
    arguments.add_argument(
        "--pace", type=float, default=0.03, help="seconds a token of the simulated model (%(default)s)"
    )
    chosen = arguments.parse_args()
    try:
        if chosen.target:
            return 0 if asyncio.run(play(chosen.target, chosen.pace)) else 1
        with sidecar() as target:
            return 0 if asyncio.run(play(target, chosen.pace)) else 1
    except models.NoModel as error:
        print(f"\nThe model did not answer. {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
