"""Structured logs: one event, some fields. Quiet unless something is wrong or somebody listens.

A library does not decide where logs go: `tell` hands records to the logger `aforesaid.node`, whose fields are
in `record.fields`. The command line writes them as JSON lines (`to_stderr`).
"""

import json
import logging
import sys
import time
from typing import Any

from aforesaid.core import Process

logger = logging.getLogger("aforesaid.node")
logger.addHandler(logging.NullHandler())

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

AGAIN_S = 10.0
"""The same event is not written again before."""
REMEMBERED_MAX = 1024


def tell(name: Process, event: str, level: str = "info", **fields: Any) -> None:
    """Something happened at the node of this name."""
    if logger.isEnabledFor(_LEVELS[level]):
        logger.log(_LEVELS[level], "%s", event, extra={"fields": {"name": name, **fields}})


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, event, the node's name, and the event's fields."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        return json.dumps(line, default=str)


class Seldom(logging.Filter):
    """Passes the same event on once in a while only, then with how often it was held back.

    What a peer does again and again, such as calling after it was restarted, must not fill a disk.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[str, tuple[float, int]] = {}
        """When each was last passed on, and how often it came since."""

    def filter(self, record: logging.LogRecord) -> bool:
        fields = getattr(record, "fields", {})
        words = f"{record.getMessage()} {fields}"
        last, since = self._told.get(words, (-AGAIN_S, 0))
        if record.created - last < AGAIN_S:
            self._told[words] = (last, since + 1)
            return False
        if len(self._told) >= REMEMBERED_MAX:
            self._told.clear()
        self._told[words] = (record.created, 0)
        if since:
            record.fields = {**fields, "held_back": since}
        return True


def to_stderr(level: str) -> None:
    """Write what is told, from this level on, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(Seldom())
    logger.addHandler(handler)
    logger.setLevel(_LEVELS[level])
    logger.propagate = False
