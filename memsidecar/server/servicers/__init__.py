"""One class for each proto service: check, map, call one use case, map back."""
