"""The graph projection on an embedded property graph: kuzu 0.11.3, or ladybug 0.22.0 with the same code."""

from memsidecar.adapters.kuzu_graph.store import KuzuGraph

__all__ = ["KuzuGraph"]
