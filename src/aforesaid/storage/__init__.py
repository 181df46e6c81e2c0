"""Where files lie: in a directory of this machine, or in any store that PyArrow's file systems read.

A `Place` is what code handles: a `pathlib.Path` here, a `Remote` elsewhere, with the same few methods. So
what works on directories works on object stores, as long as it relies on nothing that those lack: no rename,
no append, no lock. `place` makes one of what a user wrote.
"""

from aforesaid.storage.place import Place, Remote, Unreachable, files_below, place, remove_tree, total_size

__all__ = ["Place", "Remote", "Unreachable", "files_below", "place", "remove_tree", "total_size"]
