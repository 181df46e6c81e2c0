"""Bytes between addresses: datagrams and streams on asyncio. Who speaks, and what is said, is for others."""

from aforesaid.transport.address import Address
from aforesaid.transport.backoff import Backoff
from aforesaid.transport.door import Door
from aforesaid.transport.tcp import Stream, dial
from aforesaid.transport.udp import DATAGRAM_MAX, Datagrams, first_step

__all__ = ["DATAGRAM_MAX", "Address", "Backoff", "Datagrams", "Door", "Stream", "dial", "first_step"]
