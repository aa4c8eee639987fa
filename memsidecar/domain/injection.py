"""Tells text that reads like an instruction to a model from text that does not.

A small set of rules, not a classifier: it flags the phrases that attacks on assistants are made of, in the languages
that they are seen in most. A match is a reason to look, never to remove: people do write about prompts. What it cannot
see is an instruction in other words; that recalled text is delimited as data does not depend on it.

The rules:
- overriding: "ignore/forget/disregard ... previous/your/all ... instructions/rules/prompt", "ignore the above"
- a new role: "you are now", "from now on you", "act as a system/unrestricted ...", "pretend you are", "developer mode"
- prying: "reveal/print/repeat ... system prompt / your instructions"
- secrecy: "do not tell the user"
- posing as a turn: special tokens of chat templates, "### System:", our delimiters, and "system:" at the start of a
  line. "User:" and "Assistant:" are none, because transcripts of conversations are remembered. But "Human:" and
  "Assistant:" that begin paragraphs of one text are: the turns of a chat template; and so is a line "user: ..." or
  "human: ..." in small letters after running text, unless it looks like one of a configuration (one word, or a line
  with a colon before)
- posing as a tool call: <tool_call>, <invoke name=, "tool_calls":, {"name": ..., "arguments": {
- hidden text: characters of the Unicode tag block, which no reader sees and every model reads
Overriding is known in Chinese (both scripts), Japanese, Korean, Spanish, French, German, Portuguese, Italian, Russian
and Arabic too, a new role in most of them, secrecy and the system prompt in Chinese.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import islice

from memsidecar.domain.invisible import INVISIBLE

# No reader sees these; between the letters of a word they hide it from a search.
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_HIDDEN = re.compile("[\U000e0020-\U000e007f]")
# England's flag is a black flag, the tags of "gbeng" and an end: the one use of them that means something.
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
# Latin letters in other dresses: full-width, mathematical, circled; and of the signs those that begin a delimiter.
_DRESSED = re.compile("[\u2100-\u214f\u24b6-\u24e9\ufe5f\ufe64\uff03\uff1c\uff21-\uff5a\U0001d400-\U0001d7ff]|<\uff0f")

_OBJECTS = r"instructions?|prompts?|rules?|directives?|directions?|guidelines?|commands?|constraints?|polic(?:y|ies)"
_WHICH = r"previous|prior|above|earlier|preceding|all|any|every|your|these|those|other|initial|original|system|safety"

# (words of which one must be there, what must match). The words cost nanoseconds, and nearly every text has none.
_RULES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("ignor", "disregard", "forget", "overrid", "bypass"),
        rf"\b(?:ignor\w*|disregard\w*|forget|overrid\w*|bypass\w*)\b[^.!?\n]{{0,30}}\b(?:{_WHICH})\b[^.!?\n]{{0,30}}"
        rf"\b(?:{_OBJECTS}|context|training)\b"
        r"|\b(?:ignore|disregard|forget)\s+(?:everything|anything|all|what(?:ever)?)?\s*(?:of\s+)?(?:the\s+)?"
        r"(?:above|(?:said|written|told)?\s*(?:before|previously|so far))\b",
    ),
    (
        ("you are now", "from now on", "developer mode", "jailbreak", "anything now", "new instruction"),
        r"\byou are now (?!\d)|\bfrom now on,? (?:you|always|never|act|answer|respond|reply|ignore)\b"
        r"|\bdeveloper mode\b|\bjailbreak|\bdo anything now\b|\bnew instructions?\s*[:：]",
    ),
    (
        ("act as", "pretend", "roleplay"),
        r"\b(?:act|roleplay) as (?:if you|though you|(?:an?|the|my)?\s*(?:unrestricted|unfiltered|system|admin|root"
        r"|dan\b|developer|evil|different (?:ai|assistant|model)))"
        r"|\bpretend (?:that )?(?:you|to be an?\b.{0,20}\b(?:ai|model))",
    ),
    (
        ("prompt", "instructions"),
        r"\b(?:reveal|print|show|repeat|output|leak|display|disclose|dump|tell me|what (?:is|are|was))\b[^.!?\n]{0,30}"
        r"\b(?:system|initial|hidden|secret|original|your)\b[^.!?\n]{0,15}\b(?:prompts?|instructions)\b"
        r"|\b(?:begin|end|new) (?:of )?(?:the )?system (?:prompt|instructions)\b",
    ),
    (
        ("the user",),
        r"\b(?:do not|don['’]t|never|without)\s+(?:tell|inform|alert|notify|mention|reveal|warn)\w*\b"
        r"[^.!?\n]{0,25}\bthe user",
    ),
    (
        ("<", "[/inst]", "[inst]", "[system_prompt]", "[tool_calls]"),
        r"<[|｜][a-z_ ▁]|<\s{0,4}/?\s{0,4}(?:system|assistant|user|instructions?|start_of_turn|end_of_turn|memory"
        r"|recent_messages|session_summary|experiences)\s{0,4}>|<<\s*sys|\[/?inst\]|\[system_prompt\]|\[tool_calls\]"
        r"|<(?:antml:)?(?:tool_?calls?|tool_use|tool_?results?|function_?calls?|invoke|function)[\s>=]",
    ),
    (
        ("#", "system", "系统", "系統", "システム", "시스템"),
        r"(?m:^[\s>]*#+\s*(?:system|instructions?|assistant|user|human|memory$|end of memory|系统|系統)\b)"
        r"|(?m:^\W{0,4}(?:system|系统|系統|システム|시스템)\W{0,3}[:：])",
    ),
    (
        ("tool_call", "function_call", "arguments", "functions."),
        r'"(?:tool_calls?|function_call)"\s*:|"name"\s*:\s*"[^"]{1,100}"\s*,\s*"arguments"\s*:|\bto=functions\.'
        r"|\bfunctions\.\w+\(",
    ),
    (
        (
            "忽略",
            "忽視",
            "忽视",
            "无视",
            "無視",
            "忘记",
            "忘記",
            "忘掉",
            "不要理会",
            "不要理會",
            "绕过",
            "繞過",
            "覆盖",
            "覆蓋",
        ),
        r"(?:忽略|忽[视視]|[无無][视視]|忘[记記掉]|不要理[会會]|[绕繞][过過]|覆[盖蓋])[^。！？\n]{0,12}"
        r"(?:指令|指示|提示|[规規][则則]|命令|要求|[设設]定|限制|[约約]束|[说說]明|[内內]容|[对對][话話])"
        r"|(?:指令|指示|命令|[规規][则則])[^。！？\n]{0,6}(?:忽略|[无無][视視]|忘[记記掉])"
        r"|(?:指示|命令|ルール|プロンプト|指令)[^。！？\n]{0,8}無視",
    ),
    (
        (
            "你现在是",
            "你現在是",
            "从现在",
            "從現在",
            "系统提示",
            "系統提示",
            "假装你",
            "假裝你",
            "开发者模式",
            "開發者模式",
            "越狱",
            "越獄",
        ),
        r"你[现現]在是(?!不是|在|否)|[从從][现現]在(?:[开開]始|起)[，,]?\s*你|系[统統]提示[词詞]?|假[装裝]你|[开開][发發]者模式|越[狱獄]",
    ),
    (("不要告诉", "不要告訴", "别告诉", "別告訴"), r"(?:不要|[别別])告[诉訴]用[户戶]|(?:不要|別)告訴使用者"),
    (
        ("指示", "命令", "ルール", "プロンプト", "あなたは今"),
        r"(?:指示|命令|ルール|プロンプト)[^。！？\n]{0,8}(?:忘れ|従わな)|あなたは今(?:から|日から)|システムプロンプト",
    ),
    (
        ("무시", "잊어", "시스템 프롬프트", "이제부터"),
        r"(?:지시|명령|규칙|프롬프트|지침)[^.!?\n]{0,8}(?:무시|잊어)|시스템 프롬프트|이제부터 (?:너는|당신은|넌)",
    ),
    (
        ("instruccion", "instrucoes", "instruções", "istruzioni", "consignes", "instructions", "reglas", "regras"),
        r"\b(?:ignora|ignore[sz]?|ignorez|olvida|olvide|esque[cç]a|dimentica|oubliez?|desconsidere)\b[^.!?\n]{0,30}"
        r"\b(?:instrucciones|reglas|instru[cç][oõ]es|regras|istruzioni|regole|consignes|instructions|r[eè]gles)\b",
    ),
    (
        ("anweisung", "instruktion", "vorgaben", "befehle"),
        r"\b(?:ignorier\w*|vergiss|vergessen|missachte\w*)\b[^.!?\n]{0,40}\b(?:anweisung\w*|instruktion\w*|vorgaben|befehle)",
    ),
    (
        ("ahora eres", "tu es maintenant", "du bist jetzt", "agora você é", "ora sei", "ты теперь"),
        r"\b(?:ahora eres|tu es maintenant|du bist jetzt|agora você é|ora sei|ты теперь) (?:un|ein|ум|um|une|uma)?\w*",
    ),
    (
        ("инструкц", "указани", "команды", "правила"),
        r"(?:игнорируй\w*|забудь\w*|не обращай\w* внимания)[^.!?\n]{0,30}(?:инструкц|указани|команды|правила)",
    ),
    (("التعليمات", "تعليمات", "الأوامر"), r"(?:تجاهل|انس|انسَ)[^.!?\n]{0,20}(?:التعليمات|تعليمات|الأوامر)"),
)
# A turn of a chat template is a paragraph: what begins a line only may be a transcript.
_LINE_OF = {role: re.compile(rf"^\W{{0,4}}{role}[^\S\n]{{0,3}}[:：]", re.MULTILINE) for role in ("human", "assistant")}
_PARAGRAPH_OF = {
    role: re.compile(rf"\n[^\S\n]{{0,8}}\n\W{{0,4}}{role}[^\S\n]{{0,3}}[:：]") for role in ("human", "assistant")
}
_SMALL_TURN = re.compile(r"\n[^\S\n]*(?:user|human)[^\S\n]{0,3}[:：][^\S\n]*(?:\S+[^\S\n]+\S|[^\x00-\x7f]{4})")
# So many of those are looked at, each with so much of the line before it.
_TURNS_LOOKED_AT = 16
_LINE_LOOKED_AT = 200
_COMPILED = tuple((words, re.compile(pattern)) for words, pattern in _RULES)
_WORDS = tuple(dict.fromkeys(word for words, _ in _RULES for word in words))
_ASCII_WORDS = tuple(word for word in _WORDS if word.isascii())


def looks_like_instruction(text: str) -> bool:
    """Whether a rule of this module finds something. Microseconds for a chat message; any text may be given."""
    if text.isascii():
        plain, folded = text, text.lower()
        found = [word for word in _ASCII_WORDS if word in folded]
    else:
        if _HIDDEN.search(text) and _HIDDEN.search(_FLAG.sub("", text)):
            return True
        # Normalising costs as much as all the rest, and full-width punctuation would ask for it in every Chinese text.
        plain = unicodedata.normalize("NFKC", text) if _DRESSED.search(text) else text
        plain = _INVISIBLE.sub("", plain)
        folded = plain.lower()
        found = [word for word in _WORDS if word in folded]
    turns = "human" in folded or "user" in plain
    if not found and not turns:
        return False
    # A context shows every kind of line end as one, so a turn may begin after any.
    plain = _LINE_ENDS.sub("\n", plain)
    folded = plain.lower()
    if turns and (_has_template_turns(folded) or _has_small_turn(plain)):
        return True
    present = frozenset(found)
    return any(pattern.search(folded) for words, pattern in _COMPILED if not present.isdisjoint(words))


def _has_template_turns(folded: str) -> bool:
    """Whether a human's turn and an assistant's follow each other, the second as a paragraph of its own."""
    if "human" not in folded or "assistant" not in folded:
        return False
    for one, other in (("human", "assistant"), ("assistant", "human")):
        first = _LINE_OF[one].search(folded)
        if first is not None and _PARAGRAPH_OF[other].search(folded, first.end()) is not None:
            return True
    return False


def _has_small_turn(text: str) -> bool:
    for turn in islice(_SMALL_TURN.finditer(text), _TURNS_LOOKED_AT):
        before = text[max(0, turn.start() - _LINE_LOOKED_AT) : turn.start()].rstrip().rpartition("\n")[2]
        if before and ":" not in before and "：" not in before:
            return True
    return False
