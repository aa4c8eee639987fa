"""Which sentences are not to be believed, whatever they say: supposed, dreamt, played, reported, meant as a joke."""

from __future__ import annotations

import re

# Where a clause of a sentence can begin.
_START = r"(?:^|[,;:(\u2014-]\s*|\b(?:and|but|so|or|then|well|oh|ok|okay|no|yes|yeah|please|now|hey)\b,?\s+)"
_ENGLISH = re.compile(
    _START
    + r"""(?:
      if\b(?!\s(?:it|that)\s(?:helps|matters)|\syou\s(?:must|want|need|have|care)\sto\sknow|\sanyone|\sanybody)
    | suppos(?:e|ing)\b | imagin(?:e|ing)\b | pretend\b | assum(?:e|ing)\b | let's\s(?:say|pretend
      |imagine|assume|suppose)\b
    | (?:what|as|even|only)\s(?:if|though)\b | unless\b | had\si\b | were\si\b | should\si\b
      | wish\b | hypothetically\b
    | in\s(?:a\sparallel|another|an\salternat\w+|my\s(?:next|past|other)|the)\s(?:universe|life
      |novel|story|book|game|movie|film|song)\b
    | according\sto\b | rumou?r\shas\sit\b | legend\shas\sit\b | word\sis\b | act\s(?:as|like)\b
      | role-?play\b | you(?:'re|\sare)\sa\b
    | translate\b | proofread\b | correct\sth(?:is|e)\s(?:sentence|text)\b | rewrite\b | rephrase\b | paraphrase\b
    | (?:for|an?)\s(?:example|instance)\b | e\.g\. | say\sthat\b | repeat\s(?:after|this)\b
      | the\s(?:lyrics|song|poem|character|hero)\b
    | as\sa\s(?:child|kid|teen(?:ager)?)\b | title: | subject: | from: | to: | user: | assistant:
      | human: | ai: | q: | a: | you: | (?:him|her|them): | speaker\s | dear\s
    )
    | (?-i:\b[A-Z][a-z]+)\s(?:(?:just|once|also|always)\s)?(?:told\s(?:me|us|him|her|them|everyone)|says?|said
      |claims?|claimed|wrote|texted|replied|whispered)\b
    | \b(?:my|his|her|their|our|the)\s(?:[a-z]+\s){0,2}?(?:friend|colleague|coworker|boss|manager|brother|sister
      |mom|mum|mother|dad|father|wife|husband|son|daughter|roommate|neighbou?r|girlfriend|boyfriend
      |partner|teacher|customer|client|interviewer)(?:\s(?-i:[A-Z][a-z]+))?:\s
    | (?<!\bmy\s)\b(?:bio|post|tweet|review|caption|cv|r[ée]sum[ée]|profile|testimonial|speech|monologue|e?mail
      |draft|paragraph|poem|story|dialogue)\b[^:\n]{0,24}:\s(?:hi|hello|hey|dear|i|i'm|i've|my|we)\b
    | \b(?:a|the|my)\scharacter\swho\b
    | \b(?:i|we)\s(?:(?:really|just|only|so|always|often|sometimes)\s)?(?:wish|dream(?:ed|t)?\sthat
      |dreamt|pretend(?:ed)?|imagined?|bet|wonder(?:ed)?)\b
    | \b(?:he|she|they|it|everyone|everybody|someone|somebody|people|who|mom|dad|mother|father
      |teacher|boss|friend|horoscope|\w+'s)\s
      (?:(?:always|often|sometimes|once|also|just|still)\s)?
      (?:says?|said|thinks?|thought|claims?|claimed|believes?|believed|told|tells|asked|asks|assumes?
        |wants?|wanted|hopes?|wishes|expects?)\b
    | \b(?:almost|nearly)\s\w+ed\b | \bwas\sgoing\sto\b | \bwere\sgoing\sto\b | \bwhen\si\swas\s(?:a
      |an|little|young|small|\d+|in)\b
    | \b(?:sentence|example|grammar|input|output|text|prompt|quote|translation|template|phrase
      |letter|message|essay)\b[^:\n]{0,24}:\s
    | \bwould\syou\s(?:say|believe)\b | \bread(?:s|ing)?:
    """,
    re.VERBOSE | re.IGNORECASE,
)
_JOKE = re.compile(
    r"\b(?:just )?(?:kidding|joking|jk)\b|(?:\s|^)/s\s*$|\b(?:lol|lmao|rofl|haha\w*|hehe\w*|xd)\W*$"
    r"|\byeah,? right\b|\bsaid no(?: ?one|body)\b"
    r"|\bof the world\b|\bas if\b|\bmillionaire\b|\bsarcas|\bironic|\bnot really\W*$|(?:\.{3}"
    r"|…)\s?not\W*$|(?:😂|🤣|😜|😉|🙃)\s*$",
    re.IGNORECASE,
)
_JOKE_NEXT = re.compile(
    r"\W*(?:not|just kidding|kidding|jk|said no|just joking|lol|psych)\b(?!\s+(?:a|the|sure|that|to|only))",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"如果|假如|假设|假使|假装|假定|要是|倘若|若是|除非|万一|就算|即使|哪怕|想象|就当|权当|当作|比方"
    r"|譬如|真希望|多希望|恨不得|本来想|本想|原本想"
    r"|梦见|梦到|做梦|差点|差一点|可能会?|也许|或许|大概|说不定|难道|听说|据说|传说|翻译|造句|改写"
    r"|润色|歌词|小说[里中]|主角|角色|剧本|台词|扮演"
    r"|(?:示例|例句|用户|输入|输出|句子|文本|语法|范文|题目|标题|提示词)[^：:]{0,8}[：:]|例如|比如说"
    r"|开玩笑|逗你|骗你|才怪|呵呵|哈哈|嘿嘿|手滑|就好了|该多好|多好啊|小时候|那时候|曾经想|作文"
    r"|(?:他|她|他们|她们|谁|有人|大家|别人|人家|老师|同事|朋友|妈|爸|老板|医生|人)(?:都|总|常|经常|老|还|一直)?"
    r"(?:说|问|告诉|以为|觉得|认为|希望|想让|要求|让我|叫我(?!.{1,3}(?:[，。！,.!]|$)))"
    r"|(?:饿|累|困|笑|气|冷|热|烦|渴)死"
)
# A text that is a quotation, a role to play or an exercise as a whole.
_NOT_MINE = re.compile(
    r"^\W*(?:translate|proofread|rewrite|rephrase|paraphrase|summari[sz]e|you are (?:a|an|the)\b"
    r"|act as|role-?play|write (?:a|an|the|me)\b|"
    r"请?把.{0,40}翻译|翻译[：:]|写一[篇首个段]|你是一[个名位]|扮演|我们来角色扮演)",
    re.IGNORECASE,
)


def plays_a_part(text: str) -> bool:
    """Whether a masked text is from its beginning somebody else's: to be translated, rewritten or played."""
    return _NOT_MINE.match(text) is not None


def is_believed(sentence: str, after: str) -> bool:
    """Whether a masked sentence is meant as it stands; `after` is what follows it."""
    if _JOKE.search(sentence) or _JOKE_NEXT.match(after[:40]):
        return False
    if not sentence.isascii() and _CHINESE.search(sentence):
        return False
    return _ENGLISH.search(sentence) is None
