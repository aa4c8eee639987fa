"""The example agents, as whoever starts them sees them: real processes, the real sidecar, a scripted model.

`make test` plays the Python agent, `make go-test` the Go agent: both show the same.
"""

from __future__ import annotations

import os
import pty
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from memsidecar_client import Episode, Memsidecar

from tests.clients.agents.agents import Agent, endpoint, scripted
from tests.e2e.process import CLIENT_VECTORS
from tests.sidecar import Sidecar

FIRST, SECOND = (Path(__file__).parent / "conversation.txt").read_text().split("----\n")
CORRECTED = (Path(__file__).parent / "corrected.txt").read_text()
CONCERT = "The Fado concert in Alfama begins at 21:30."
Messages = list[dict[str, str]]


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    with Sidecar(tmp_path_factory.mktemp("sidecar") / "data") as started:
        yield started


def said(transcript: str) -> list[str]:
    return re.findall(r"^❯ (.*)$", transcript, re.MULTILINE)


def normal(shown: str) -> str:
    """Without what is not the same for each model and ranking."""
    return re.sub(r"^  ◦ \d+ in the prompt$", "  ◦ N in the prompt", shown, flags=re.MULTILINE)


def remembered(sidecar: Sidecar, user: str) -> str:
    with Memsidecar(sidecar.target, user=user) as memory:
        return "\n".join(each.text for each in memory.list_memories(page_size=1000))


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """One that tests may kill; the next one starts it again."""
    with Sidecar(tmp_path_factory.mktemp("mortal") / "data", CLIENT_VECTORS) as started:
        yield started


@contextmanager
def no_endpoint() -> Iterator[dict[str, str]]:
    yield {}


@pytest.mark.parametrize(
    ("model", "described"),
    [
        (no_endpoint, "a scripted model answers: OPENAI_API_KEY is not set"),
        (lambda: endpoint(scripted), "a-model answers"),
    ],
    ids=["scripted", "endpoint"],
)
def test_what_is_told_in_one_run_is_recalled_in_the_next_while_the_model_writes(
    sidecar: Sidecar, tmp_path: Path, request: pytest.FixtureRequest, model: object, described: str
) -> None:
    assert callable(model)
    user = request.node.callspec.id
    with model() as variables:
        for number, expected in enumerate((FIRST, SECOND)):
            script = tmp_path / f"{number}.txt"
            script.write_text("\n".join(said(expected)))
            with Agent(sidecar.target, user, f"--script={script}", variables=variables) as agent:
                assert agent.end() == 0, agent.errors
            assert normal(agent.shown) == expected.replace("MODEL", described)
            assert agent.errors == ""


def test_a_memory_that_is_corrected_while_the_model_writes_is_taken_back_and_told(sidecar: Sidecar) -> None:
    with Memsidecar(sidecar.target, user="corrected") as calendar:
        calendar.remember_many(said(FIRST))
        (concert,) = [each for each in calendar.list_memories() if each.text == CONCERT]
        assert isinstance(concert.body, Episode)
        later = replace(concert, body=replace(concert.body, text=CONCERT.replace("21:30", "20:00")), etag="")
        asked: list[str] = []

        def answer(messages: Messages) -> Iterator[str]:
            asked.append(messages[-1]["content"])
            if len(asked) == 2:
                calendar.update_memory(later, fields=["episode.text"])
            yield from scripted(messages)

        with endpoint(answer) as variables, Agent(sidecar.target, "corrected", variables=variables) as agent:
            assert agent.end("What shall we do tonight?") == 0
    assert normal(agent.shown) == CORRECTED
    assert f'- no longer true: "{CONCERT}"' in asked[2]


def test_the_answer_goes_on_without_the_sidecar_and_with_it_when_it_is_back(mortal: Sidecar) -> None:
    def answer(_: Messages) -> Iterator[str]:
        yield "One."
        agent.shows("One.")
        mortal.kill()
        yield " Two."
        agent.shows("memory is away")
        mortal.start()
        while "memory is back" not in agent.shown:
            yield " More."
        yield " Done."

    with endpoint(answer) as variables, Agent(mortal.target, "ann", variables=variables) as agent:
        assert agent.end("My sister lives in Porto.") == 0
    assert agent.shown.endswith("Done.\n  ◦ session ended and remembered\n")
    assert "My sister lives in Porto" in remembered(mortal, "ann")


def test_what_is_asked_while_the_sidecar_is_away_is_answered_without_memory(mortal: Sidecar) -> None:
    with Agent(mortal.target, "ben") as agent:
        agent.say("My sister lives in Porto.")
        agent.shows("Noted.\n")
        mortal.kill()
        assert agent.end("I collect old maps.") == 1
    mortal.start()
    note, answer, end = agent.shown.partition("❯ I collect old maps.\n")[2].splitlines()
    assert note.startswith("  ! answered without memory, and not remembered: ")
    assert answer == "Noted."
    assert end.startswith("  ! the session is left open: ")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_stops_the_answer_and_keeps_what_was_said(sidecar: Sidecar, number: signal.Signals, code: int) -> None:
    user = number.name
    released = threading.Event()

    def answer(_: Messages) -> Iterator[str]:
        yield "A long story."
        released.wait()

    with endpoint(answer) as variables, Agent(sidecar.target, user, variables=variables) as agent:
        agent.say("My sister lives in Porto.")
        agent.shows("A long story.")
        agent.signal(number)
        assert agent.wait() == code
        released.set()
    assert agent.shown.endswith("A long story.\n  ! stopped\n  ◦ session ended and remembered\n")
    assert "User: My sister lives in Porto.\nAssistant: A long story." in remembered(sidecar, user)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_while_memory_is_asked_stops_the_answer_before_it_begins(
    mortal: Sidecar, number: signal.Signals, code: int
) -> None:
    asked: list[Messages] = []

    def answer(messages: Messages) -> Iterator[str]:
        asked.append(messages)
        yield "One."

    with endpoint(answer) as variables, Agent(mortal.target, "hasty", variables=variables) as agent:
        agent.say("My sister lives in Porto.")
        agent.shows("One.\n")
        os.kill(mortal.pid, signal.SIGSTOP)
        try:
            agent.say("And mine in Oslo.")
            agent.shows("❯ And mine in Oslo.\n")
            agent.signal(number)
            # Without memory, after three seconds.
            agent.shows("answered without memory")
        finally:
            os.kill(mortal.pid, signal.SIGCONT)
        assert agent.wait() == (code or 1)
    assert "  ! stopped\n" in agent.shown.partition("❯ And mine in Oslo.\n")[2]
    assert len(asked) == 1


def test_what_a_terminal_would_obey_is_shown_and_not_obeyed(sidecar: Sidecar) -> None:
    with Memsidecar(sidecar.target, user="hostile") as memory:
        memory.remember("The Fado concert in Alfama \x1b[2J\x9b2J\u202e begins at 21:30.")

    def answer(messages: Messages) -> Iterator[str]:
        yield "Oslo \x1b]0;owned\x07 or\r\nRome.\tOr the \ud800 Fado concert in Alfama."

    with endpoint(answer) as variables, Agent(sidecar.target, "hostile", variables=variables) as agent:
        assert agent.end("\x1b[31mWhat\x1b[0m now?") == 0
    assert "❯ \\x1b[31mWhat\\x1b[0m now?\n" in agent.shown
    assert "Oslo \\x1b]0;owned\\x07 or\nRome.\tOr the \ufffd Fado" in agent.shown
    assert [each for each in agent.shown if each not in "\n\t" and not each.isprintable()] == []


def test_ctrl_c_stops_an_answer_and_at_the_prompt_it_ends(sidecar: Sidecar) -> None:
    typing, terminal = pty.openpty()
    released = threading.Event()

    def answer(_: Messages) -> Iterator[str]:
        yield "A long story."
        released.wait()

    with endpoint(answer) as variables, Agent(sidecar.target, "typist", stdin=terminal, variables=variables) as agent:
        os.write(typing, b"Hello there\n")
        agent.shows("A long story.")
        agent.signal(signal.SIGINT)
        agent.shows("  ! stopped\n❯ ")
        agent.signal(signal.SIGINT)
        assert agent.wait() == 130
        released.set()
    os.close(typing)
    os.close(terminal)
    assert agent.shown.endswith("❯ \n  ◦ session ended and remembered\n")


def test_a_model_that_fails_costs_the_exit_code_and_not_what_was_said(sidecar: Sidecar) -> None:
    with endpoint(scripted) as variables:
        variables["OPENAI_BASE_URL"] += "/nowhere"
        with Agent(sidecar.target, "unlucky", variables=variables) as agent:
            assert agent.end("My sister lives in Porto.") == 1
    assert "  ! the model failed\n" in agent.shown
    assert "404" in agent.errors
    assert "My sister lives in Porto" in remembered(sidecar, "unlucky")


def test_it_says_where_it_looked_for_a_sidecar(tmp_path: Path) -> None:
    with Agent(f"unix://{tmp_path}/none", "ann", "--wait=0.5") as agent:
        assert agent.end("Hello.") == 1
    assert f"{tmp_path}/none" in agent.errors
    assert "memsidecar serve" in agent.errors
