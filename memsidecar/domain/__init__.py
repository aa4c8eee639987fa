"""Values and rules. No I/O, no clock, no async."""
