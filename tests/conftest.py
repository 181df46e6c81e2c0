"""What tests of several rooms ask for."""

import os
import signal

import pytest

from support.browsers import MISSING, installed
from support.s3 import bucket, s3

__all__ = ["bucket", "s3"]

# A JVM of a test lives for seconds. To compile as for hours would take it as long again.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")


# A shell that runs tests in the background makes them deaf to Ctrl-C, and so all programs that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if installed() is None:
        terminalreporter.write_line(MISSING, yellow=True)
