"""memsidecar client."""
