"""Structured logs: one event, some fields. Quiet unless something is wrong or somebody listens.

A library does not decide where logs go: `tell` hands records to the logger `aforesaid.node`, whose fields are
in `record.fields`. The command line writes them as JSON lines (`to_stderr`).
"""

import json
import logging
import sys
import time
from typing import Any

logger = logging.getLogger("aforesaid.node")
logger.addHandler(logging.NullHandler())

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def tell(event: str, level: str = "info", **fields: Any) -> None:
    """Something happened."""
    if logger.isEnabledFor(_LEVELS[level]):
        logger.log(_LEVELS[level], "%s", event, extra={"fields": fields})


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, event, and the event's fields."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        return json.dumps(line, default=str)


def to_stderr(level: str) -> None:
    """Write what is told, from this level on, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logger.addHandler(handler)
    logger.setLevel(_LEVELS[level])
    logger.propagate = False
