"""Spark's servers on loopback: standalone clusters, with or without a disk in common, and Spark Connect."""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

import aforesaid
from support.ports import free_ports

START_SECONDS_MAX = 180.0
DEPLOY = "org.apache.spark.deploy"
WORKER = (f"{DEPLOY}.worker.Worker", "--cores", "1", "--memory", "1g")
SMALL = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""For a JVM that starts quickly and uses little."""
PARTITIONS = "spark.sql.shuffle.partitions=3"
"""Of Spark's own 200, nearly all would be empty, and each costs a task."""
EXECUTOR = b"CoarseGrainedExecutorBackend"


@dataclass(frozen=True)
class Server:
    """A JVM of Spark's. It leads a process group, which the executors that it starts belong to."""

    pid: int
    log: Path

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def kill_executors(self) -> bool:
        """Kill the JVMs that run tasks for it, if there are any; it will start others."""
        found = [int(process.name) for process in Path("/proc").glob("[0-9]*") if self._has_started(process)]
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        return bool(found)

    def _has_started(self, process: Path) -> bool:
        try:
            ours = os.getpgid(int(process.name)) == self.pid
            return ours and EXECUTOR in (process / "cmdline").read_bytes()
        except OSError:
            return False  # It has just ended.


class Cluster:
    """A master on loopback and two workers of one core each.

    With `hidden` directories every worker is a machine of its own: in a mount namespace in which these are
    empty, and where what it writes to them is its alone.
    """

    def __init__(self, directory: Path, stack: ExitStack, hidden: Sequence[Path] = ()) -> None:
        self._directory, self._stack, self._hidden = directory, stack, hidden
        port = free_ports(1)[0]
        self.address = f"spark://127.0.0.1:{port}"
        start = server(directory, "master", f"{DEPLOY}.master.Master", "--port", str(port), host="127.0.0.1")
        self._master = stack.enter_context(start)
        wait_for(lambda: "New state: ALIVE" in self._master.said(), self._master)
        self.workers: list[Server] = []
        self._started = 0
        for _ in range(2):
            self._add_worker()
        wait_for(lambda: self._master.said().count("Registering worker") == 2, self._master)

    def kill_worker(self, worker: Server) -> bool:
        """Another one is started in its place."""
        os.kill(worker.pid, signal.SIGKILL)
        self.workers.remove(worker)
        self._add_worker()
        return True

    def _add_worker(self) -> None:
        self._started += 1
        name = f"worker-{self._started}"
        # A host of its own, too: Spark looks on its own disk for what another executor of its host has made.
        host = f"127.0.0.{self._started + 1}"
        arguments = (*WORKER, "--work-dir", str(self._directory / name), self.address)
        start = server(self._directory, name, *arguments, host=host, hidden=self._hidden)
        self.workers.append(self._stack.enter_context(start))


@contextmanager
def server(
    directory: Path,
    name: str,
    main: str,
    *arguments: str,
    host: str | None = None,
    python: str = sys.executable,
    hidden: Sequence[Path] = (),
) -> Iterator[Server]:
    """A Java server of Spark's for the length of a block."""
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": host or "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "640m",
        "SPARK_DAEMON_JAVA_OPTS": SMALL,
        "PYSPARK_PYTHON": python,
    }
    listening = ["--host", host, "--webui-port", "0"] if host else []
    command = [str(home / "bin" / "spark-class"), main, *listening, *arguments]
    if hidden:
        temporary = str(hidden[0] / "own")
        environment |= {"TMPDIR": temporary, "SPARK_LOCAL_DIRS": temporary}
        command = _apart(hidden, f"mkdir {shlex.quote(temporary)}", command)
    log = directory / f"{name}.log"
    with log.open("wb") as output:
        # In a process group of its own: its executors go with it, whatever happens.
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield Server(process.pid, log)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def seen_by_the_driver_alone(temporary: Path) -> list[Path]:
    """What machines apart must not see: the tests' directories, and our package."""
    hidden = [temporary, Path(aforesaid.__file__).parent]
    tried = subprocess.run(_apart(hidden, ":", ["true"]), capture_output=True, text=True, check=False)
    if tried.returncode:
        raise PermissionError(
            "a machine apart needs a mount namespace of its own: run the tests as root, or let users have "
            f"namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0): {tried.stderr.strip()}"
        )
    return hidden


def _apart(hidden: Sequence[Path], first: str, command: Sequence[str]) -> list[str]:
    """A command in a mount namespace of its own, where directories are empty."""
    mounts = [f"mount -t tmpfs tmpfs {shlex.quote(str(directory))}" for directory in hidden]
    # Whoever stands in a directory sees what was in it before.
    script = "; ".join(["cd /", *mounts, first, 'exec "$@"'])
    user = ["--map-root-user"] if os.geteuid() else []
    return ["unshare", "--mount", *user, "sh", "-ec", script, "sh", *command]


def driver_environment(temporary: Path) -> dict[str, str]:
    """For a driver on loopback whose files are where no machine apart sees them."""
    return {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--conf 'spark.executor.extraJavaOptions={SMALL}' pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "TMPDIR": str(temporary),
    }


def wait_for(ready: Callable[[], bool], one: Server) -> None:
    end = time.monotonic() + START_SECONDS_MAX
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError(one.said())
        time.sleep(0.1)


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
