"""Where traces go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit, urlunsplit

from memsidecar.config.kinds import Secret, Url, Within


@dataclass(frozen=True, slots=True)
class Tracing:
    """OpenTelemetry traces. Needs pip install 'memsidecar[tracing]'; the image has it. OpenTelemetry's own variables
    (OTEL_EXPORTER_OTLP_ENDPOINT and so on) count where nothing is set here."""

    endpoint: Url = ""
    """Address of a collector that takes OTLP over HTTP, such as http://localhost:4318; /v1/traces is added when it has
    no path. Empty: off, because nobody may be there."""
    sample_ratio: Annotated[float, Within(0, 1)] = 1.0
    """Part of the traces that is kept, of those that no caller has decided on. All: one agent makes few calls. A busy
    sidecar wants less: a recall that is kept takes up to a fifth longer."""
    follow_caller: bool = True
    """Whether a call is kept if its caller's trace is, and only then: half a trace helps nobody. false: sample_ratio
    decides of every call."""
    service_name: str = "memsidecar"
    """Name under which traces appear. Another one tells the sidecars of several agents apart."""
    attributes: str = ""
    """What else says who sends: "deployment.environment.name=prod,k8s.pod.name=agent-0"."""
    headers: Secret = field(default="", repr=False)
    """Headers of each request to the collector, such as a key: "authorization=Bearer%20...". Empty: none."""
    headers_file: str = ""
    """File that holds the headers, such as a mounted Secret."""
    timeout: Annotated[float, Within(0.1, 60, "s")] = 10.0
    """Seconds for sending one batch, tries included. No call waits for it."""

    @property
    def url(self) -> str:
        """Where spans are posted to: the endpoint, with the usual path when it has none."""
        parts = urlsplit(self.endpoint)
        return urlunsplit(parts._replace(path="/v1/traces")) if parts.path in ("", "/") else self.endpoint
