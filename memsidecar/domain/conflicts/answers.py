"""Which memory of a conflict the user's answer decides for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memsidecar.domain.conflict import Rule
from memsidecar.domain.conflicts.peers import Stance, stance_of
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.memory import Memory
from memsidecar.domain.text import normalise
from memsidecar.domain.view import PartitionView

# A short answer; what is longer is not read further.
_READ = 2_000
# What is denied, or was so before, and what may stand between that and the value.
_DENIED = re.compile(
    r"(?:\b(?:not|no|never|isn't|wasn't|neither|nor|no longer|don't|didn't|doesn't|haven't|left|used to)"
    r"(?: (?:in|at|to|for|from|the|a|an|be|been|is|live|lived|living|work|worked|working|move|moved|like|liked|really"
    r"|ever|any more|anymore)){0,4}"
    r"|(?:不是|不再|不|没有|没|别|从没|以前|之前|曾经|原来|过去)(?:在|是|住过?|喜欢|工作|搬到?|去过?|有|叫|用){0,3}) ?$"
)
_YES = re.compile(r"(?:(?:yes|yeah|yep|right|true|correct|i do|i did|i have)\b|是|对|没错|喜欢|有|做过|不错)")
_NO = re.compile(
    r"(?:(?:no|nope|not|never|wrong|false|i don't|i do not|i didn't|i haven't)\b|不(?!错)|没(?!错)|从没|从来没有)"
)
# Who does not know has not answered, nor who asks back.
_UNSURE = re.compile(
    r"\b(?:not (?:really |quite |so )?sure|no idea|dunno|(?:don't|do not|can't|cannot) (?:know|remember|recall"
    r"|say|tell)"
    r"|(?:why|what) do you|what do you mean)\b|不知道|不确定|不清楚|不记得|记不清|说不准|不好说"
)


def answered(view: PartitionView, text: str, memories: Sequence[Memory], rule: Rule) -> str:
    """The id of the memory whose value the answer names; the newest, when several have it.

    Raises InvalidField when it names none or several of the values, or says that its author does not know.
    """
    answer = normalise(text[:_READ])
    if _UNSURE.search(answer) or text.rstrip().endswith(("?", "？")):
        raise InvalidField("answer", "does not decide; ask again, or choose a memory")
    stances = [(m, s) for m in memories if (s := stance_of(view, m)) is not None]
    if rule is not Rule.VALUE:
        return _affirmed(answer, stances)
    named = {i for i, (_, stance) in enumerate(stances) if _names(answer, stance, stances)}
    values = [stances[i][1].values for i in named]
    if not named or any(not (one & other) for one in values for other in values):
        what = "several" if named else "none"
        raise InvalidField("answer", f"names {what} of the values; name exactly one of them")
    return stances[max(named)][0].id


def _affirmed(answer: str, stances: Sequence[tuple[Memory, Stance]]) -> str:
    sign = -1 if _NO.match(answer) else 1 if _YES.match(answer + " ") else 0
    chosen = [m.id for m, stance in stances if stance.sign * sign > 0]
    if not chosen:
        raise InvalidField("answer", "does not say whether it is so; answer yes or no, or choose a memory")
    return chosen[-1]


def _names(answer: str, stance: Stance, stances: Sequence[tuple[Memory, Stance]]) -> bool:
    others = {key for _, other in stances if not other.same_value(stance) for key in other.values}
    return any(
        not _inside_longer(answer, place, key, others) and not _DENIED.search(answer[:place])
        for key in stance.values
        if not key.startswith("@")
        for place in _places(answer, key)
    )


def _places(answer: str, key: str) -> list[int]:
    """Where the answer has a value, as whole words."""
    found, start = [], 0
    while key and (place := answer.find(key, start)) != -1:
        if _ends_word(answer, place, place + len(key)):
            found.append(place)
        start = place + 1
    return found


def _ends_word(answer: str, start: int, end: int) -> bool:
    before = answer[start - 1] if start else " "
    after = answer[end] if end < len(answer) else " "
    return not (_latin(before) and _latin(answer[start])) and not (_latin(after) and _latin(answer[end - 1]))


def _latin(character: str) -> bool:
    return character.isalnum() and ord(character) < 0x2E80


def _inside_longer(answer: str, place: int, key: str, others: set[str]) -> bool:
    """Whether the place is within another value that the answer names: York in New York."""
    for other in others:
        if key in other and key != other:
            at = answer.find(other)
            while at != -1:
                if at <= place and place + len(key) <= at + len(other):
                    return True
                at = answer.find(other, at + 1)
    return False
