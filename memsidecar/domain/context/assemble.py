"""Builds a context: shares the budget out, fills the sections, and puts them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memsidecar.domain.context.budget import Need, allocate
from memsidecar.domain.context.compose import Composition
from memsidecar.domain.context.extract import Extract
from memsidecar.domain.context.filling import Filled, Filling, Renderer
from memsidecar.domain.context.items import Item, Sorting, of_hit, of_memory, of_scratch
from memsidecar.domain.context.passage import Asked
from memsidecar.domain.context.render_markdown import Markdown
from memsidecar.domain.context.render_messages import Messages
from memsidecar.domain.context.render_xml import Xml
from memsidecar.domain.context.values import ORDER, Context, Count, Format, Material, Omission, Part, Reason, Wanted
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.scope import Partition
from memsidecar.domain.session import Message, Role, Window
from memsidecar.domain.tool_pairs import tool_pairs
from memsidecar.domain.window import DEFAULT_MAX_MESSAGES, LOOK_BACK, MESSAGE_OVERHEAD, stays

_RENDERERS: dict[Format, Renderer] = {
    Format.MARKDOWN: Markdown(),
    Format.XML: Xml(),
    Format.MESSAGES: Messages(),
}
_NO_WINDOW = Window((), 0, 0)
# Tokens of parts do not always add up: so many are left free by a window that is all one message.
_SPARE = 4
_UNLIMITED = 1 << 40


def assemble(wanted: Wanted, material: Material, count: Count) -> Context:
    """The context, in at most `wanted.max_tokens`. Same input, same bytes.

    The profile's share depends on neither the other sections nor the question, so that what comes before them does not
    either. Raises InvalidField when the system prompt, the messages that must stay, and the newest one at its shortest
    do not fit.
    """
    return _Assembly(wanted, material, count).run()


class _Assembly:
    def __init__(self, wanted: Wanted, material: Material, count: Count) -> None:
        self._wanted, self._material, self._count = wanted, material, count
        self._renderer = _RENDERERS[wanted.format]
        asked = Asked.of(wanted.question.text)
        self._filling = Filling(self._renderer, count, wanted.cite, wanted.max_tokens, asked)
        in_order = sorted(material.messages, key=_seq) if Part.WINDOW in wanted.shares else []
        lead = next((at for at, m in enumerate(in_order) if m.role is not Role.SYSTEM), len(in_order))
        # The prompt that the session was started with comes first, as the request's does, and only once.
        self._prompts = [m for m in in_order[:lead] if m.text and m.text != wanted.system_prompt]
        self._repeated = [m for m in in_order[:lead] if m.text and m.text == wanted.system_prompt]
        self._messages = in_order[lead:]
        # A window keeps so many messages at the most; tool calls and their results come in groups.
        newest = max(0, len(self._messages) - LOOK_BACK * DEFAULT_MAX_MESSAGES)
        self._candidates = [m for at, m in enumerate(self._messages) if at >= newest or stays(m)]
        self._hits = [of_hit(hit) for hit in material.hits]
        self._scratch = of_scratch(material.scratch)
        self._said_twice: set[int] = set()
        self._extract = None
        if Part.SUMMARY in wanted.shares:
            spoken = [m for m in sorted(material.messages, key=_seq) if m.role in (Role.USER, Role.ASSISTANT)]
            self._extract = Extract(spoken, wanted.question.text)
        self._filled: dict[Part, Filled] = {}
        self._window = _NO_WINDOW
        self._omissions: list[Omission] = [
            Omission(Reason.DUPLICATE, message_seq=message.seq) for message in self._repeated
        ]

    def run(self) -> Context:
        wanted = self._wanted
        prompts = [wanted.system_prompt] if wanted.system_prompt else []
        own = self._prompt_tokens(prompts)
        prompts += [message.text for message in self._prompts]
        everything = self._prompt_tokens(prompts)
        forced = self._filling.least_window(self._candidates) if Part.WINDOW in wanted.shares else 0
        frame = self._frame_tokens()
        needed = everything + forced + (frame if forced and self._renderer.window_is_text else 0)
        if needed > wanted.max_tokens:
            raise InvalidField(
                "max_tokens",
                f"is too small: the system prompt, the messages that must stay and the newest one at its shortest take "
                f"{needed} tokens",
            )
        is_stable = self._choose_profile(wanted.max_tokens - own - frame, everything - own + forced)
        self._choose_others(wanted.max_tokens - everything - frame, forced, frame)
        return self._composed(prompts, is_stable and not self._prompts)

    def _prompt_tokens(self, prompts: Sequence[str]) -> int:
        if self._renderer.window_is_text:
            return sum(self._count(f"{prompt}\n\n") for prompt in prompts)
        return sum(self._count(f"{prompt}\n\n") + MESSAGE_OVERHEAD for prompt in prompts)

    def _frame_tokens(self) -> int:
        """What stands around the sections, once."""
        overhead = 0 if self._renderer.window_is_text else MESSAGE_OVERHEAD
        return self._count(self._renderer.head(self._wanted.cite)) + self._count(self._renderer.tail) + overhead

    def _choose_profile(self, pot: int, forced: int) -> bool:
        """Whether the profile is what it would be in any session."""
        share = self._wanted.shares.get(Part.PROFILE)
        if share is None:
            return True
        parts = [part for part in ORDER if part in self._wanted.shares]
        full = [
            Need(max(pot, 0), self._wanted.shares[part].minimum, self._wanted.shares[part].weight) for part in parts
        ]
        limit = allocate(pot, full)[parts.index(Part.PROFILE)]
        if share.maximum is not None:
            limit = min(limit, share.maximum)
        items = [of_memory(Part.PROFILE, memory) for memory in self._material.profile]
        profile = self._filling.fill(Part.PROFILE, items, limit)
        fits = profile.tokens <= pot - forced
        self._filled[Part.PROFILE] = profile if fits else self._filling.fill(Part.PROFILE, items, pot - forced)
        return fits

    def _choose_others(self, pot: int, forced: int, frame: int) -> None:
        profile = self._filled.get(Part.PROFILE)
        if profile is not None:
            pot -= profile.tokens
        if Part.WINDOW in self._wanted.shares and self._messages:
            needs_frame = self._renderer.window_is_text or (profile is not None and profile.chosen)
            self._choose_window(pot, forced, 0 if needs_frame else frame)
        rest = pot - self._window.token_count
        items = self._items(self._window)
        limits = allocate(rest, [self._need(part, found, rest) for part, found in items.items()])
        for (part, found), limit in zip(items.items(), limits, strict=True):
            self._filled[part] = self._filling.fill(part, found, limit)
        self._use_what_is_left(rest, items)

    def _choose_window(self, pot: int, forced: int, frame: int) -> None:
        """`frame`: tokens that there are besides when nothing is recalled."""
        share = self._wanted.shares[Part.WINDOW]
        most = max(forced, pot if share.maximum is None else min(pot, share.maximum))
        newest = self._filling.window(self._candidates, most, 0)
        if newest.shortened and frame and most == max(forced, pot):
            # Rather the whole message than the frame of what is recalled, or than a frame for next to nothing.
            alone = self._filling.window(self._candidates, pot + frame, 0)
            if not alone.shortened or pot < frame:
                self._window = alone
                return
        widest = self._filling.window(self._candidates, most)
        others = [self._need(part, found, pot) for part, found in self._items(widest).items()]
        least = max(forced, min(share.minimum, widest.token_count))
        grant, *grants = allocate(pot, [Need(widest.token_count, least, share.weight), *others])
        # Messages come whole: what the others cannot use may hold one more.
        limit = max(grant, pot - sum(grants)) if share.weight > 0 else grant
        # The newest message is what the model answers: it is not cut for want of a share, but when it must be, others
        # have theirs.
        limit = limit - _SPARE if newest.shortened else max(limit, newest.token_count)
        self._window = self._filling.window(self._candidates, max(forced, min(most, limit)))

    def _need(self, part: Part, items: Sequence[Item], enough: int) -> Need:
        share = self._wanted.shares[part]
        most = self._filling.need(part, items, enough)
        return Need(most if share.maximum is None else min(most, share.maximum), share.minimum, share.weight)

    def _items(self, window: Window) -> dict[Part, list[Item]]:
        """The candidates of every wanted section but profile and window, in the order in which they are wanted."""
        profile = self._filled[Part.PROFILE].chosen if Part.PROFILE in self._filled else ()
        seen = {message.seq for message in window.messages}
        sorting = Sorting(profile, [message for message in self._candidates if message.seq in seen])
        question = self._wanted.question
        items, self._left_out = sorting(self._hits, question.min_score, question.filter.states)
        if self._extract is not None:
            # A memory says it better than an excerpt: it can be cited.
            quotable = self._extract.without(window.messages)
            items[Part.SUMMARY] = [item for item in quotable if item.message and not sorting.has(item.message.text)]
            self._said_twice = {_said(item) for item in quotable} - {_said(item) for item in items[Part.SUMMARY]}
        items[Part.SCRATCH] = self._scratch
        return {part: found for part, found in items.items() if part in self._wanted.shares}

    def _use_what_is_left(self, rest: int, items: dict[Part, list[Item]]) -> None:
        """Items come whole, so that shares have remainders: together they may hold one more."""
        for part in (Part.FACTS, Part.EPISODES, Part.SUMMARY, Part.SCRATCH):
            share = self._wanted.shares.get(part)
            if share is None or not share.weight or part not in self._filled or not self._filled[part].truncated:
                continue
            spare = rest - sum(self._filled[other].tokens for other in items if other in self._filled)
            limit = self._filled[part].tokens + spare
            limit = limit if share.maximum is None else min(limit, share.maximum)
            again = self._filling.fill(part, items[part], limit)
            if len(again.chosen) >= len(self._filled[part].chosen):
                self._filled[part] = again

    def _composed(self, prompts: Sequence[str], is_stable: bool) -> Context:
        summary = self._filled.get(Part.SUMMARY)
        if summary is not None:
            # Chosen by worth, told in order.
            pairs = sorted(zip(summary.chosen, summary.texts, strict=True), key=lambda pair: _said(pair[0]))
            chosen, texts = tuple(item for item, _ in pairs), tuple(text for _, text in pairs)
            self._filled[Part.SUMMARY] = replace(summary, chosen=chosen, texts=texts)
        composition = Composition(self._wanted, self._renderer, self._count, prompts, self._window, self._filled)
        context = composition.within(is_stable)
        return replace(context, omissions=(*self._omissions, *self._left_out, *self._dropped(composition)))

    def _dropped(self, composition: Composition) -> list[Omission]:
        """What the budget left out, what cannot be shown, and messages that have nothing to do with the question."""
        named = {_name(item) for part in ORDER for item in composition.shown(part)}
        found: list[Omission] = []
        for item in (item for part in ORDER for item in composition.dropped(part)):
            # What the profile has no room for may stand among the facts, or be missed there, too.
            if item.memory is not None and _name(item) not in named:
                named.add(_name(item))
                found.append(Omission(Reason.BUDGET, item.memory, item.score))
        if Part.WINDOW not in self._wanted.shares and Part.SUMMARY not in self._wanted.shares:
            return found
        there = {message.seq for message in self._window.messages} | set(map(_said, composition.shown(Part.SUMMARY)))
        unseen = [message.seq for message in self._messages if message.seq not in there]
        if not unseen:
            return found
        reasons = self._reasons()
        return [*found, *(Omission(reasons.get(seq, Reason.BUDGET), message_seq=seq) for seq in unseen)]

    def _reasons(self) -> dict[int, Reason]:
        """Why messages are not there that no budget would have brought in."""
        unrelated = self._extract.unrelated() if self._extract is not None else frozenset()
        # One that the window had room for in messages, if not in tokens, needed no relation to the question.
        roomy = self._filling.window(self._candidates, _UNLIMITED).messages if unrelated else ()
        reasons = dict.fromkeys(unrelated - {message.seq for message in roomy}, Reason.LOW_SCORE)
        reasons |= dict.fromkeys(self._said_twice, Reason.DUPLICATE)
        pairs = tool_pairs(self._messages)
        return reasons | {self._messages[at].seq: Reason.UNPAIRED for at in pairs.unpaired}


def _seq(message: Message) -> int:
    return message.seq


def _name(item: Item) -> tuple[Partition, str] | None:
    return (item.memory.scope.partition, item.memory.id) if item.memory is not None else None


def _said(item: Item) -> int:
    return item.message.seq if item.message is not None else 0
