"""One Spark session for all tests of a worker, and real clusters on loopback for those that ask."""

import gc
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from aforesaid.pipeline.session import SparkOptions, spark_session
from support.machines import Driver
from support.ports import free_ports
from support.s3 import Server
from support.servers import (
    DEPLOY,
    PARTITIONS,
    SMALL,
    Cluster,
    accepts,
    seen_by_the_driver_alone,
    server,
    wait_for,
)


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
    options = SparkOptions("local[2]", temporary=temporary, memory="1g", small=True, conf=(PARTITIONS,))
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
    """A standalone cluster on this machine's disk; its address."""
    with ExitStack() as stack:
        yield Cluster(tmp_path_factory.mktemp("cluster"), stack).address


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A standalone cluster of machines that share no disk and have never seen our package."""
    with ExitStack() as stack:
        hidden = seen_by_the_driver_alone(tmp_path_factory.getbasetemp())
        yield Cluster(tmp_path_factory.mktemp("machines"), stack, hidden)


@pytest.fixture(scope="session")
def driver(machines: Cluster, s3: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """Of these machines, for whoever has something for them to do."""
    started = Driver(machines, s3, tmp_path_factory.mktemp("driver"))
    yield started
    started.close()


@pytest.fixture(scope="session")
def connect(tmp_path_factory: pytest.TempPathFactory, bare_python: str) -> Iterator[str]:
    """A Spark Connect server; its address."""
    directory = tmp_path_factory.mktemp("connect")
    port = free_ports(1)[0]
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": SMALL,
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
    }
    flags = [flag for name, value in settings.items() for flag in ("--conf", f"{name}={value}")]
    main = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command = (f"{DEPLOY}.SparkSubmit", "--class", main, "--master", "local[2]", *flags, "--conf", PARTITIONS)
    with server(directory, "connect", *command, "spark-internal", python=bare_python) as started:
        wait_for(lambda: accepts(port), started)
        yield f"sc://127.0.0.1:{port}"
