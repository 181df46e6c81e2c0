"""What tests of several rooms ask for."""

import os

import pytest

from support.browsers import MISSING, installed
from support.s3 import bucket, s3

__all__ = ["bucket", "s3"]

# A JVM of a test lives for seconds. To compile as for hours would take it as long again.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if installed() is None:
        terminalreporter.write_line(MISSING, yellow=True)
