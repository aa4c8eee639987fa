"""Who holds an office: "Bob is the CEO of Acme", 李明是华星的董事长. One person at a time: another one succeeds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memsidecar.domain.attributes import attribute_of
from memsidecar.domain.claims import Claim, Manner, Span
from memsidecar.domain.extraction.guard import is_believed
from memsidecar.domain.extraction.masking import masked
from memsidecar.domain.memory import Kind

OFFICES = frozenset("ceo cto cfo coo president chair mayor prime_minister principal".split())
"""Their attributes."""
MAX_READ = 20_000
_HELD = re.compile(
    r"(?:^|(?<=[.!?\n]\s)|(?<=[.!?\n]))(?P<who>[A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+){0,3})"
    r"\s(?P<how>is|was\snamed|was\sappointed|has\sbeen\sappointed|became|has\sbecome|took\sover\sas)"
    r"(?P<new>\snow)?(?:\sthe)?(?P<newly>\snew)?(?:\scurrent)?"
    r"\s(?P<office>CEO|CTO|CFO|COO|[Pp]resident|[Cc]hair(?:man|woman|person)?|[Mm]ayor|[Pp]rime\s[Mm]inister|[Pp]rincipal)"
    r"\s(?:of|at)\s(?P<what>(?:the\s)?[A-Z][\w&'’-]*(?:\s[A-Z][\w&'’-]*){0,4})(?P<now>\snow)?(?=\s*(?:[.,;!\n]|$))"
)
_HELD_HAN = re.compile(
    r"(?:^|(?<=[。！？；\n，,]))\s*(?P<how>现在)?(?P<who>[\u4e00-\u9fffA-Za-z·]{2,10}?)"
    r"(?P<became>现在是|是|成为了?|成了|出任|接任|当上了?)(?P<what>[\u4e00-\u9fffA-Za-z0-9]{2,20}?)的?(?P<newly>新任?)?(?:现任)?"
    r"(?P<office>CEO|CTO|CFO|首席执行官|总裁|总统|董事长|市长|校长|总理)了?(?=\s*(?:[。！；，,\n]|$))"
)
_SPOKEN = re.compile(r"CEO|CTO|CFO|COO|resident|[Cc]hair|ayor|rime\s|rincipal|首席|总裁|总统|董事长|市长|校长|总理")
_NOBODY = frozenset(
    "I You He She We They It This That There Who What My Your His Her Our Their The If Maybe Perhaps".split()
)
_NOBODY_HAN = ("我", "你", "他", "她", "它", "谁", "这", "那", "如果", "要是", "假如", "听说", "据说", "不")


def offices(text: str) -> Iterator[Claim]:
    """Claims whose subject is an organisation or a place, and whose value is who leads it. Reads the first `MAX_READ`
    code points."""
    text = text[:MAX_READ]
    if not _SPOKEN.search(text):
        return
    hidden = masked(text)
    for pattern in (_HELD, _HELD_HAN):
        for found in pattern.finditer(hidden):
            who = found.group("who")
            if who.split()[0] in _NOBODY or who.startswith(_NOBODY_HAN):
                continue
            if not is_believed(found.group(), hidden[found.end() : found.end() + 40]):
                continue
            attribute = attribute_of(found.group("office"))
            if attribute is None:
                continue
            yield Claim(
                kind=Kind.FACT,
                attribute=attribute.key,
                value=text[slice(*found.span("who"))],
                statement=found.group().strip(),
                span=Span(found.start("who"), found.end()),
                subject=_named(text[slice(*found.span("what"))]),
                manner=Manner.CHANGED if _is_new(found) else Manner.STATED,
                importance=attribute.importance,
                entity_type="person",
            )


def _named(what: str) -> str:
    return what.removeprefix("the ")


def _is_new(found: re.Match[str]) -> bool:
    parts = found.groupdict()
    became = parts.get("became") or parts["how"] or ""
    return any(parts.get(name) for name in ("new", "newly", "now")) or became not in ("is", "是")
