"""What a question is after, by its wording: what was said, what the assistant said, one thing or many."""

from __future__ import annotations

import re
from dataclasses import dataclass

# A question that is a whole conversation ends with what is asked.
_READ = 1_000

_PAST = re.compile(
    r"""\b(?:did|have|had|was|were)\s(?:i|we|my)\b
    |\bi\s(?:said|mentioned|told|asked|brought|made|did|went|bought|had|was|have)\b|\bi['’]ve\b
    |\bour\s(?:conversation|discussion|chat)|\bremind\sme\b|\bsummar|\bin\sorder\b|\bso\sfar\b
    |\bmy\s(?:previous|earlier|last)\b
    |我(?:们)?(?:上次|之前|以前|曾|说过|提到|告诉|有没有)|总结|回顾|到目前为止""",
    re.VERBOSE,
)
_ASSISTANT = re.compile(
    r"""\byou(?:['’]ve|\shave|\shad)?(?:\s(?:also|just|previously|earlier))?\s
        (?:said|told|recommended|suggested|mentioned|gave|given|provided|listed|wrote|written|created|explained|advised
        |described|shared|showed|answered|proposed)\b
    |\bdid\syou\s(?:\w+\s)?(?:say|tell|recommend|suggest|mention|give|provide|list|write|create|explain|advise|describe
        |share|show|answer|propose)\b
    |\byour\s(?:(?:previous|earlier|last)\s)?(?:recommendation|suggestion|answer|advice|explanation|response)s?\b
    |[你您](?:上次|之前|刚才|曾经?)?(?:说|推荐|建议|提到|告诉|给|列|写)[^，。？！]{0,3}(?:过|了|的)""",
    re.VERBOSE,
)
# A plural soon after the question word: "what books", "which of her paintings".
_BROAD = re.compile(
    r"""^(?:what|which)\s(?:(?!VERB\b)\S+\s){0,2}?(?!VERB\b)\w+s\b|^(?:what|which)\s(?:kind|type|sort)s?\b
    |^what\s(?:do|has|have)\b|^where\shas\b|\bhow\s(?:many|often)\b|\bin\swhat\sways\b|\bboth\b
    |哪些|什么(?:类型|种类|样)|多少次|几次|都有""".replace("VERB", "(?:is|was|are|were|does|do|did|has|have|had)"),
    re.VERBOSE,
)


_NARROW = re.compile(
    r"^(?:when|where|who)['’]?s?\s(?:is|was|are|were|do|does|did|has|have|had|will)\b|^(?:when|where|who)['’]s\b"
    r"|^whose\b|^how\s(?:old|long|much|tall|far|big)\b|^(?:what|which)\s(?:is|was|day|date|time|year|name|number)\b"
    r"|^(?:is|are|was|were|do|does|did|has|have)\s|什么时候|何时|几点|哪天|哪年|哪里|在哪|谁|多大|多少钱|是不是|吗[？?]?$"
)

_RECENT = re.compile(r"\b(?:latest|newest|most\srecent|recently|lately)\b|最近|最新|近来|近况|최근")

# What was, or how it came to be: then an earlier value is as much of an answer as the one that holds.
_HISTORY = re.compile(
    r"""\bbetween\b|\bhow\slong\sdid\b|\bhow\smany\s(?:more|times|days|weeks|months|years|hours|minutes)\b
    |\b(?:in|the|what|which)\sorder\b|\bwhich\b.{0,80}\bfirst\b|\bfirst\stime\b|\bat\sfirst\b|\bacross\b|\bthroughout\b|\bover\stime\b
    |\bever\b|\bused\sto\b|\bprevious(?:ly)?\b|\bformer(?:ly)?\b|\binitial(?:ly)?\b|\boriginal(?:ly)?\b|\bpast\b
    |\bhistor\w+|\bprogress\w*\b|\bsummar\w+|\bdifferen\w+\sfrom\b|\bcompared?\b|\bsince\swhen\b|\bwhen\sdid\b
    |\bhow\s(?:much\s|far\s)?(?:did|have|has)\b.{0,80}\b(?:improv|chang|increas|decreas|grow|grew|dropp?|develop|evolv)\w*
    |\bbefore\s(?:that|i|we|my)\b|\b(?:did|was|were|had)\s.{1,80}\sbefore\b
    |\bin\stotal\sacross\b|\bfrom\s\S{1,40}\sto\s\S
    |之间|变化|最初|起初|原来|原先|以前|之前|曾经|先后|顺序|历史|过去|总结|回顾|多久|多少[天周]|几[天周]|从.{1,20}(?:到|变)""",
    re.VERBOSE,
)
_POLAR = re.compile(
    r"^(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should)\s|吗[？?]?$|是不是|有没有|是否"
)


@dataclass(frozen=True, slots=True)
class Cues:
    """`past`: asks for what was said or done, not for advice. `assistant`: asks for what the assistant said. `broad`:
    asks for several things, which were said on several days. `narrow`: asks for one thing.
    `recent`: asks for what is new."""

    past: bool = False
    assistant: bool = False
    broad: bool = False
    narrow: bool = False
    recent: bool = False

    @property
    def breadth(self) -> float:
        """0 (one thing) to 1 (many)."""
        return 1.0 if self.broad else 0.0 if self.narrow else 0.5


NO_CUES = Cues()


def read_cues(text: str) -> Cues:
    """The cues of a question in English or Chinese; of others none."""
    # In lower case, which is quicker than patterns that ignore case.
    end = _asked(text)
    broad = _BROAD.search(end) is not None
    return Cues(
        past=_PAST.search(end) is not None,
        assistant=_ASSISTANT.search(end) is not None,
        broad=broad,
        narrow=not broad and _NARROW.search(end) is not None,
        recent=_RECENT.search(end) is not None,
    )


def asks_for_history(text: str) -> bool:
    """Whether a question in English or Chinese is after what was, or how it came to be, rather than after what is."""
    return _HISTORY.search(_asked(text)) is not None


def is_polar(text: str) -> bool:
    """Whether a question in English or Chinese can be answered with yes or no."""
    return _POLAR.search(_asked(text)) is not None


def _asked(text: str) -> str:
    return text[-_READ:].strip().lower()
