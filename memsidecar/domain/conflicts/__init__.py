"""Conflicts: what contradicts what, what comes of it, and how it is settled."""
