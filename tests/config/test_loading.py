from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from memsidecar.command.settings import ConfigError, Loaded, load

WriteFile = Callable[[str], str]


@pytest.fixture
def yaml_file(tmp_path: Path) -> WriteFile:
    def write(text: str) -> str:
        path = tmp_path / "memsidecar.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def problems(
    flags: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None, file: str = ""
) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load(flags or {}, environment or {}, file)
    return caught.value.problems


SOURCES = ("file", "environment", "flag")


@pytest.mark.parametrize("given", [c for n in range(4) for c in itertools.combinations(SOURCES, n)], ids=str)
def test_flags_win_over_the_environment_over_the_file_over_the_default(
    given: tuple[str, ...], yaml_file: WriteFile
) -> None:
    file = yaml_file("limits:\n  max_streams: 1\n") if "file" in given else ""
    environment = {"MEMSIDECAR_LIMITS_MAX_STREAMS": "2"} if "environment" in given else {}
    flags = {"limits.max_streams": "3"} if "flag" in given else {}
    loaded = load(flags, environment, file)
    values = {"file": 1, "environment": 2, "flag": 3, "default": 64}
    names = {
        "file": f"{file}:2",
        "environment": "environment MEMSIDECAR_LIMITS_MAX_STREAMS",
        "flag": "flag --limits.max-streams",
        "default": "default",
    }
    winner = given[-1] if given else "default"
    assert loaded.config.limits.max_streams == values[winner]
    assert loaded.sources["limits.max_streams"] == names[winner]
    assert loaded.sources["namespace"] == "default"


def test_the_file_may_be_named_by_the_environment(yaml_file: WriteFile) -> None:
    assert load({}, {"MEMSIDECAR_CONFIG": yaml_file("namespace: 团队")}).config.namespace == "团队"


def test_numbers_are_read_as_they_are_written_not_as_yaml_reads_them(yaml_file: WriteFile) -> None:
    loaded = load({}, {}, yaml_file("namespace: 0123\nlisten: {socket_mode: 0600}\nreflection: yes\n"))
    assert loaded.config.namespace == "0123"
    assert loaded.config.listen.socket_mode == 0o600
    assert loaded.config.reflection is True


def test_an_empty_file_an_empty_section_and_an_empty_value_change_nothing(yaml_file: WriteFile) -> None:
    for text in ("", "# nothing\n", "redis:\n", "namespace:\n"):
        assert load({}, {}, yaml_file(text)).config == load({}, {}).config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("embeding:\n  provider: e5\n", "embeding is not a setting ({file}:1); did you mean embedding?"),
        (
            "\nembedding:\n  provder: e5\n",
            "embedding.provder is not a setting ({file}:3); did you mean embedding.provider?",
        ),
        ("buffer_pool_mb: 3\n", "buffer_pool_mb is not a setting ({file}:1); did you mean graph.buffer_pool_mb?"),
        ("zzz: 3\n", "zzz is not a setting ({file}:1); `memsidecar config` prints all settings"),
        ("namespace: [a]\n", "namespace must be one value, not a list or a mapping ({file}:1)"),
        ("redis: here\n", "redis must hold settings, as `name: value` ({file}:1)"),
        ("- a\n", "the configuration file must hold settings, as `name: value` ({file}:1)"),
        ("namespace: a\nnamespace: b\n", "namespace is set twice ({file}:1 and {file}:2)"),
        ("a: [\n", "{file}:2 is not YAML: expected the node content, but found '<stream end>'"),
        (
            "graph:\n  engine: neo4j\n",
            "graph.engine is neo4j ({file}:2): must be one of kuzu, ladybug",
        ),
    ],
)
def test_what_is_wrong_in_the_file_is_said_with_its_line(text: str, message: str, yaml_file: WriteFile) -> None:
    file = yaml_file(text)
    assert problems(file=file) == (message.format(file=file),)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert problems(file=str(tmp_path / "none.yaml"))[0].endswith("cannot be read: No such file or directory")
    (tmp_path / "latin").write_bytes(b"namespace: \xe9")
    assert problems(file=str(tmp_path / "latin"))[0].endswith("is not UTF-8 text")


@pytest.mark.parametrize(
    ("key", "text", "accepted"),
    [
        ("listen.tcp_port", "65536", "must be a whole number from 0 to 65535"),
        ("listen.tcp_port", "-1", "must be a whole number from 0 to 65535"),
        ("listen.tcp_port", "eighty", "must be a whole number from 0 to 65535"),
        ("drain_grace", "nan", "must be a number from 0 to 3600 s"),
        ("drain_grace", "inf", "must be a number from 0 to 3600 s"),
        ("listen.socket_mode", "0888", "must be a number in octal from 0600 to 0777"),
        ("reflection", "maybe", "must be true or false"),
        ("data_dir", "", "must be a path"),
        ("namespace", "a\x00b", "must not hold a NUL"),
        ("embedding.provider", "gpt", "must be one of use, e5, use+e5, openai, client, none"),
    ],
)
def test_a_value_that_is_not_accepted_says_what_is(key: str, text: str, accepted: str) -> None:
    (problem,) = problems({key: text})
    assert problem.startswith(f"{key} is ")
    assert problem.endswith(accepted)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    assert len(problems({"reflection": "x", "listen.tcp_port": "y"}, {"MEMSIDECAR_LOG_LEVEL": "z"})) == 3


def test_a_secret_that_is_refused_is_not_repeated() -> None:
    (problem,) = problems(environment={"MEMSIDECAR_TOKEN": "hu\x00sh"})
    assert "hu" not in problem


def test_contradictions_name_their_source() -> None:
    (problem,) = problems({"embedding.provider": "openai"})
    assert problem.startswith("embedding.model: embedding.provider is openai")
    (problem,) = problems({"listen.socket": "/" + "x" * 200})
    assert problem.endswith("(flag --listen.socket)")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            {"tokenizer": "foo"},
            "tokenizer: 'foo' is no encoding; there are o200k, cl100k, llama3, qwen3, estimate (flag --tokenizer)",
        ),
        (
            {"listen.tcp_host": "10.9.9.9", "listen.tcp_port": "1234"},
            "listen.tcp_host: a port on 10.9.9.9 needs a token",
        ),
        ({"listen.tcp_host": "10.9.9.9", "listen.tcp_port": "1234"}, "set token_file"),
        (
            {"embedding.provider": "openai", "embedding.model": "m", "embedding.base_url": "foo"},
            "embedding.base_url: is",
        ),
        (
            {"reranker.provider": "rerank", "reranker.model": "m", "reranker.base_url": "http://"},
            "reranker.base_url: is",
        ),
        (
            {"extraction.mode": "llm", "extraction.model": "m", "extraction.base_url": "ftp://h"},
            "extraction.base_url: is",
        ),
        ({"redis.cluster": "true"}, "redis.cluster: redis.url is empty"),
    ],
)
def test_what_no_start_could_do_is_said_with_its_setting(flags: Mapping[str, str], message: str) -> None:
    (problem,) = problems(flags)
    assert message in problem


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("foo", "must start with one of redis://"),
        ("redis:host", "must start with one of redis://"),
        ("http://u:hush@h", "must start with one of redis://"),
        ("redis://u:hush@h:port", "is not a Redis address"),
        ("redis://u:hush@[::1", "is not a Redis address"),
        ("redis://u:hu#sh@h:6379", "is not a Redis address"),
        ("redis://u:hush@h:6379/99x", "has a database that is not a number"),
        ("redis://u:hush@h:6379?db=x", "has a database that is not a number"),
        ("redis+cluster://u:hush@h:6379/3", "a cluster has number 0 only"),
        ("unix+cluster://u:hush@/run/s", "must start with one of redis://"),
        ("unix://", "names no socket"),
    ],
)
def test_a_wrong_redis_url_is_known_without_asking_it_and_is_not_repeated(url: str, message: str) -> None:
    (problem,) = problems({"redis.url": url})
    assert problem.startswith("redis.url: ")
    assert message in problem
    assert problem.endswith("(flag --redis.url)")
    assert "hu" not in problem


@pytest.mark.parametrize(
    "url",
    [
        "redis://h",
        "redis://u:p%40w@[::1]:6379/0",
        "rediss://h:6380/3?ssl_check_hostname=false",
        "unix://u:p@/run/s?db=1",
        "redis+cluster://h:6379/0",
        "rediss+cluster://h",
    ],
)
def test_a_redis_url_of_every_kind_is_taken(url: str) -> None:
    assert load({"redis.url": url}, {}).config.redis.url == url


def test_the_address_of_redis_is_for_people_and_has_no_password() -> None:
    for url, address in (
        ("redis://u:hush@h:6379/3", "h:6379"),
        ("unix://u:hush@/run/s?db=1", "/run/s"),
        ("unix:///run/s", "/run/s"),
        ("", ""),
    ):
        assert load({"redis.url": url}, {}).config.redis.address == address


class TestEnvironment:
    def test_a_misspelt_variable_is_a_warning_with_the_nearest_one(self) -> None:
        loaded = load({}, {"MEMSIDECAR_EMBEDING_PROVIDER": "e5"})
        assert loaded.warnings == (
            "environment variable MEMSIDECAR_EMBEDING_PROVIDER sets nothing; "
            "did you mean MEMSIDECAR_EMBEDDING_PROVIDER?",
        )

    def test_what_kubernetes_adds_for_a_service_of_that_name_is_no_error(self) -> None:
        links = {
            "MEMSIDECAR_SERVICE_HOST": "10.0.0.1",
            "MEMSIDECAR_PORT": "tcp://10.0.0.1:1",
            "MEMSIDECAR_SERVICE_PORT": "1",
        }
        assert load({}, links).warnings == ()

    def test_a_service_link_that_hides_a_setting_is_explained(self) -> None:
        (problem,) = problems(environment={"MEMSIDECAR_HEALTH_PORT": "tcp://10.0.0.1:1"})
        assert problem.endswith("set enableServiceLinks to false")


class TestSecretFiles:
    def loaded(self, file: Path, **environment: str) -> Loaded:
        return load({"token_file": str(file)}, environment)

    def test_the_secret_is_what_the_file_holds_without_the_line_break(self, tmp_path: Path) -> None:
        (tmp_path / "token").write_text("hush\n")
        loaded = self.loaded(tmp_path / "token")
        assert loaded.config.token == "hush"
        assert loaded.sources["token"] == f"file {tmp_path / 'token'}"

    def test_an_empty_file_is_an_error_and_not_an_empty_token(self, tmp_path: Path) -> None:
        (tmp_path / "token").write_text(" \n")
        with pytest.raises(ConfigError, match="which is empty"):
            self.loaded(tmp_path / "token")

    def test_a_missing_file_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
            self.loaded(tmp_path / "token")

    def test_a_file_beside_a_value_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "token").write_text("hush")
        with pytest.raises(ConfigError, match="both set; keep one"):
            self.loaded(tmp_path / "token", MEMSIDECAR_TOKEN="other")

    def test_each_secret_has_a_file_variant(self, tmp_path: Path) -> None:
        (tmp_path / "s").write_text("hush")
        path = str(tmp_path / "s")
        keys = ("embedding.api_key_file", "reranker.api_key_file", "extraction.api_key_file", "redis.password_file")
        config = load(dict.fromkeys(keys, path), {}).config
        assert (config.embedding.api_key, config.redis.password) == ("hush", "hush")
        assert (config.reranker.api_key, config.extraction.api_key) == ("hush", "hush")
