"""What arrives, from a body to messages, in one place: unpacked, put together, decoded; or counted.

A body comes here after its carrier has verified who sent it, and not before.
"""

from collections import Counter
from typing import Any

from aforesaid.core import Nanoseconds, Process, Refused
from aforesaid.wire.codec import Codec
from aforesaid.wire.fragment import Reassembly
from aforesaid.wire.packet import unpack


class Inlet:
    """The way in. A packet with one bad frame is refused as a whole: no correct peer sends it."""

    def __init__(self, codec: Codec, reassembly: Reassembly) -> None:
        self.codec = codec
        self.reassembly = reassembly
        self.refused: Counter[str] = Counter()
        """How many packets were not let in, by reason."""

    def body(self, source: Process, body: bytes, now: Nanoseconds) -> list[Any] | None:
        """A body that came from a source whose name was verified; None if it is refused."""
        if not body:
            return []  # A greeting.
        try:
            frames = unpack(body)
            if isinstance(frames, bytes):
                whole = self.reassembly.add(source, frames, now)
                frames = [] if whole is None else [whole]
            decode = self.codec.decode
            return [decode(frame) for frame in frames]
        except Refused as refusal:
            self.refused[refusal.reason] += 1
            return None
