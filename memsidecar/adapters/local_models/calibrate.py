"""Computes the two mean vectors that e5's correction subtracts, and writes them beside the code.

    python -m memsidecar.adapters.local_models.calibrate [file]

The sentences are generic on purpose: what their vectors have in common is the script, not a topic. A change of one of
them, or of the model, makes another space: count up the number after `+script` in the model's name.
"""

from __future__ import annotations

import sys
from pathlib import Path

from memsidecar.adapters.local_models.e5 import load_e5, raw_vectors
from memsidecar.adapters.local_models.script import MEANS, ScriptMeans

ALPHABETIC = (
    "The weather is nice today.",
    "I bought a new phone yesterday.",
    "He plays football with friends.",
    "The shop closes at six.",
    "Please send me the file.",
    "She wrote a letter to her aunt.",
    "The train was late again.",
    "We cooked rice and vegetables.",
    "The server needs more memory.",
    "Open the window, please.",
    "The report is due tomorrow.",
    "My favourite colour is blue.",
    "They visited a museum in Paris.",
    "The child is sleeping.",
    "This book is very interesting.",
    "Where is the station?",
    "How much does it cost?",
    "What time does it start?",
    "Who wrote this song?",
    "Why is the sky blue?",
    "Is there a doctor nearby?",
    "Which bus goes downtown?",
    "The user wants a summary of the meeting.",
    "Turn off the lights before leaving.",
    "He has three brothers.",
    "The code does not compile.",
    "Our company sells shoes.",
    "She likes to swim in the sea.",
    "The exam was difficult.",
    "I forgot my umbrella.",
)

CJK = (
    "今天天气很好。",
    "我昨天买了一部新手机。",
    "他和朋友踢足球。",
    "商店六点关门。",
    "请把文件发给我。",
    "她给姑姑写了一封信。",
    "火车又晚点了。",
    "我们做了米饭和蔬菜。",
    "服务器需要更多内存。",
    "请打开窗户。",
    "报告明天要交。",
    "我最喜欢的颜色是蓝色。",
    "他们参观了巴黎的博物馆。",
    "孩子在睡觉。",
    "这本书很有意思。",
    "车站在哪里？",
    "多少钱？",
    "几点开始？",
    "这首歌是谁写的？",
    "天为什么是蓝的？",
    "附近有医生吗？",
    "哪路公交车去市中心？",
    "用户想要会议的总结。",
    "离开前请关灯。",
    "他有三个兄弟。",
    "代码编译不过。",
    "我们公司卖鞋。",
    "她喜欢在海里游泳。",
    "考试很难。",
    "我忘了带伞。",
)


def compute() -> ScriptMeans:
    """The means for the installed model; a second of work. Raises ModelUnavailable when e5 cannot run here."""
    e5 = load_e5()
    return ScriptMeans(raw_vectors(e5, list(ALPHABETIC)).mean(axis=0), raw_vectors(e5, list(CJK)).mean(axis=0))


if __name__ == "__main__":
    compute().write(Path(sys.argv[1]) if len(sys.argv) > 1 else MEANS)
