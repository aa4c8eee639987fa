"""What is wrong with a request, field by field. All of it is found, not only the first thing."""

from memsidecar.server.validation.schema import Violations, check, check_field

__all__ = ["Violations", "check", "check_field"]
