"""Answers that are not what was asked for: what is right in them is kept, the rest is asked for once more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memsidecar.ports.extraction import Declined, Extracted, Turn
from tests.adapters.openai_models.claims_said import OSLO, TEA, said
from tests.adapters.openai_models.conftest import MakeExtractor
from tests.doubles.chat_server import ChatServer, Reply, turns_shown

RIGHT = json.dumps({"claims": [said()]})
BOTH = json.dumps({"claims": [said(), TEA]})
NOTHING = '{"claims": []}'


def values(extracted: Extracted) -> list[str]:
    return [claim.value for claim in extracted.claims]


@pytest.mark.parametrize(
    "content",
    [
        f"Sure! Here are the claims:\n\n{RIGHT}\n\nLet me know if you need more.",
        f"```json\n{RIGHT}\n```",
        f"```\n{json.dumps(json.loads(RIGHT), indent=4)}\n```",
        f"<think>Perhaps {NOTHING}, or {{\"claims\": [1]}}? No.</think>{RIGHT}",
        f"The form is {NOTHING} for nothing, so: {RIGHT}",
        f"I use {{curly}} [square] braces. {RIGHT}",
        json.dumps([said()]),
        json.dumps(said()),
        json.dumps({"reasoning": "because", "claims": [said()], "count": 1}),
        "\ufeff" + RIGHT,
        json.loads(RIGHT),
        [{"type": "text", "text": RIGHT[:50]}, {"type": "text", "text": RIGHT[50:]}],
        RIGHT.replace("\\u", "\\u"),
    ],
    ids=range(13),
)  # fmt: skip
async def test_an_answer_is_found_in_whatever_is_around_it(
    extractor: MakeExtractor, chat: ChatServer, content: Any
) -> None:
    text = content if isinstance(content, str) else None
    chat.replies.append(Reply(text) if text is not None else Reply(message={"content": content}))
    (extracted,) = await extractor().extract([Turn(OSLO)])
    assert (values(extracted), extracted.rejected) == (["Oslo"], ())
    assert len(chat.requests) == 1


UNREADABLE: list[Reply] = [
    Reply(""),
    Reply(None),
    Reply("null"),
    Reply("I moved to Oslo in May."),
    Reply("I'm sorry, but I can't help with that."),
    Reply('{"claims": null}'),
    Reply('{"claims": {"evidence": 1}}'),
    Reply('{"facts": ["Oslo"]}'),
    Reply("[1, 2]"),
    Reply("7"),
    Reply("[" * 5_000),
    Reply('{"a":' * 5_000),
    Reply('{"claims": '),
    Reply(message={"content": 7}),
    Reply(message={"content": [7, {"text": 8}]}),
    Reply(body=b'{"choices": []}'),
    Reply(body=b'{"choices": null}'),
    Reply(body=b'{"choices": [{"message": null}]}'),
]


@pytest.mark.parametrize("reply", UNREADABLE, ids=range(len(UNREADABLE)))
async def test_an_answer_that_is_none_is_asked_for_once_more(
    extractor: MakeExtractor, chat: ChatServer, reply: Reply
) -> None:
    chat.replies.extend([reply, Reply(RIGHT)])
    model = extractor()
    (extracted,) = await model.extract([Turn(OSLO)])
    assert (values(extracted), extracted.rejected) == (["Oslo"], ())
    assert (model.usage.calls, model.usage.repairs) == (2, 1)
    chat.replies.extend([reply, reply])
    (extracted,) = await model.extract([Turn(OSLO)])
    assert extracted == Extracted((), (Declined.UNREADABLE,))
    assert (model.usage.calls, model.usage.rejected) == (4, 1)


WRONG: list[tuple[Any, Declined]] = [
    ("no object", Declined.FIELD),
    (None, Declined.FIELD),
    (said(evidence="I moved to Bergen"), Declined.EVIDENCE),
    (said(evidence=""), Declined.EVIDENCE),
    (said(evidence=...), Declined.EVIDENCE),
    (said(evidence=7), Declined.FIELD),
    (said(evidence="ved to Os"), Declined.EVIDENCE),
    (said(value="Bergen"), Declined.VALUE),
    (said(value=""), Declined.VALUE),
    (said(value=None), Declined.VALUE),
    (said(value=["Oslo"]), Declined.FIELD),
    (said(attribute="  "), Declined.ATTRIBUTE),
    (said(attribute="x" * 65), Declined.ATTRIBUTE),
    (said(attribute="lives\x00in"), Declined.ATTRIBUTE),
    (said(attribute="\ud83d lives"), Declined.ATTRIBUTE),
    (said(attribute="oslo"), Declined.ATTRIBUTE),
    (said(kind="rumour"), Declined.KIND),
    (said(kind=1), Declined.FIELD),
    (said(subject="Elvis"), Declined.SUBJECT),
    (said(subject="Oslo"), Declined.SUBJECT),
    (said(subject={}), Declined.FIELD),
    (said(time="in June"), Declined.TIME),
    (said(time=2019), Declined.FIELD),
    (said(time_role="since"), Declined.FIELD),
    (said(manner="maybe"), Declined.FIELD),
    (said(negated="yes"), Declined.FIELD),
    (said(negated=1), Declined.FIELD),
    (said(polarity="high", kind="preference"), Declined.FIELD),
    (said(polarity=2, kind="preference"), Declined.FIELD),
    (said(confidence=True), Declined.FIELD),
    (said(confidence=float("nan")), Declined.FIELD),
    (said(confidence=float("inf")), Declined.FIELD),
    (said(importance=10**400), Declined.FIELD),
    (said(importance=-0.1), Declined.FIELD),
    (said(statement="用户五月搬到了奥斯陆。"), Declined.STATEMENT),
    (said(statement="Пользователь переехал в Осло."), Declined.STATEMENT),
    (said(statement=[1]), Declined.FIELD),
]


@pytest.mark.parametrize(("claim", "reason"), WRONG, ids=range(len(WRONG)))
async def test_a_wrong_claim_is_sent_back_once_and_costs_no_other(
    extractor: MakeExtractor, chat: ChatServer, claim: Any, reason: Declined
) -> None:
    chat.replies.extend([Reply({"claims": [claim, TEA]}), Reply(RIGHT)])
    model = extractor()
    (extracted,) = await model.extract([Turn(OSLO)])
    assert (values(extracted), extracted.rejected) == (["Oslo", "tea"], ())
    # The model is shown the wrong one only.
    *_, reminder, request = chat.requests[1]["messages"]
    assert (reminder["role"], request["role"]) == ("assistant", "user")
    assert "tea" not in reminder["content"]
    assert "- claim 1:" in request["content"]
    assert "- claim 2:" not in request["content"]
    chat.replies.extend([Reply({"claims": [claim, TEA]}), Reply({"claims": [claim]})])
    (extracted,) = await model.extract([Turn(OSLO)])
    assert (values(extracted), extracted.rejected) == (["tea"], (reason,))
    assert len(chat.requests) == 4


async def test_a_translation_of_a_chinese_turn_is_sent_back(extractor: MakeExtractor, chat: ChatServer) -> None:
    text = "我在用 Flask 做网站。"
    claim = said(value="Flask", evidence="我在用 Flask", time="", statement="The user builds websites with Flask.")
    chat.replies.extend(
        [Reply({"claims": [claim]}), Reply({"claims": [{**claim, "statement": "用户在用 Flask 做网站。"}]})]
    )
    (extracted,) = await extractor().extract([Turn(text)])
    assert [each.statement for each in extracted.claims] == ["用户在用 Flask 做网站。"]


async def test_a_repair_that_fails_costs_nothing_that_was_right(extractor: MakeExtractor, chat: ChatServer) -> None:
    bad = said(evidence="made up")
    for second in (Reply("no"), Reply(None, message={"refusal": "no"}), Reply(status=400, body=b"content_filter")):
        chat.replies.extend([Reply({"claims": [TEA, bad]}), second])
        (extracted,) = await extractor().extract([Turn(OSLO)])
        assert (values(extracted), extracted.rejected) == (["tea"], (Declined.EVIDENCE,))


async def test_endless_claims_are_cut_off_and_not_sent_back(extractor: MakeExtractor, chat: ChatServer) -> None:
    chat.replies.append(Reply({"claims": [said(attribute=f"a{n}") for n in range(100)]}))
    (extracted,) = await extractor().extract([Turn(OSLO)])
    assert len(extracted.claims) == 32
    assert extracted.rejected == (Declined.SURPLUS,) * 68
    assert len(chat.requests) == 1


class TestCutOff:
    async def test_whole_claims_are_kept_and_the_rest_is_asked_for_once(
        self, extractor: MakeExtractor, chat: ChatServer
    ) -> None:
        broken = BOTH[: BOTH.index('"hates') if '"hates' in BOTH else -40]
        chat.replies.extend([Reply(broken, finish="length"), Reply({"claims": [TEA]})])
        (extracted,) = await extractor().extract([Turn(OSLO)])
        assert (values(extracted), extracted.rejected) == (["Oslo", "tea"], ())
        *_, reminder, request = chat.requests[1]["messages"]
        assert "Oslo" in reminder["content"]
        assert "cut off" in request["content"]

    async def test_cut_off_twice_it_says_so(self, extractor: MakeExtractor, chat: ChatServer) -> None:
        chat.answer = lambda request: Reply(BOTH[:-40], finish="length")
        (extracted,) = await extractor().extract([Turn(OSLO)])
        assert (values(extracted), extracted.rejected) == (["Oslo"], (Declined.CUT_OFF,))
        assert len(chat.requests) == 2

    @pytest.mark.parametrize("content", ["", '{"cla', '{"claims": [', '{"claims": [{"turn": 1, "ev', RIGHT[:-2], "[{"])
    async def test_wherever_it_breaks(self, extractor: MakeExtractor, chat: ChatServer, content: str) -> None:
        chat.replies.extend([Reply(content, finish="length"), Reply(BOTH)])
        (extracted,) = await extractor().extract([Turn(OSLO)])
        assert (values(extracted), extracted.rejected) == (["Oslo", "tea"], ())

    async def test_the_turns_that_it_did_not_reach_are_read_again(
        self, extractor: MakeExtractor, chat: ChatServer
    ) -> None:
        """With room for two claims an answer."""
        texts = [f"I have {n} cats and {n + 100} dogs." for n in range(1, 7)]

        def answer(request: dict[str, Any]) -> Reply:
            claims = [
                said(turn=each["turn"], value=word, evidence=word, attribute=f"has{at}", time="", statement="")
                for each in turns_shown(request)
                for at, word in enumerate((f"{each['text'].split()[2]} cats", f"{each['text'].split()[5]} dogs."))
            ]
            whole = len(claims) <= 2
            text = json.dumps({"claims": claims[:2]})
            return Reply(text if whole else text[:-2], finish="stop" if whole else "length")

        chat.answer = answer
        extracted = await extractor().extract([Turn(text) for text in texts])
        assert [len(each.claims) for each in extracted] == [2] * 6
        assert all(not each.rejected for each in extracted)


class TestRefusals:
    REFUSALS = (
        Reply(None, message={"refusal": "I can't read this."}),
        Reply("", finish="content_filter"),
        Reply(status=400, body=b'{"error": {"code": "content_filter", "message": "filtered"}}'),
        Reply(status=403, body=b'{"error": {"message": "flagged by moderation"}}'),
    )

    @pytest.mark.parametrize("refusal", REFUSALS, ids=range(4))
    async def test_a_turn_that_is_refused_costs_no_other_turn(
        self, extractor: MakeExtractor, chat: ChatServer, refusal: Reply
    ) -> None:
        turns = [Turn(OSLO), Turn("I moved to hell"), Turn(OSLO), Turn(OSLO)]

        def answer(request: dict[str, Any]) -> Reply:
            shown = turns_shown(request)
            if any("hell" in each["text"] for each in shown):
                return refusal
            return Reply({"claims": [said(turn=each["turn"]) for each in shown]})

        chat.answer = answer
        extracted = await extractor().extract(turns)
        assert [len(each.claims) for each in extracted] == [1, 0, 1, 1]
        assert extracted[1].rejected == (Declined.REFUSED,)

    async def test_a_turn_that_makes_the_model_babble_costs_no_other_turn(
        self, extractor: MakeExtractor, chat: ChatServer
    ) -> None:
        def answer(request: dict[str, Any]) -> Reply:
            shown = turns_shown(request)
            if any("babble" in each["text"] for each in shown):
                return Reply("blah blah")
            return Reply({"claims": [said(turn=each["turn"]) for each in shown]})

        chat.answer = answer
        extracted = await extractor().extract([Turn(OSLO), Turn("babble"), Turn(OSLO)])
        assert [len(each.claims) for each in extracted] == [1, 0, 1]
        assert extracted[1].rejected == (Declined.UNREADABLE,)
        # One, its repair, and the halves down to the turn to blame.
        assert len(chat.requests) == 2 + 4

    async def test_turns_that_are_too_long_for_the_model_are_read_in_smaller_parts(
        self, extractor: MakeExtractor, chat: ChatServer
    ) -> None:
        def answer(request: dict[str, Any]) -> Reply:
            if sum(len(each["text"]) for each in turns_shown(request)) > 700:
                return Reply(status=400, body=b'{"error": {"message": "the context length is 700"}}')
            return Reply(
                {"claims": [said(turn=each["turn"]) for each in turns_shown(request) if "Oslo" in each["text"]]}
            )

        chat.answer = answer
        long = OSLO + " And so on." * 200
        extracted = await extractor().extract([Turn(long), Turn(OSLO), Turn("y" * 701)])
        assert [values(each) for each in extracted] == [["Oslo"], ["Oslo"], []]
        assert all(not each.rejected for each in extracted)

    async def test_what_is_too_long_however_short_is_declined(self, extractor: MakeExtractor, chat: ChatServer) -> None:
        chat.answer = lambda request: Reply(status=413, body=b"")
        (extracted,) = await extractor().extract([Turn("word " * 200)])
        assert set(extracted.rejected) == {Declined.TOO_LONG}
