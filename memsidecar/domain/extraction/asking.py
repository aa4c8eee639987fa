"""Which texts are worth asking a language model about: those that may state something which the rules do not read."""

from __future__ import annotations

import re

from memsidecar.domain.extraction.chinese_subject import HAN_NOTE
from memsidecar.domain.extraction.english_clauses import NOTE
from memsidecar.domain.extraction.guard import plays_a_part
from memsidecar.domain.extraction.masking import MASK, masked

_READ = 8_000
_SENTENCE = re.compile(r"[^.!?。！？…\n]{1,1000}[.!?。！？…]*")
# Somebody speaks of himself or of those near to him, or of what was agreed.
_OWN = re.compile(
    r"\b(?:i|i'\w+|my|mine|me|we|we'\w+|our|ours|us|myself|deadline|meeting|scheduled|postponed"
    r"|rescheduled|decided|agreed|from now on|always|never)\b|[我咱俺]|本人|截止|改到|推迟|决定|约定"
    r"|以后|今后",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?？]\s*[\"'”’)）]*$")
_ASKS_FIRST = re.compile(
    r"\W*(?:(?:and|but|so|ok|okay|hey|hi|well|then|also|please|now|yes|no|sure|great"
    r"|thanks)\b[\s,]*)*(?:can|could|would|will|do|does|did|is|are|was|were|what|how|why|where|when"
    r"|which|who|should|shall|may"
    r"|write|give|show|explain|tell|help|make|create|list|summari[sz]e|translate|find|suggest"
    r"|recommend|generate|fix|let's|let me)\b|\W*(?:请|帮我|给我|怎么|为什么|什么是|如何|能不能|可以"
    r"|写一|翻译|总结|解释)",
    re.IGNORECASE,
)
# What people say without saying anything of themselves that lasts.
_SMALL_TALK = re.compile(
    r"\W*(?:(?:hi|hello|hey|good (?:morning|evening|night|afternoon)|how are you"
    r"|thanks?(?: you)?(?: so much| a lot)?|ok(?:ay)?|sure|yes|yeah|yep|no|nope|great|cool|nice"
    r"|awesome|perfect|got it|sounds good|i see"
    r"|i (?:understand|agree|think so|guess so|don't know|got it|will|know)|i'm (?:fine|good|sorry"
    r"|back|here|ready|sure|not sure|done|happy|glad|tired)(?: to hear (?:that|it))?|let me know"
    r"|see you(?: (?:soon|later))?"
    r"|bye|goodbye|take care|no problem|you're welcome|that's (?:great|good|awesome|nice|true|right)"
    r"|wow|haha|lol|same here|me too|congrats|congratulations|good luck|it makes sense"
    r"|that makes sense"
    r"|i appreciate (?:it|that|your help)|love it|i love it|i like it"
    r"|你好|您好|嗨|早上好|晚上好|晚安|谢谢(?:你|您)?|多谢|好的?|行|嗯+|是的|对|没问题|我知道了"
    r"|我明白了|明白|知道了|再见|拜拜|哈哈+|不客气|辛苦了|太好了|我很好|最近怎么样|收到|可以|好吧|ok"
    r"|我也是)[\s,.!。，！~～…]*(?:there|everyone|all|again|then|for (?:that|this|your help)|了|啊|呀"
    r"|哦|吧)?[\s,.!。，！~～…]*){1,6}",
    re.IGNORECASE,
)
# "Anna moved to Rome", "Lisa在学校参加了比赛": a name, and what its bearer did.
_NAMED_FIRST = re.compile(
    r"\W*[A-Z][a-z]{1,15}(?:\s[A-Z][a-z]{1,15})?\s(?:[a-z]+(?:ed|s)|went|has|had|is|was|got|bought|met"
    r"|told|gave|took|came|left|lost|found|ran|began|became|said)\s"
    r"|\W*[A-Z][A-Za-z]{1,15}(?=[\u4e00-\u9fff])"
)
_LONGEST_ACCOUNT = 400
_NO_NAME = frozenset(
    "It This That There Here What Who He She They The These Those Everything Something Nothing"
    " Everyone How Which Where".split()
)
_LONG_ENOUGH = 8
_LONG_ENOUGH_HAN = 4


def worth_asking(text: str) -> bool:
    """Whether a language model may find something in a turn: a sentence in it speaks of its writer, and is neither a
    pure question, a greeting, a confirmation, code, nor a text to be worked on. Reads the first 8,000 code points."""
    text = text[:_READ]
    told = _is_told(text)
    if not told and not _OWN.search(text):
        return False
    hidden = masked(text)
    if plays_a_part(hidden):
        return False
    return any(_states(found.group().strip(), told=told) for found in _SENTENCE.finditer(hidden))


def _is_told(text: str) -> bool:
    """Whether a text is a short account of somebody who is named, or a note about the user."""
    if len(text) > _LONGEST_ACCOUNT:
        return False
    return NOTE.match(text) is not None or HAN_NOTE.match(text) is not None or _names_first(text)


def _names_first(text: str) -> bool:
    return _NAMED_FIRST.match(text) is not None and text.split(maxsplit=1)[0].strip(",.!") not in _NO_NAME


def _states(sentence: str, *, told: bool) -> bool:
    short = _LONG_ENOUGH if sentence.isascii() else _LONG_ENOUGH_HAN
    if len(sentence) < short or not (told or _OWN.search(sentence)) or _SMALL_TALK.fullmatch(sentence):
        return False
    if sentence.count(MASK) * 2 > len(sentence):
        return False
    if not _ASKS.search(sentence):
        return not _ASKS_FIRST.match(sentence)
    # "I work at Acme, can you help?" states something before it asks.
    first = re.split(r"[,，;；]", sentence, maxsplit=1)[0]
    return first != sentence and _OWN.search(first) is not None and not _ASKS_FIRST.match(first) and len(first) >= short
