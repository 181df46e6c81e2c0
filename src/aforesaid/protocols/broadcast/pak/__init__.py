"""The PAK family: causal broadcast by positive acknowledgments, vector times modulo k (see `protocol`)."""

from aforesaid.protocols.broadcast.pak.entries import ENTRIES
from aforesaid.protocols.broadcast.pak.frames import RESEND, Ack, Data, Has, Relayed, Settled
from aforesaid.protocols.broadcast.pak.protocol import Pak
from aforesaid.protocols.broadcast.pak.vector import ModularVectors

__all__ = ["ENTRIES", "RESEND", "Ack", "Data", "Has", "ModularVectors", "Pak", "Relayed", "Settled"]
