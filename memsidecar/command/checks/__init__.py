"""What `memsidecar doctor` looks at: one small function a check."""
