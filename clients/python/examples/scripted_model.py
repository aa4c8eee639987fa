"""A scripted stand-in for a language model: it needs no key, and answers from nothing but the messages it is given.

It quotes the memory that shares most words with a question, and has one fixed suggestion for tonight. What it makes of
memories that arrive while it writes is not fixed: it says them.

python scripted_model.py [--port PORT] [--pace SECONDS]

serves it as an OpenAI-compatible endpoint on the loopback, for whatever speaks that API.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TONIGHT = (
    "Let us cook at home first.",
    "After dinner we could go to the Fado concert in Alfama.",
    "最后带豆包去散步吧。",
)
WHEN_TONIGHT = re.compile("tonight|今晚", re.IGNORECASE)
NOT_KNOWN = "I do not know that yet. Tell me, and I will remember."
NOTED = "Noted."
REMARKS = {"recalled": "You told me", "no longer true": "That has changed", "true instead": "It is now"}

_ITEM = re.compile(r"^- (?:\([^)]*\) )?(.*)$", re.MULTILINE)
_NEWS = re.compile(r'^- (recalled|no longer true|true instead): (".*")$', re.MULTILINE)
_WORD = re.compile(r"[a-z]{4,}|[\u4e00-\u9fff]")

Messages = Sequence[Mapping[str, Any]]
Tokens = Callable[[Messages], Iterable[str]]


def tokens(messages: Messages) -> Iterable[str]:
    """What it answers to these messages of the chat completions API, in pieces."""
    return re.findall(r"\s*\S+", _answer(messages))


def _answer(messages: Messages) -> str:
    *before, last = messages
    written, news = "", ""
    if before and before[-1]["role"] == "assistant" and last["content"].startswith("Recalled"):
        # It was interrupted: what it had written, and what it is told now.
        written, news = before[-1]["content"], last["content"]
        *before, last = before[:-1]
    told = [f"{REMARKS[kind]}: {_ended(_said(json.loads(quoted)))}" for kind, quoted in _NEWS.findall(news)]
    sentences = [*told, *_sentences(before, last["content"])]
    text = " ".join(sentence for sentence in sentences if sentence not in written)
    return f" {text}" if written and text else text


def _sentences(before: Messages, line: str) -> Sequence[str]:
    if WHEN_TONIGHT.search(line):
        return TONIGHT
    if not line.endswith(("?", "？")):
        return (NOTED,)
    asked = set(_WORD.findall(line.lower()))
    best = max(_statements(before), key=lambda each: len(asked & set(_WORD.findall(each.lower()))), default="")
    return (f"{REMARKS['recalled']}: {_ended(best)}" if asked & set(_WORD.findall(best.lower())) else NOT_KNOWN,)


def _statements(messages: Messages) -> Iterable[str]:
    """What the user has said, as far as the messages tell: recalled, or earlier in the conversation."""
    for message in messages:
        if message["role"] == "user":
            recalled = message["content"].startswith(("# Memory", "Recalled"))
            for text in _ITEM.findall(message["content"]) if recalled else [message["content"]]:
                said = _said(re.sub(r"\\(.)", r"\1", text))
                if not said.endswith(("?", "？")):
                    yield said


def _said(memory: str) -> str:
    """The user's words of an exchange: "[date] User: ... Assistant: ..."."""
    words = re.sub(r"^(\[[^]]*\] )?(User: )?", "", memory)
    return re.split(r"\s+Assistant: ", words)[0].strip('"')


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "。", "！")) else f"{sentence}."


def endpoint(port: int, answer: Tokens, pace: float) -> ThreadingHTTPServer:
    """An OpenAI-compatible server on the loopback; `serve_forever()` it. `answer` gives what the model writes."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if self.path != "/v1/chat/completions":
                self.send_error(404)
                return
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            with suppress(ConnectionError):  # who asked may have heard enough
                for token in answer(asked["messages"]):
                    time.sleep(pace)
                    self._say(asked["model"], {"role": "assistant", "content": token}, None)
                self._say(asked["model"], {}, "stop")
                self.wfile.write(b"data: [DONE]\n\n")

        def _say(self, model: str, delta: Mapping[str, str], finish: str | None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    return server


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--port", type=int, default=8089, help="of the loopback (%(default)s)")
    arguments.add_argument("--pace", type=float, default=0.05, help="seconds a word (%(default)s)")
    chosen = arguments.parse_args()
    server = endpoint(chosen.port, tokens, chosen.pace)
    print(f"OPENAI_BASE_URL=http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
