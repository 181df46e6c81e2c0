"""The broadcast that test doubles are made of: it is asked for everything and does nothing."""

from collections.abc import Mapping
from typing import Any

from aforesaid.core import CausalBroadcast, Effects, MessageId, Misuse


class Idle(CausalBroadcast):
    """Hears everything and has nothing to say; a double overrides what it is about."""

    def broadcast(self, payload: Any, now: int, out: Effects) -> MessageId:
        raise Misuse(f"{type(self).__name__} has nothing to say")

    def receive(self, source: str, message: Any, now: int, out: Effects) -> None: ...

    def expire(self, timer: Any, now: int, out: Effects) -> None: ...

    def peer_up(self, peer: str, now: int, out: Effects) -> None: ...

    def peer_down(self, peer: str, now: int, out: Effects) -> None: ...

    def gauges(self) -> Mapping[str, int]:
        return {}
