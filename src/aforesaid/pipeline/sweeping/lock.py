"""One sweep at a time in a directory.

Here that is a lock of the system's, which goes with its process. A store has no locks, so there it is a
lease: a file that says who is at work and since when, renewed while that sweep lives and forgotten soon
after. Two sweeps that begin in the same second may both take it; they do the same work twice, to one effect.
"""

import fcntl
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

from aforesaid.core import Misuse
from aforesaid.storage import Place, Remote

LEASE_SECONDS_MAX = 30.0
"""For so long a lease is believed that nobody renews."""


@contextmanager
def alone(lock: Place, root: Place) -> Iterator[None]:
    """Be the only sweep in `root` for the length of a block, by a file for that purpose."""
    with _leased(lock, root) if isinstance(lock, Remote) else _locked(cast(Path, lock), root):
        yield


@contextmanager
def _locked(lock: Path, root: Place) -> Iterator[None]:
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Misuse(f"another sweep is at work in {root}") from None
        yield


@contextmanager
def _leased(lock: Remote, root: Place) -> Iterator[None]:
    with suppress(FileNotFoundError):
        lease = json.loads(lock.read_bytes())
        if abs(time.time() - lease["time"]) < LEASE_SECONDS_MAX:
            raise Misuse(
                f"another sweep is at work in {root}, on {lease['host']}; "
                f"one that was killed is forgotten after {LEASE_SECONDS_MAX:.0f} s"
            )
    over = threading.Event()

    def take() -> None:
        lock.write_text(json.dumps({"host": socket.gethostname(), "time": time.time()}))

    def renew() -> None:
        while not over.wait(LEASE_SECONDS_MAX / 4):
            # Once in a while a store may not answer; it is asked again before the lease ends.
            with suppress(OSError):
                take()

    take()
    renewing = threading.Thread(target=renew, daemon=True)
    renewing.start()
    try:
        yield
    finally:
        over.set()
        renewing.join()
        lock.unlink(missing_ok=True)
