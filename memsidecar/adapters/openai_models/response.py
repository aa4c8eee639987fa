"""From a server's answer to a matrix, or not at all: a row under the wrong text would be believed for ever."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from memsidecar.adapters.openai_models.usage import Usage
from memsidecar.domain.events import Matrix


class BadResponseError(Exception):
    """The answer is not usable. The text says what is wrong with it and holds nothing of the answer itself."""


def rows_of(body: bytes, texts: int, dimensions: int | None, usage: Usage) -> Matrix:
    """float32 (texts, dimensions), rows of length 1, placed by the `index` of each; None accepts any one size. What the
    answer has cost is added to `usage`."""
    try:
        answer = json.loads(body)
        data = answer["data"]
        indexes = [row["index"] for row in data]
        embeddings = [row["embedding"] for row in data]
    except (ValueError, LookupError, TypeError) as cause:
        raise BadResponseError("answers with something that is not a list of numbered embeddings") from cause
    usage.add(answer.get("usage"))
    if len(data) != texts:
        raise BadResponseError(f"answers with {len(data)} rows for {texts} texts")
    if not all(type(index) is int for index in indexes) or sorted(indexes) != list(range(texts)):
        raise BadResponseError(f"does not number its {texts} rows; set embedding.max_batch to 1")
    vectors = [_vector(embedding) for embedding in embeddings]
    size = dimensions or len(vectors[0])
    wrong = next((len(vector) for vector in vectors if len(vector) != size), None)
    if wrong is not None:
        raise BadResponseError(
            f"answers with {wrong} dimensions, not {size}; set embedding.dimensions to what it gives"
        )
    rows = np.empty((texts, size), dtype=np.float32)
    rows[indexes] = vectors
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise BadResponseError("answers with numbers that are not finite, or all zero")
    return np.asarray(rows / lengths, dtype=np.float32)


def _vector(embedding: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    try:
        if isinstance(embedding, str):
            vector = np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
        else:
            with np.errstate(over="ignore"):  # infinity is refused below
                vector = np.asarray(embedding, dtype=np.float32)
    except (TypeError, ValueError) as cause:
        raise BadResponseError("answers with an embedding that is not a list of numbers") from cause
    if vector.ndim != 1 or not len(vector):
        raise BadResponseError("answers with an embedding that is not a list of numbers")
    return vector
