"""PRC-broadcast: its links and their memory, how they are opened and closed, and the protocol over them."""

from aforesaid.protocols.overlay.prc.protocol import PRC

__all__ = ["PRC"]
