"""Generations of users whose memory is written, corrected, deleted, purged and expires meanwhile.

They are short and long, feed, flush, rewind and give feedback, and are finished, remembered, abandoned or cancelled.
`Followed` checks each of them; those of `RawGeneration` do without the client.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import uuid4

from memsidecar_client import (
    AsyncGeneration,
    AsyncMemsidecar,
    Body,
    Episode,
    Fact,
    FeedbackKind,
    InvalidArgument,
    Memory,
    MemoryOrder,
    MemsidecarError,
)

from tests.soak.followed import Followed
from tests.soak.raw_generation import RawGeneration
from tests.soak.worker import PASSING, Soak

WRITTEN = ("mia", "小王")
# Their memory is written by the watches.
READ = ("ann", "北京")
CLIENTS = 5
# Memories that are kept; older ones are purged.
KEPT = 60
# Seconds that it may take; a flush goes through a restart.
FLUSH_SECONDS = 60.0
SHORTEST, LONGEST = 0.2, 3.0
LASTING_SHORTEST, LASTING_LONGEST = 20.0, 60.0

_TASKS = "memsidecar-generation"
_ENGLISH = (
    ("Mia", "Oscar", "Doctor Grey", "Priya"),
    ("blue umbrella", "brass telescope", "spare bicycle", "cello"),
    ("attic", "harbour office", "greenhouse", "library"),
)
_CHINESE = (("小王", "李医生", "张伟"), ("雨伞", "望远镜", "自行车", "大提琴"), ("阁楼", "码头", "温室", "图书馆"))


class _Abandoned(Exception):
    """Something else has failed, and the generation is left by it."""


@dataclass
class _User:
    """`said` are texts that were written of late, whatever has become of them."""

    name: str
    count: int = 0
    said: deque[str] = field(default_factory=lambda: deque(maxlen=40))
    living: list[Memory] = field(default_factory=list)
    over: deque[str] = field(default_factory=deque)

    def sentence(self, dice: random.Random) -> str:
        self.count += 1
        if dice.random() < 0.5:
            who, thing, place = map(dice.choice, _ENGLISH)
            return f"{who} keeps {thing} {self.count} in the {place}."
        who, thing, place = map(dice.choice, _CHINESE)
        return f"{who}把第{self.count}号{thing}放在{place}。"


class Generations:
    def __init__(self) -> None:
        self._users = [_User(name) for name in (*WRITTEN, *READ)]
        self._writes = self._opened = self._finished = self._left = self._unknown = 0
        self._recalled = self._retracted = self._resumed = self._checks = self._raw = 0

    async def run(self, soak: Soak) -> None:
        async with asyncio.TaskGroup() as tasks:
            for user in self._users[: len(WRITTEN)]:
                tasks.create_task(self._write(soak, user))
            for number in range(CLIENTS):
                tasks.create_task(self._use(soak, number))
            tasks.create_task(self._use_raw(soak))
        left = [name for task in asyncio.all_tasks() if (name := task.get_name()).startswith(_TASKS)]
        soak.expect(not left, f"the client has left tasks: {left}")
        soak.expect(self._recalled > 0, "no generation was sent anything")

    def progress(self) -> str:
        return (
            f"{self._opened} generations ({self._finished} finished, {self._left} left, {self._unknown} unknown, "
            f"{self._resumed} resumed) and {self._raw} raw ones, "
            f"{self._recalled} memories, {self._retracted} retracted, {self._checks} checks"
        )

    async def _write(self, soak: Soak, user: _User) -> None:
        dice = random.Random(f"{soak.seed} write {user.name}")
        while await soak.pause(dice.uniform(0.0, 0.1)):
            await self._one_write(soak, user, dice)
            self._writes += 1

    async def _one_write(self, soak: Soak, user: _User, dice: random.Random) -> None:
        client, request_id, text, draw = soak.client, str(uuid4()), user.sentence(dice), dice.random()
        if len(user.over) > KEPT:
            name = user.over.popleft()
            await soak.answered(lambda: client.delete_memory(name, purge=True, request_id=request_id))
        elif len(user.living) < KEPT // 2 or (draw < 0.5 and len(user.living) < KEPT):
            ends = dice.random() < 0.2
            ttl = timedelta(seconds=dice.uniform(1.0, 6.0)) if ends else None
            fresh = Memory(dice.choice((Fact, Episode))(text), ttl=ttl)
            made = await soak.answered(lambda: client.create_memory(fresh, user=user.name, request_id=request_id))
            if made is not None:
                user.said.append(text)
                if ends:
                    user.over.append(made.memory.name)
                else:
                    user.living.append(made.memory)
        else:
            place = dice.randrange(len(user.living))
            what = user.living.pop(place)
            if draw < 0.75:
                body, path = _saying(what.body, text)
                corrected = Memory(body, name=what.name)
                written = await soak.answered(
                    lambda: client.update_memory(corrected, fields=[path], request_id=request_id)
                )
                user.said.append(text)
                user.living += [written.memory] if written is not None else []
            else:
                purge = draw < 0.85
                await soak.answered(lambda: client.delete_memory(what.name, purge=purge, request_id=request_id))
                user.over.extend([] if purge else [what.name])

    async def _use(self, soak: Soak, number: int) -> None:
        dice = random.Random(f"{soak.seed} use {number}")
        async with AsyncMemsidecar(soak.sidecar.target, timeout=30) as client:
            while not soak.stop.is_set():
                user = dice.choice(self._users)
                cancelled = dice.uniform(0.0, 1.0) if dice.random() < 0.1 else None
                try:
                    async with asyncio.timeout(cancelled):
                        await self._generate(soak, client, user, dice)
                except (_Abandoned, TimeoutError):
                    self._left += 1
                tasks = sum(task.get_name().startswith(_TASKS) for task in asyncio.all_tasks())
                soak.expect(tasks <= 2 * CLIENTS, f"the client has {tasks} tasks")

    async def _use_raw(self, soak: Soak) -> None:
        dice = random.Random(f"{soak.seed} raw")
        while await soak.pause(dice.uniform(0.0, 0.2)):
            user = dice.choice(self._users)
            raw = RawGeneration(soak, user.name)
            await raw.run([self._mention(user, dice) for _ in range(dice.randint(1, 20))], dice)
            self._raw += 1
            self._recalled += raw.hits
            self._retracted += raw.retracted

    async def _generate(self, soak: Soak, client: AsyncMemsidecar, user: _User, dice: random.Random) -> None:
        if user.name in READ:
            await self._read(soak, user)
        prompt = dice.choice(("", self._mention(user, dice)))
        known = dice.sample(user.living, 2) if len(user.living) > 2 and dice.random() < 0.3 else []
        followed = Followed(soak, user.name, prompt, known)
        generation = client.generation(
            prompt,
            user=user.name,
            known=known,
            min_confidence=dice.choice((None, 0.05)),
            initial_credit=dice.choice((None, 2)),
            max_total_hits=dice.choice((0, 1000)),
            explain=True,
            on_event=followed.note if dice.random() < 0.5 else None,
        )
        followed.generation = generation
        opened = finishing = False
        remember = user.name in WRITTEN and dice.random() < 0.1
        try:
            async with generation:
                opened = True
                self._opened += 1
                await self._live(soak, followed, user, dice)
                if dice.random() < 0.15:
                    raise _Abandoned
                await self._flush(followed, dice)
                finishing = True
                summary = await generation.finish(remember=remember, timeout=FLUSH_SECONDS)
                followed.finished(summary)
                user.over.extend(summary.remembered)
                self._finished += 1
        except MemsidecarError as error:
            unknown = error.code in PASSING and (not opened or (finishing and remember))
            soak.expect(unknown, f"a generation failed: {error.code} {error.reason} {error}")
            self._unknown += 1
        finally:
            self._recalled += followed.recalled
            self._retracted += followed.retracted
            self._resumed += followed.resumed

    async def _live(self, soak: Soak, followed: Followed, user: _User, dice: random.Random) -> None:
        lasting = dice.random() < 0.2
        seconds = dice.uniform(LASTING_SHORTEST, LASTING_LONGEST) if lasting else dice.uniform(SHORTEST, LONGEST)
        until = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < until and not soak.stop.is_set():
            draw = dice.random()
            if draw < 0.75:
                for piece in _pieces(self._mention(user, dice), dice):
                    await followed.feed(piece)
                    await asyncio.sleep(dice.uniform(0.0, 0.02))
            elif draw < 0.85:
                await self._flush(followed, dice)
            elif draw < 0.93:
                await followed.rewind(dice)
            elif user.name in WRITTEN and followed.held:
                await _judge(soak, followed.generation, dice.choice(list(followed.held)), dice)
            if dice.random() < 0.5:
                followed.drain()

    async def _flush(self, followed: Followed, dice: random.Random) -> None:
        await followed.generation.flush(timeout=FLUSH_SECONDS)
        await followed.check(dice)
        self._checks += 1

    async def _read(self, soak: Soak, user: _User) -> None:
        """What others have written of late."""
        pages = soak.client.list_memories(user=user.name, order=MemoryOrder.NEWEST_FIRST, page_size=20)
        page = await soak.answered(pages.next_page)
        user.said.extend(memory.text[:60] for memory in page or ())

    def _mention(self, user: _User, dice: random.Random) -> str:
        """What somebody might write, and often a memory is about it."""
        about = dice.choice(list(user.said)) if user.said and dice.random() < 0.9 else user.sentence(dice)
        return dice.choice(("As far as I know: ", "我记得，", "")) + about + dice.choice((" ", "\n"))


async def _judge(soak: Soak, generation: AsyncGeneration, name: str, dice: random.Random) -> None:
    try:
        await generation.feedback(name, dice.choice((FeedbackKind.USED, FeedbackKind.IGNORED)))
    except InvalidArgument:
        pass  # it has been purged
    except MemsidecarError as error:
        soak.expect(error.code in PASSING, f"feedback failed: {error.code} {error.reason} {error}")


def _saying(body: Body, text: str) -> tuple[Body, str]:
    if isinstance(body, Episode):
        return replace(body, text=text), "episode.text"
    assert isinstance(body, Fact)
    return replace(body, statement=text), "fact.statement"


def _pieces(text: str, dice: random.Random) -> list[str]:
    """As a model gives them: some code points each."""
    pieces, start = [], 0
    while start < len(text):
        size = dice.randint(1, 12)
        pieces.append(text[start : start + size])
        start += size
    return pieces
