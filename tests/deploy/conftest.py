"""Each way of rendering, so that what must be so is so in all of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.deploy.rendering import Object, kustomized, templated

DEPLOYMENT = (
    "agent.kind=deployment",
    "persistence.enabled=false",
    "redis.url=redis://redis:6379/0",
    "redis.passwordKey=redis-password",
    "networkPolicy.enabled=false",
    "podDisruptionBudget.enabled=false",
)

RENDERINGS: dict[str, Callable[[], list[Object]]] = {
    "kustomize-statefulset": lambda: kustomized("examples/statefulset"),
    "kustomize-deployment": lambda: kustomized("examples/deployment"),
    "helm-statefulset": templated,
    "helm-deployment": lambda: templated(*DEPLOYMENT),
}


@pytest.fixture(params=list(RENDERINGS))
def objects(request: pytest.FixtureRequest) -> list[Object]:
    return RENDERINGS[request.param]()


@pytest.fixture(params=["kustomize-statefulset", "helm-statefulset"])
def kept(request: pytest.FixtureRequest) -> list[Object]:
    """Renderings of an agent that keeps its memory."""
    return RENDERINGS[request.param]()
