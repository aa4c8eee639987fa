"""A partition in memory: all that a recall needs, and the view that decisions are made on."""

from memsidecar.services.resident.chats import Chat
from memsidecar.services.resident.partition import Resident, Terms

__all__ = ["Chat", "Resident", "Terms"]
