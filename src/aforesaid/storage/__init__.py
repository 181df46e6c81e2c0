"""Where files lie: in a directory of this machine, or in any store that PyArrow's file systems read.

A `Place` is what code handles: a `pathlib.Path` here, a `Remote` elsewhere, with the same few methods. So
what works on directories works on object stores, as long as it relies on nothing that those lack: no rename,
no append, no lock. `place` makes one of what a user wrote; `appearing` and `put_file` write what is complete
or not there.
"""

from aforesaid.storage.commit import Draft, already, appeared, appearing, put_file, reason, writing
from aforesaid.storage.place import (
    Place,
    Remote,
    Unreachable,
    is_local,
    listing,
    place,
    remove_tree,
    sizes_below,
    together,
    total_size,
)
from aforesaid.storage.ranges import Ranges

__all__ = [
    "Draft",
    "Place",
    "Ranges",
    "Remote",
    "Unreachable",
    "already",
    "appeared",
    "appearing",
    "is_local",
    "listing",
    "place",
    "put_file",
    "reason",
    "remove_tree",
    "sizes_below",
    "together",
    "total_size",
    "writing",
]
