"""Every start of a node is a new incarnation: a number that no earlier start of that name had.

It is the milliseconds since 2020 by the wall clock, so that it is new even if the disk was lost. With a
directory, the last one is kept there and the next is higher even if the clock was set back. A node without a
directory, on a machine whose clock was set back, is refused by its peers until the clock has caught up.
"""

from pathlib import Path

from aforesaid.core import Misuse
from aforesaid.ground import ground
from aforesaid.node.operating.claim import Claim

_EPOCH_MS = 1_577_836_800_000
_FILE = "incarnation"
_MAX = 2**63 - 1


def next_incarnation(directory: str | None, last: int = 0, claimed: bool = False) -> int:
    """A new one, on disk before anyone hears of it. `claimed`: the directory is the caller's already."""
    new = max(ground().time_ns() // 1_000_000 - _EPOCH_MS, last + 1)
    if directory is None:
        return new
    path, disk = Path(directory) / _FILE, ground().disk
    if not last and not claimed:
        # Another node's number is not to be touched, nor are its peers to hear of a second one.
        Claim(directory).release()
    try:
        kept = disk.read(path)
        new = max(new, 0 if kept is None else int(kept) + 1)
        if new > _MAX:
            raise ValueError(f"{new} would be too large")
        disk.replace(path, b"%d\n" % new)
    except ValueError as error:
        advice = "remove it if the clock is right, which gives the next one"
        raise Misuse(f"{path} holds no incarnation; {advice}: {str(error)[:100]}") from error
    except OSError as error:
        raise Misuse(f"cannot write {path}: {error.strerror}") from error
    return new
