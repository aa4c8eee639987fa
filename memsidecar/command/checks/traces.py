"""The collector of traces, asked as the process will ask it."""

from __future__ import annotations

from http.client import HTTPException
from importlib.util import find_spec
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from memsidecar.command.checks.outcome import Outcome, fail, ok, warn
from memsidecar.config import Config
from memsidecar.domain.key_values import read_key_values

# Top-level packages are looked for: asking for a module in one would import it.
PACKAGES = ("opentelemetry", "requests")
LATER = "until then traces are lost, and nothing else"


def collector(config: Config) -> Outcome:
    """Sends an empty list of spans."""
    settings = config.tracing
    if not settings.endpoint:
        return ok("tracing.endpoint is empty: no traces")
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        return fail(f"traces need {missing[0]}, which is not installed", "pip install 'memsidecar[tracing]'")
    headers = read_key_values(settings.headers, "tracing.headers")
    request = Request(settings.url, b"", {"Content-Type": "application/x-protobuf", **headers})
    try:
        with urlopen(request, timeout=settings.timeout):
            return ok("the collector takes traces")
    except HTTPError as error:
        advice = {
            401: "set tracing.headers_file",
            403: "set tracing.headers_file",
            404: "check the path of tracing.endpoint, usually /v1/traces",
        }
        return warn(f"the collector answers {error.code}", f"{advice.get(error.code, 'look at its log')}; {LATER}")
    except (URLError, HTTPException, OSError, ValueError) as error:
        hint = (
            "check tracing.endpoint (the port for HTTP is usually 4318; 4317 is that for gRPC) and the network policy"
        )
        return warn(f"the collector does not answer ({type(error).__name__})", f"{hint}; {LATER}")
