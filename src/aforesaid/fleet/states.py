"""What the numbers in records stand for: states of links, kinds of frames, timers, steps and news.

To a kernel a member is a constant; in tables it is a word like any other.
"""

from enum import IntEnum

Out = IntEnum("Out", "NONE ASKED BUFFERING SAFE CONFIRMED", start=0)
"""How far a process is with its sending on a link."""

In = IntEnum("In", "NONE FIRST SECOND MIRRORED AWAITED OPEN", start=0)
"""How far a process is with its receiving on a link; `AWAITED`: the buffer is to come, nothing is noted."""

Kind = IntEnum(
    "Kind",
    "ALPHA BETA PI RHO JOIN WELCOME INTRODUCE REQUEST REPLY SPARE FLOOD "
    "BUFFER ACK CLOSE AGREE KEEP FIN RESET",
    start=0,
)
"""Kinds of frames: first the control messages that count, by the names in `COUNTED`; then the others."""

COUNTED = ("α", "β", "π", "ρ", "Join", "Welcome", "Introduce", "Request", "Reply", "Spare", "Flood")
KINDS_COUNTED = len(COUNTED)

Due = IntEnum("Due", "PERIOD HANDSHAKE CLOSE RETAINED JOIN PEER_DOWN")
"""What a timer is for."""

What = IntEnum("What", "SAY ENTER SETTLE CRASH", start=0)
"""What is planned."""

News = IntEnum("News", "UP DOWN DOWN_AGREED FAILED ASKED MEDIATED JOINED WELCOMED")
"""What became of a link."""

Status = IntEnum("Status", "FINE ROOM DUPLICATE LACKING SLOTS FULL LOG_SHORT", start=0)
"""Why a run stopped: `ROOM` until some table has more room, the others for good."""
