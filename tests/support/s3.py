"""A real S3 server on loopback (moto, in a process of its own), and a bucket for each test that asks."""

import itertools
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from aforesaid.storage import Remote, place
from support.ports import free_ports

START_SECONDS_MAX = 180.0


@dataclass(frozen=True)
class Server:
    """Where it listens, and what it was asked."""

    endpoint: str
    log: Path
    pid: int

    @property
    def settings(self) -> dict[str, str]:
        """Hadoop's settings that lead here; `--conf spark.hadoop.NAME=VALUE` on a command."""
        return {
            "fs.s3a.endpoint": self.endpoint,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.access.key": "key",
            "fs.s3a.secret.key": "secret",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.connection.ssl.enabled": "false",
        }

    @property
    def conf(self) -> list[str]:
        """The same as arguments of a command."""
        pairs = (f"spark.hadoop.{name}={value}" for name, value in self.settings.items())
        return [word for pair in pairs for word in ("--conf", pair)]

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Answers nobody for the length of a block."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def requests(self) -> list[str]:
        """What it was asked so far, as in `GET /bucket/key`."""
        return re.findall(r'"(?:\x1b\[\d+m)*([A-Z]+ /.*) HTTP', self.log.read_text())


@dataclass(frozen=True)
class Bucket:
    """An empty bucket of its own."""

    server: Server
    name: str

    @property
    def uri(self) -> str:
        return f"s3a://{self.name}"

    @property
    def place(self) -> Remote:
        there = place(self.uri, self.server.settings)
        assert isinstance(there, Remote)
        return there


@contextmanager
def s3_server(directory: Path) -> Iterator[Server]:
    """A server for the length of a block; its log is in a directory, its objects in memory."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (directory / "s3.log").open("wb") as log:
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": ""}, stdout=log, stderr=log)
    server = Server(f"http://127.0.0.1:{port}", directory / "s3.log", process.pid)
    try:
        _wait_for(server)
        yield server
    finally:
        process.kill()
        process.wait()


def new_bucket(server: Server, name: str) -> Bucket:
    urllib.request.urlopen(urllib.request.Request(f"{server.endpoint}/{name}", method="PUT")).close()
    return Bucket(server, name)


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


_numbers = itertools.count(1)


@pytest.fixture
def bucket(s3: Server) -> Bucket:
    return new_bucket(s3, f"bucket-{next(_numbers)}")


def _wait_for(server: Server) -> None:
    end = time.monotonic() + START_SECONDS_MAX
    while True:
        try:
            urllib.request.urlopen(server.endpoint, timeout=5).close()
            return
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > end:
                raise TimeoutError(server.log.read_text()) from None
            time.sleep(0.1)
