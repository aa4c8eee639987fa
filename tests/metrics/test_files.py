"""What is written about the metrics, and what reads them, is about what the process exposes: the table, the rules, the
dashboard. One process does a little of everything for them all."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest
import yaml
from prometheus_client import Metric

from memsidecar import __version__
from tests.metrics.scenario import shown_after_a_little_of_everything
from tests.metrics.scrape import read

DEPLOY = Path(__file__).parents[2] / "deploy"
# What Prometheus adds to every sample of a pod; `le` is that of a histogram.
ADDED = {"job", "instance", "namespace", "pod", "container", "le", "__name__"}
# Shown only when it has happened.
SELDOM = {"OVERLOADED", "LEDGER_DAMAGED", "Internal|Unavailable|DataLoss|Unknown"}
LABELS_THAT_NO_USER_MAKES = {
    "action", "cause", "direction", "embedding_model", "graph_engine", "grpc_code", "grpc_method", "grpc_service",
    "grpc_type", "kind", "outcome", "part", "projection", "python", "reason", "source", "state", "version",
}  # fmt: skip


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> list[Metric]:
    return read(asyncio.run(shown_after_a_little_of_everything(tmp_path_factory.mktemp("shown"))))


def name_of(metric: Metric) -> str:
    return f"{metric.name}_total" if metric.type == "counter" else str(metric.name)


def labels_of(metric: Metric) -> set[str]:
    return {label for sample in metric.samples for label in sample.labels} - {"le"}


def test_the_document_has_every_metric_and_no_other(exposed: list[Metric]) -> None:
    rows = re.findall(
        r"^\| `((?:grpc|memsidecar|process)_\w+)` \| (\w+) \| (.*?) \| (.+?) \|", _document(), re.MULTILINE
    )
    written = {name: (kind, set(re.findall(r"`(\w+)`", labels)), text) for name, kind, labels, text in rows}
    assert len(written) == len(rows)
    assert written == {name_of(each): (each.type, labels_of(each), each.documentation) for each in exposed}


def test_every_metric_has_a_value_a_unit_and_a_name_by_the_rules(exposed: list[Metric]) -> None:
    names = [name_of(each) for each in exposed]
    assert len(names) == len(set(names))
    for each in exposed:
        name = name_of(each)
        assert re.fullmatch(r"(grpc_server|memsidecar|process)_[a-z_]+", name)
        assert each.documentation.endswith("."), name
        # A counter says so, and nothing else does; base units only.
        assert name.endswith("_total") == (each.type == "counter"), name
        assert not re.search(r"_(ms|millis\w*|minutes|kb|mb|percent)(_|$)", name), name
        assert each.type != "histogram" or name.endswith("_seconds"), name
        assert each.samples, name


def test_no_label_has_values_that_users_make(exposed: list[Metric]) -> None:
    assert {label for each in exposed for label in labels_of(each)} == LABELS_THAT_NO_USER_MAKES
    for each in exposed:
        series = {tuple(sorted(sample.labels.items())) for sample in each.samples if "le" not in sample.labels}
        assert len(series) <= 64, name_of(each)


def test_what_the_scenario_did_is_counted(exposed: list[Metric]) -> None:
    samples = {(s.name, *sorted(s.labels.items())): s.value for each in exposed for s in each.samples}

    def sum_of(name: str, **labels: str) -> float:
        return sum(value for (of, *its), value in samples.items() if of == name and labels.items() <= set(its))

    assert sum_of("grpc_server_handled_total", grpc_method="CreateMemory", grpc_code="OK") == 3
    assert sum_of("grpc_server_handled_total", grpc_code="Unauthenticated") == 1
    assert sum_of("memsidecar_errors_total", reason="TOKEN_INVALID") == 1
    assert sum_of("memsidecar_memories_written_total", action="superseded") == 1
    assert sum_of("memsidecar_conflict_records_total", state="resolved") == 1
    assert sum_of("memsidecar_model_calls_total", kind="rerank", outcome="ok") == 2
    assert sum_of("memsidecar_model_tokens_total", kind="extract", direction="prompt") == 100
    assert sum_of("memsidecar_generation_hits_sent_total") >= 1
    assert sum_of("memsidecar_recall_answers_total", kind="question") == 2
    assert sum_of("memsidecar_recall_source_seconds_count", source="session") == 1
    assert sum_of("memsidecar_build_info", version=__version__) == 1
    assert sum_of("memsidecar_ready") == sum_of("memsidecar_sessions_ready") == 1
    assert sum_of("memsidecar_data_bytes", part="ledger") > 0
    assert 0 < sum_of("memsidecar_volume_free_bytes") <= sum_of("memsidecar_volume_bytes")


def _rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def _dashboard() -> dict[str, Any]:
    return dict(json.loads((DEPLOY / "grafana/memsidecar.json").read_text()))


def _queries() -> dict[str, str]:
    found = {str(rule.get("alert") or rule.get("record")): str(rule["expr"]) for rule in _rules()}
    for panel in _dashboard()["panels"]:
        for target in panel.get("targets", ()):
            found[f"{panel['title']}/{target['refId']}"] = _filled_in(target["expr"])
    for variable in _dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            query = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
            assert query is not None
            found[f"variable {variable['name']}"] = _filled_in(query[1])
    return found


def _filled_in(query: str) -> str:
    query = query.replace("$__rate_interval", "5m").replace("$prompt_price", "1").replace("$completion_price", "2")
    return re.sub(r'"\$\w+"', '".*"', query)


QUERIES = _queries()


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_asks_for_what_is_exposed(exposed: list[Metric], query: str) -> None:
    samples: dict[str, list[dict[str, str]]] = {"up": [{}]}
    for metric in exposed:
        for sample in metric.samples:
            samples.setdefault(sample.name, []).append(dict(sample.labels))
    recorded = {str(rule["record"]) for rule in _rules() if "record" in rule}
    selectors = list(_selectors(promql.parse(QUERIES[query])))
    assert selectors
    for name, matchers, grouped in selectors:
        if name in recorded:
            continue
        assert name in samples, name
        known = {label for labels in samples[name] for label in labels} | ADDED
        assert grouped <= known, (name, grouped - known)
        assert {label for label, _, _ in matchers} <= known, name
        wanted = [m for m in matchers if m[0] not in ADDED and m[1] not in SELDOM]
        assert any(all(_matches(labels, each) for each in wanted) for labels in samples[name]), (name, wanted)


def _matches(labels: dict[str, str], matcher: tuple[str, str, str]) -> bool:
    label, value, how = matcher
    found = labels.get(label, "")
    match how.rpartition(".")[2]:
        case "Equal":
            return found == value
        case "NotEqual":
            return found != value
        case "Re":
            return re.fullmatch(value, found) is not None
        case _:
            return re.fullmatch(value, found) is None


def _selectors(
    node: Any, grouped: frozenset[str] = frozenset()
) -> Iterator[tuple[str, list[tuple[str, str, str]], set[str]]]:
    """(metric, matchers, labels that the result is grouped by) of each selector of a query."""
    match node:
        case promql.VectorSelector():
            yield str(node.name), [(m.name, m.value, str(m.op)) for m in node.matchers.matchers], set(grouped)
        case promql.MatrixSelector():
            yield from _selectors(node.vector_selector, grouped)
        case promql.AggregateExpr():
            by = frozenset(node.modifier.labels) if node.modifier is not None else frozenset()
            yield from _selectors(node.expr, by)
        case promql.BinaryExpr():
            yield from _selectors(node.lhs, grouped)
            yield from _selectors(node.rhs, grouped)
        case promql.Call():
            for each in node.args:
                yield from _selectors(each, grouped)
        case promql.ParenExpr() | promql.UnaryExpr():
            yield from _selectors(node.expr, grouped)
        case _:
            assert isinstance(node, promql.NumberLiteral), node


def test_every_metric_of_ours_is_on_the_dashboard(exposed: list[Metric]) -> None:
    text = " ".join(query for name, query in QUERIES.items() if "/" in name)
    # Positions and counts of what a rate or another panel shows already.
    elsewhere = {
        "grpc_server_msg_received_total", "grpc_server_msg_sent_total", "memsidecar_ledger_position",
        "memsidecar_resident_load_seconds", "memsidecar_model_items_total", "memsidecar_embedding_cache_bytes",
    }  # fmt: skip
    names = {name_of(each) for each in exposed if not each.name.startswith("process_")}
    assert {name for name in names if name not in text} == elsewhere


def test_every_alert_says_what_it_is_and_what_to_do() -> None:
    anchors = {heading.lower() for heading in re.findall(r"^### (\w+)$", _document(), re.MULTILINE)}
    alerts = [rule for rule in _rules() if "alert" in rule]
    assert len({rule["alert"] for rule in alerts}) == len(alerts) >= 15
    for rule in alerts:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert {"summary", "description", "runbook_url"} == set(rule["annotations"])
        assert rule["annotations"]["runbook_url"].partition("deploy/METRICS.md#")[2] == rule["alert"].lower()
        assert rule["alert"].lower() in anchors


def test_the_document_links_to_what_is_there() -> None:
    headings = {
        re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in re.findall(r"^#+ (.+)$", _document(), re.M)
    }
    for target in re.findall(r"\]\(([^)]+)\)", _document()):
        path, _, anchor = target.partition("#")
        assert not anchor or anchor in headings, target
        assert not path or (DEPLOY / path).exists(), target


@cache
def _document() -> str:
    return (DEPLOY / "METRICS.md").read_text(encoding="utf-8")
