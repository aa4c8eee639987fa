"""The command line's entry point."""

from memsidecar.command import main

if __name__ == "__main__":
    raise SystemExit(main())
