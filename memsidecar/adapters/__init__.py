"""One vendor each; the only imports of kuzu, hnswlib, redis, openai and sqlite3."""
