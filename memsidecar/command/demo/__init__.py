"""A story for the demo, and the asking about it."""
