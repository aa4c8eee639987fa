"""Which language a question is in, as far as its script and commonest words tell."""

from __future__ import annotations

import re

_KANA = re.compile("[\u3041-\u30fa\u30fc-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_HAN = re.compile("[\u4e00-\u9fff]")
_ENGLISH = frozenset(
    """the a an is are was were do does did what who when where why how which of to in on for and my your his her their
    i you he she they we it have has had that this with about any""".split()
)
_WORDS = re.compile("[a-z]+")


def language_of(text: str) -> str:
    """A BCP 47 tag: ja, ko, zh by their scripts, en by its commonest words, else und."""
    if _KANA.search(text):
        return "ja"
    if _HANGUL.search(text):
        return "ko"
    if _HAN.search(text):
        return "zh"
    words = _WORDS.findall(text[:1_000].lower())
    return "en" if sum(word in _ENGLISH for word in words) * 5 >= max(1, len(words)) else "und"
