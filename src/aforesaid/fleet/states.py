"""What the numbers in records stand for: states of links, kinds of frames, timers, steps and news.

To a kernel a member is a constant; in tables it is a word like any other.
"""

from enum import IntEnum, auto


class Out(IntEnum):
    """How far a process is with its sending on a link."""

    NONE = 0
    ASKED = 1
    BUFFERING = 2
    SAFE = 3
    CONFIRMED = 4


class In(IntEnum):
    """How far a process is with its receiving on a link."""

    NONE = 0
    FIRST = 1
    SECOND = 2
    MIRRORED = 3
    OPEN = 4


class Kind(IntEnum):
    """Kinds of frames: first the control messages that count, by these names; then the others."""

    ALPHA = 0
    BETA = 1
    PI = 2
    RHO = 3
    JOIN = 4
    WELCOME = 5
    INTRODUCE = 6
    REQUEST = 7
    REPLY = 8
    SPARE = 9
    FLOOD = 10
    BUFFER = 11
    ACK = 12
    CLOSE = 13
    KEEP = 14
    FIN = 15
    RESET = 16


COUNTED = ("α", "β", "π", "ρ", "Join", "Welcome", "Introduce", "Request", "Reply", "Spare", "Flood")
KINDS_COUNTED = len(COUNTED)


class Due(IntEnum):
    """What a timer is for."""

    PERIOD = auto()
    HANDSHAKE = auto()
    CLOSE = auto()
    RETAINED = auto()
    JOIN = auto()
    PEER_DOWN = auto()


class What(IntEnum):
    """What is planned."""

    SAY = 0
    ENTER = 1
    SETTLE = 2
    CRASH = 3


class News(IntEnum):
    """What became of a link."""

    UP = auto()
    DOWN = auto()
    DOWN_AGREED = auto()
    FAILED = auto()
    ASKED = auto()
    MEDIATED = auto()
    JOINED = auto()
    WELCOMED = auto()


class Status(IntEnum):
    """Why a run stopped."""

    FINE = 0
    DUPLICATE = 1
    SLOTS = 2
    DEGREE = 3
    QUEUE = 4
    LINKS_GONE = 5
    LISTS = 6
    TRACE_FULL = 7
    LOG_SHORT = 8
