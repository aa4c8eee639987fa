"""What OpenTelemetry's own variables say, for settings that nothing of memsidecar's own sets.

A pod, a collector's operator or a shell sets them for whatever runs there; that traces are sent there is what is
expected. See https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

ENDPOINT: Final = "tracing.endpoint"
_PROTOCOL: Final = "http/protobuf"


@dataclass(frozen=True, slots=True)
class Found:
    """A setting's text, and the variable it is from."""

    key: str
    text: str
    variable: str


class Unusable(ValueError):
    """A variable that says what memsidecar cannot do; the message says what it can."""


def is_disabled(environment: Mapping[str, str]) -> bool:
    """Whether the switch for all of OpenTelemetry is thrown, which goes before whatever else is set."""
    return environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def endpoint(environment: Mapping[str, str]) -> Found | None:
    """Where traces go. A variable that is empty counts as unset, as the specification has it."""
    if environment.get("OTEL_TRACES_EXPORTER", "").strip() == "none":
        return None
    if own := environment.get(name := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "").strip():
        return Found(ENDPOINT, own, name)
    if base := environment.get(name := "OTEL_EXPORTER_OTLP_ENDPOINT", "").strip():
        return Found(ENDPOINT, f"{base.rstrip('/')}/v1/traces", name)
    return None


def others(environment: Mapping[str, str]) -> Iterator[Callable[[], tuple[Found, ...]]]:
    """The settings beside the endpoint, each given by a call that raises Unusable. Only to be asked when traces are
    sent: what is wrong here is nobody's concern else."""
    yield lambda: _protocol(environment)
    yield lambda: _text(environment, "tracing.service_name", "OTEL_SERVICE_NAME")
    yield lambda: _text(environment, "tracing.attributes", "OTEL_RESOURCE_ATTRIBUTES")
    yield lambda: _text(
        environment, "tracing.headers", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"
    )
    yield lambda: _sampler(environment)


def _text(environment: Mapping[str, str], key: str, *variables: str) -> tuple[Found, ...]:
    for name in variables:
        if text := environment.get(name, "").strip():
            return (Found(key, text, name),)
    return ()


def _protocol(environment: Mapping[str, str]) -> tuple[Found, ...]:
    for found in _text(environment, "", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if found.text != _PROTOCOL:
            raise Unusable(
                f"{found.variable} is {found.text}, and traces are sent as {_PROTOCOL} only: set it to that, and the "
                "endpoint to the collector's port for it, usually 4318"
            )
    return ()


def _sampler(environment: Mapping[str, str]) -> tuple[Found, ...]:
    name = "OTEL_TRACES_SAMPLER"
    chosen = environment.get(name, "").strip()
    if not chosen:
        return ()
    kind = chosen.removeprefix("parentbased_")
    ratios = {"always_on": "1", "always_off": "0", "traceidratio": ""}
    if kind not in ratios:
        every = ", ".join([*ratios, *(f"parentbased_{each}" for each in ratios)])
        raise Unusable(f"{name} is {chosen}; must be one of {every}")
    follows = Found("tracing.follow_caller", "true" if kind != chosen else "false", name)
    if ratios[kind]:
        return Found("tracing.sample_ratio", ratios[kind], name), follows
    argument = f"{name}_ARG"
    return Found("tracing.sample_ratio", environment.get(argument, "").strip() or "1", argument), follows
