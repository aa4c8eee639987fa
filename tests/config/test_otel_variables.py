"""OpenTelemetry's own variables, where nothing of memsidecar's says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from memsidecar.command.settings import ConfigError, load

COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}


def problems(environment: Mapping[str, str], flags: Mapping[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load(flags or {}, environment)
    return str(caught.value)


def test_they_turn_traces_on_and_say_where_from() -> None:
    loaded = load({}, {**COLLECTOR, "OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "a=b"})
    tracing = loaded.config.tracing
    assert tracing.url == "http://collector:4318/v1/traces"
    assert (tracing.service_name, tracing.attributes) == ("mine", "a=b")
    assert loaded.sources["tracing.endpoint"] == "environment OTEL_EXPORTER_OTLP_ENDPOINT"
    assert loaded.sources["tracing.sample_ratio"] == "default"


@pytest.mark.parametrize(
    ("variables", "url"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "https://host/otlp/"}, "https://host/otlp/v1/traces"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t:1/here", **COLLECTOR}, "http://t:1/here"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, ""),
        ({"OTEL_TRACES_EXPORTER": "none", **COLLECTOR}, ""),
        ({"OTEL_SDK_DISABLED": "true", **COLLECTOR, "MEMSIDECAR_TRACING_ENDPOINT": "http://own:1"}, ""),
        ({"MEMSIDECAR_TRACING_ENDPOINT": "", **COLLECTOR}, ""),
        ({"MEMSIDECAR_TRACING_ENDPOINT": "http://own:1", **COLLECTOR}, "http://own:1/v1/traces"),
        ({"MEMSIDECAR_TRACING_ENDPOINT": "http://own:1/own"}, "http://own:1/own"),
    ],
    ids=str,
)
def test_where_traces_go(variables: Mapping[str, str], url: str) -> None:
    tracing = load({}, variables).config.tracing
    assert (tracing.url if tracing.endpoint else "") == url


@pytest.mark.parametrize(
    ("sampler", "argument", "ratio", "follows"),
    [
        ("parentbased_always_on", "", 1.0, True),
        ("always_on", "", 1.0, False),
        ("parentbased_always_off", "", 0.0, True),
        ("parentbased_traceidratio", "0.25", 0.25, True),
        ("traceidratio", "0.5", 0.5, False),
        ("traceidratio", "", 1.0, False),
    ],
)
def test_samplers(sampler: str, argument: str, ratio: float, follows: bool) -> None:
    variables = {**COLLECTOR, "OTEL_TRACES_SAMPLER": sampler, "OTEL_TRACES_SAMPLER_ARG": argument}
    tracing = load({}, variables).config.tracing
    assert (tracing.sample_ratio, tracing.follow_caller) == (ratio, follows)


def test_a_setting_of_memsidecars_own_goes_before(tmp_path: Path) -> None:
    file = tmp_path / "memsidecar.yaml"
    file.write_text("tracing: {service_name: own, sample_ratio: 0.1}\n")
    variables = {**COLLECTOR, "OTEL_SERVICE_NAME": "other", "OTEL_TRACES_SAMPLER": "always_on"}
    tracing = load({}, variables, str(file)).config.tracing
    assert (tracing.service_name, tracing.sample_ratio, tracing.follow_caller) == ("own", 0.1, False)


def test_headers_come_from_a_file_or_a_variable_not_from_both(tmp_path: Path) -> None:
    file = tmp_path / "headers"
    file.write_text("authorization=Bearer%20own\n")
    variables = {**COLLECTOR, "OTEL_EXPORTER_OTLP_HEADERS": "authorization=other"}
    assert load({}, variables).config.tracing.headers == "authorization=other"
    own = {**variables, "MEMSIDECAR_TRACING_HEADERS_FILE": str(file)}
    assert load({}, own).config.tracing.headers == "authorization=Bearer%20own"


def test_what_is_wrong_is_named_and_only_where_traces_are_sent() -> None:
    wrong = {
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_TRACES_SAMPLER": "xray",
        "OTEL_RESOURCE_ATTRIBUTES": "team",
        "OTEL_EXPORTER_OTLP_HEADERS": "hush",
    }
    assert load({}, wrong).config.tracing.endpoint == ""
    first = problems({**COLLECTOR, **wrong})
    assert "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and traces are sent as http/protobuf only" in first
    assert "OTEL_TRACES_SAMPLER is xray; must be one of always_on" in first
    second = problems({**COLLECTOR, **{key: wrong[key] for key in list(wrong)[2:]}})
    assert "tracing.attributes: entry 1 is not of the form key=value" in second
    assert "(environment OTEL_EXPORTER_OTLP_HEADERS)" in second
    assert "hush" not in second
    ratio = {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "2"}
    assert (
        'tracing.sample_ratio is "2" (environment OTEL_TRACES_SAMPLER_ARG): must be a number from 0 to 1'
        in problems({**COLLECTOR, **ratio})
    )


@pytest.mark.parametrize("endpoint", ["collector:4318", "grpc://collector:4317", "http://", "http://h:x", "nonsense"])
def test_an_endpoint_is_an_http_address(endpoint: str) -> None:
    assert "tracing.endpoint: is not an http(s) address" in problems({}, {"tracing.endpoint": endpoint})


@pytest.mark.parametrize("headers", ["a b=c", "schlüssel=c", "authorization=Bearer%20秘密"])
def test_a_header_that_http_does_not_carry_is_an_error_of_the_start(headers: str) -> None:
    said = problems({**COLLECTOR, "OTEL_EXPORTER_OTLP_HEADERS": headers})
    assert "tracing.headers: holds a name or a value that no HTTP header may have" in said
    assert "秘密" not in said
