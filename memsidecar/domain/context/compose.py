"""Puts filled sections together, with references, and measures the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memsidecar.domain.context.filling import Filled, Renderer
from memsidecar.domain.context.items import Item, is_experience, of_messages
from memsidecar.domain.context.values import ORDER, Citation, Context, Count, Part, Section, Wanted
from memsidecar.domain.memory import Memory
from memsidecar.domain.session import Message, Role, Window
from memsidecar.domain.window import MESSAGE_OVERHEAD

SPEAKER = "memory"
"""The name of the user message that carries recalled text."""
# Where something goes when tokens did not quite add up, the least missed first.
_EXPENDABLE = (Part.SCRATCH, Part.SUMMARY, Part.EPISODES, Part.FACTS)


class Composition:
    """`filled` are the sections that are wanted, without the window."""

    def __init__(
        self,
        wanted: Wanted,
        renderer: Renderer,
        count: Count,
        prompts: Sequence[str],
        window: Window,
        filled: Mapping[Part, Filled],
    ) -> None:
        self._wanted, self._renderer, self._count = wanted, renderer, count
        self._prompts, self._window, self._filled = prompts, window, dict(filled)

    def dropped(self, part: Part) -> Sequence[Item]:
        return self._filled[part].dropped if part in self._filled else ()

    def shown(self, part: Part) -> Sequence[Item]:
        return self._filled[part].chosen if part in self._filled else ()

    def within(self, is_stable: bool) -> Context:
        """The context without its omissions. Tokens of parts nearly always add up to those of the whole; where they do
        not, the last item of the least missed section goes."""
        while True:
            context = self._built(is_stable)
            if context.token_count <= self._wanted.max_tokens:
                return context
            part = next((p for p in _EXPENDABLE if self.shown(p)), Part.PROFILE)
            if not self.shown(part):
                return context
            is_stable = is_stable and part is not Part.PROFILE
            self._drop_last(part)

    def _drop_last(self, part: Part) -> None:
        filled = self._filled[part]
        chosen = filled.chosen[:-1]
        self._filled[part] = replace(
            filled, chosen=chosen, texts=filled.texts[:-1], dropped=(*filled.dropped, filled.chosen[-1])
        )

    def _built(self, is_stable: bool) -> Context:
        sections: list[Section] = []
        citations: list[Citation] = []
        suspicious: list[Memory] = []
        profile = recalled = ""
        for part in ORDER:
            if part is Part.WINDOW:
                body = self._window_text()
                sections += self._window_section(body)
            else:
                filled = self._filled.get(part, Filled(part))
                body = self._section_text(filled, citations)
                memories = tuple(item.memory for item in filled.chosen if item.memory is not None)
                suspicious += [item.memory for item in filled.chosen if item.suspicious and item.memory is not None]
                if body or filled.dropped:
                    sections.append(Section(part, body, self._count(body), memories, filled.truncated))
            recalled += body
            profile = body if part is Part.PROFILE else profile
        head = self._renderer.head(self._wanted.cite)
        recalled = head + recalled + self._renderer.tail if recalled else ""
        stable = head + profile if profile and is_stable else ""
        if self._renderer.window_is_text:
            text, tokens, stable_tokens = self._as_text(recalled, stable)
            messages: tuple[Message, ...] = ()
        else:
            text = ""
            messages, tokens, stable_tokens = self._as_messages(recalled, stable)
        cited = tuple(citations)
        return Context(text, messages, tuple(sections), (), tokens, stable_tokens, cited, tuple(suspicious))

    def _section_text(self, filled: Filled, citations: list[Citation]) -> str:
        if not filled.chosen:
            return ""
        learns = filled.part is Part.EPISODES and any(is_experience(item.memory) for item in filled.chosen)
        lines = [self._renderer.opening(filled.part, learns)]
        for item, text in zip(filled.chosen, filled.texts, strict=True):
            reference = ""
            if self._wanted.cite and item.memory is not None:
                reference = f"m{len(citations) + 1}"
                citations.append(Citation(reference, item.memory))
            lines.append(self._renderer.item(item, reference, text))
        return "".join([*lines, self._renderer.closing(filled.part)])

    def _window_text(self) -> str:
        messages = self._window.messages
        if not messages or not self._renderer.window_is_text:
            return ""
        lines = [self._renderer.item(item, "", item.text) for item in of_messages(Part.WINDOW, messages)]
        return "".join([self._renderer.opening(Part.WINDOW, False), *lines, self._renderer.closing(Part.WINDOW)])

    def _window_section(self, body: str) -> list[Section]:
        if Part.WINDOW not in self._wanted.shares or not (self._window.messages or self._window.omitted):
            return []
        tokens = self._count(body) if self._renderer.window_is_text else self._window.token_count
        return [Section(Part.WINDOW, body, tokens, truncated=self._window.omitted > 0 or self._window.shortened)]

    def _as_text(self, recalled: str, stable: str) -> tuple[str, int, int]:
        """(text, its tokens, those of its stable beginning)."""
        # The blank line is there also when nothing follows: it may share a token with the end of the prompt.
        text = "".join(f"{prompt}\n\n" for prompt in self._prompts) + recalled
        own = f"{self._wanted.system_prompt}\n\n" if self._wanted.system_prompt else ""
        return text, self._count(text), self._count(own + stable)

    def _as_messages(self, recalled: str, stable: str) -> tuple[tuple[Message, ...], int, int]:
        """(messages, their tokens, those of their stable beginning), each message with its overhead."""
        made: list[Message] = []
        own = self._wanted.system_prompt
        if self._wanted.recalled_as_system:
            whole = "\n\n".join([*self._prompts, *([recalled] if recalled else [])])
            made += [self._made(Role.SYSTEM, whole)] if whole else []
            start = [f"{own}\n\n{stable}" if own and stable else own or stable]
        else:
            made += [self._made(Role.SYSTEM, prompt) for prompt in self._prompts]
            made += [self._made(Role.USER, recalled, SPEAKER)] if recalled else []
            start = [own, stable]
        tokens = sum(message.token_count + MESSAGE_OVERHEAD for message in made) + self._window.token_count
        stable_tokens = sum(self._count(text) + MESSAGE_OVERHEAD for text in start if text)
        return (*made, *self._window.messages), tokens, stable_tokens

    def _made(self, role: Role, text: str, name: str = "") -> Message:
        return Message(role, text, token_count=self._count(text), name=name)
