"""Bytes between addresses: datagrams and streams on asyncio. Who speaks, and what is said, is for others."""

from aforesaid.transport.address import Address
from aforesaid.transport.backoff import Backoff
from aforesaid.transport.tcp import Stream, dial, listen, stop_listening
from aforesaid.transport.udp import Datagrams

__all__ = ["Address", "Backoff", "Datagrams", "Stream", "dial", "listen", "stop_listening"]
