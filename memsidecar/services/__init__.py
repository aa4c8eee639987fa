"""Use cases: one class a file. Know ports only."""
