from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from memsidecar.command.arguments import documentation
from memsidecar.command.contradictions import contradictions
from memsidecar.command.settings import flag_of, variable_of
from memsidecar.config import Config, Health, Listen, Metrics, Redis, build, settings
from memsidecar.config.models import Embedding, Extraction, Reranker


def test_every_setting_has_a_reason_for_its_default() -> None:
    undocumented = [key for key in settings() if len(documentation().get(key, "")) < 10]
    assert undocumented == []


def test_every_section_has_a_description() -> None:
    assert all(documentation()[setting.section] for setting in settings().values())


def test_no_two_settings_share_a_flag_or_a_variable() -> None:
    everything = list(settings().values())
    assert len({variable_of(each) for each in everything}) == len(everything)
    assert len({flag_of(each) for each in everything}) == len(everything)


def test_defaults_contradict_nothing_and_a_config_without_values_is_the_default() -> None:
    assert list(contradictions(Config())) == []
    assert build({}) == Config()


def test_a_default_lies_within_its_own_limits() -> None:
    for setting in settings().values():
        if setting.within:
            assert setting.within.low <= setting.default <= setting.within.high, setting.key


def test_values_are_put_into_their_sections() -> None:
    config = build({"data_dir": Path("/d"), "redis.cluster": True, "embedding.provider": "e5"})
    assert (config.data_dir, config.redis.cluster, config.embedding.provider) == (Path("/d"), True, "e5")


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Config().namespace = "other"  # type: ignore[misc]


def test_the_socket_is_in_the_data_directory_unless_it_is_named() -> None:
    assert Config(data_dir=Path("/d")).socket_path == Path("/d/memsidecar.sock")
    assert Config(listen=Listen(socket="~/s.sock")).socket_path == Path("~/s.sock").expanduser()


def test_relative_paths_are_made_absolute() -> None:
    assert Config(data_dir=Path("here")).data_dir == Path.cwd() / "here"


def test_a_user_without_a_home_directory_must_name_the_data_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs with a user id that it does not know."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.getuid", lambda: 987_654)
    assert [key for key, _ in contradictions(Config())] == ["data_dir"]


def test_repr_never_shows_a_secret() -> None:
    config = Config(
        token="hush",
        embedding=Embedding(api_key="hush"),
        extraction=Extraction(api_key="hush"),
        redis=Redis(url="redis://u:hush@h", password="hush"),
    )
    assert "hush" not in repr(config)


@pytest.mark.parametrize(
    ("config", "key"),
    [
        (Config(listen=Listen(socket="/" + "x" * 107)), "listen.socket"),
        (Config(data_dir=Path("/" + "数" * 35)), "listen.socket"),
        (Config(reranker=Reranker("openai")), "reranker.model"),
        (Config(reranker=Reranker("rerank")), "reranker.model"),
        (Config(extraction=Extraction("llm")), "extraction.model"),
        (Config(listen=Listen(tcp_port=50_552), health=Health(port=50_552)), "listen.tcp_port"),
        (Config(metrics=Metrics(port=50_552)), "metrics.port"),
        (Config(listen=Listen(tcp_port=9_551)), "metrics.port"),
        (Config(embedding=Embedding(provider="openai")), "embedding.model"),
        (Config(embedding=Embedding(provider="client")), "embedding.dimensions"),
        (Config(namespace=""), "namespace"),
    ],
)
def test_values_that_do_not_go_together_are_named(config: Config, key: str) -> None:
    assert [found for found, _ in contradictions(config)] == [key]


def test_a_socket_path_of_107_bytes_is_accepted() -> None:
    assert list(contradictions(replace(Config(), listen=Listen(socket="/" + "x" * 106)))) == []


@pytest.mark.parametrize(
    ("redis", "url"),
    [
        (Redis(), ""),
        (Redis(url="redis://h:1/0"), "redis://h:1/0"),
        (Redis(url="redis://h:1", username="ann", password="p@ss/w"), "redis://ann:p%40ss%2Fw@h:1"),
        (Redis(url="redis://old:older@h:1", password="new"), "redis://old:new@h:1"),
        (Redis(url="rediss+cluster://h:1", password="p"), "rediss+cluster://:p@h:1"),
        (Redis(password="p"), ""),
    ],
)
def test_user_and_password_become_part_of_the_connection_url(redis: Redis, url: str) -> None:
    assert redis.connection_url == url
