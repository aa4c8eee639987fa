"""Rules that find what a text claims: no model, no network, microseconds. English and Chinese."""
