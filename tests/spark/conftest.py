"""One Spark session for all tests of a worker, and real clusters on loopback for those that ask."""

import gc
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from aforesaid.pipeline.session import SparkOptions, spark_session

START_SECONDS_MAX = 60.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All Spark tests on one worker (`--dist loadgroup`): a second session would cost more than it saves."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(autouse=True)
def _leave_no_sockets() -> Iterator[None]:
    """PySpark leaves the socket of each result to the garbage collector; it must not run in others' tests."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Local mode on two cores, in a small JVM."""
    temporary = tmp_path_factory.mktemp("spark")
    options = SparkOptions("local[2]", temporary=temporary, memory="1g", small=True)
    with spark_session(options, "tests") as spark:
        yield spark


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """This Python with its packages, but without ours: that has to come with the job."""
    script = tmp_path_factory.mktemp("bare") / "python"
    packages = Path(pyspark.__file__).parents[1]
    # Without `site`, nobody follows the link that an editable installation is.
    script.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}" exec {sys.executable} -S "$@"\n')
    script.chmod(0o755)
    return str(script)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A standalone cluster, a master and two workers of one core each; its address."""
    directory = tmp_path_factory.mktemp("cluster")
    port = _free_port()
    master = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    with _server(directory, "master", f"{deploy}.master.Master", "--port", str(port)) as said:
        _wait_for(lambda: "started at" in said() or "New state: ALIVE" in said(), said)
        worker = (f"{deploy}.worker.Worker", "--cores", "1", "--memory", "1g")
        with (
            _server(directory, "worker-1", *worker, "--work-dir", str(directory / "one"), master),
            _server(directory, "worker-2", *worker, "--work-dir", str(directory / "two"), master),
        ):
            _wait_for(lambda: said().count("Registering worker") == 2, said)
            yield master


@pytest.fixture(scope="session")
def connect(tmp_path_factory: pytest.TempPathFactory, bare_python: str) -> Iterator[str]:
    """A Spark Connect server; its address."""
    directory = tmp_path_factory.mktemp("connect")
    port = _free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
    }
    flags = [flag for name, value in settings.items() for flag in ("--conf", f"{name}={value}")]
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command = ("org.apache.spark.deploy.SparkSubmit", "--class", server, "--master", "local[2]", *flags)
    with _server(directory, "connect", *command, "spark-internal", listen=False, python=bare_python) as said:
        _wait_for(lambda: _accepts(port), said)
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def _server(
    directory: Path, name: str, main: str, *arguments: str, listen: bool = True, python: str = sys.executable
) -> Iterator[Callable[[], str]]:
    """A Java server of Spark's for the length of a block; gives what reads its log."""
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "640m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "PYSPARK_PYTHON": python,
    }
    log = directory / f"{name}.log"
    listening = ["--host", "127.0.0.1", "--webui-port", "0"] if listen else []
    command = [str(home / "bin" / "spark-class"), main, *listening, *arguments]
    with log.open("wb") as output:
        # In a process group of its own: its executors go with it, whatever happens.
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield lambda: log.read_text(errors="replace")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(ready: Callable[[], bool], said: Callable[[], str]) -> None:
    end = time.monotonic() + START_SECONDS_MAX
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError(said())
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
