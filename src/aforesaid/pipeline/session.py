"""The one place that makes a SparkSession: on this machine, on a cluster, or by Spark Connect.

On this machine Spark listens on the loopback address only, keeps its memory bounded and its files in a
directory of its own, which is gone when the session ends. Its log goes to a file there instead of the screen
(`debug` shows it). On a cluster our package travels to the executors; all else is left to the cluster's own
configuration. A Spark that cannot be had, within a bounded time, is a `Misuse` of one line.

Use it as a context: the JVM is gone when the block is left, however it is left. A process has one JVM; inside
a process that runs Spark already (a notebook, a test) that session is taken as it is, and left running.
"""

import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import urlsplit

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import aforesaid
from aforesaid.core import Misuse
from aforesaid.pipeline.interrupt import within
from aforesaid.pipeline.java import java_home
from aforesaid.pipeline.memory import peak_memory_bytes

CONNECT_SECONDS_MAX = 5.0
"""How long a master or a Spark Connect server may take to accept a connection."""
START_SECONDS_MAX = 120.0
"""How long a session may take to start and to run its first job."""
STOP_SECONDS_MAX = 20.0
CONNECT_PORT = 15002
"""Where a Spark Connect server listens unless its address says otherwise."""

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class SparkOptions:
    """Where Spark runs, and with what."""

    master: str | None = None
    """`local[2]`, `spark://host:7077`, `yarn`, `k8s://...`; None: every core of this machine."""
    remote: str | None = None
    """`sc://host:15002`: a Spark Connect server, instead of a master."""
    temporary: Path | None = None
    """Where Spark's temporary files go; None: the system's directory for them."""
    memory: str = "2g"
    """The JVM's heap on this machine: the driver's, and in local mode the executor's too."""
    debug: bool = False
    """Show Spark's own log and stack traces."""
    conf: tuple[str, ...] = ()
    """Settings of Spark's own, as KEY=VALUE; they go before ours."""
    small: bool = False
    """Start quickly and use little, at the price of slower heavy work: for tests and small commands."""

    def __post_init__(self) -> None:
        if self.master and self.remote:
            raise Misuse(f"choose one of master {self.master} and remote {self.remote}")
        if not re.fullmatch(r"[1-9][0-9]*[kmgt]", self.memory):
            raise Misuse(f"{self.memory!r} is no amount of memory; write 512m or 4g")
        for setting in self.conf:
            if not re.fullmatch(r"spark\.[^=\s]+=.*", setting):
                raise Misuse(f"{setting!r} is no setting of Spark's; write --conf spark.KEY=VALUE")

    @property
    def own(self) -> dict[str, str]:
        """The settings of `conf`, by key."""
        return dict(setting.split("=", 1) for setting in self.conf)

    @property
    def local(self) -> bool:
        return not self.remote and (self.master is None or self.master.startswith("local"))


@contextmanager
def spark_session(options: SparkOptions, name: str) -> Iterator[SparkSession]:
    """A session for the length of a block; what Spark says when it fails becomes one line."""
    running = SparkSession.getActiveSession() or _running()
    if running is not None:
        with _plain(options), _configured(running, options):
            yield running
        return
    scratch = _scratch(options)
    try:
        with (_connected if options.remote else _launched)(options, name, scratch) as spark:
            yield spark
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def storage_settings(spark: SparkSession) -> dict[str, str]:
    """Hadoop's settings as far as the session has them: how its stores are reached."""
    prefix = "spark.hadoop."
    settings = spark.conf.getAll
    return {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}


def jvm_memory_bytes(spark: SparkSession) -> int:
    """The most memory that the JVM on this machine has held; 0 if there is none."""
    gateway = SparkContext._gateway
    classic = gateway is not None and hasattr(spark, "_jsparkSession")
    return peak_memory_bytes(gateway.proc.pid) if classic and gateway is not None else 0


def _running() -> SparkSession | None:
    """The session of this process, if it has one."""
    active = SparkContext._active_spark_context
    return None if active is None else SparkSession.builder.getOrCreate()


def _scratch(options: SparkOptions) -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="aforesaid-spark-", dir=options.temporary)).resolve()
    except OSError as error:
        raise Misuse(f"cannot put temporary files in {options.temporary}: {error.strerror}") from error


@contextmanager
def _launched(options: SparkOptions, name: str, scratch: Path) -> Iterator[SparkSession]:
    """A driver in a JVM of our own, for local mode and for clusters."""
    master = options.master or "local[*]"
    if master.startswith("spark://"):
        _reach(master, [_address(part, None) for part in master.removeprefix("spark://").split(",")])
    environment = {"JAVA_HOME": str(java_home(scratch))}
    if options.local:
        environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    conf = SparkConf(loadDefaults=False).setMaster(master).setAppName(name)
    conf.setAll(list(_settings(options, scratch).items()))
    with _environment(environment), open(scratch / "spark.log", "wb") as log:
        gateway = _gateway(conf, None if options.debug else log, scratch)
    try:
        # While the JVM lives: an error of Java's asks it for its text.
        with _plain(options):
            with _environment(environment):
                spark = _bounded(master, lambda: _context(conf, gateway))
                if not options.local:
                    _bounded(master, lambda: _prepared(spark, scratch))
            yield spark
    finally:
        _stop(gateway)


def _gateway(conf: SparkConf, output: IO[bytes] | None, scratch: Path) -> Any:
    """A JVM of our own, in a process group of its own: it and all it starts can be ended together."""
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    # PySpark does not tell what it started until it runs, and Ctrl-C may come before.
    vars(java_gateway)["Popen"] = Noted
    try:
        return java_gateway.launch_gateway(  # type: ignore[no-untyped-call]
            conf, {"stdout": output, "stderr": output, "start_new_session": True}
        )
    except BaseException as error:
        for process in started:
            _kill(process)
        if isinstance(error, PySparkException):
            words = _last_words(scratch / "spark.log", error)
            raise Misuse(f"Spark does not start: {words}") from error
        raise
    finally:
        vars(java_gateway)["Popen"] = subprocess.Popen


def _kill(process: "subprocess.Popen[bytes]") -> None:
    if process.stdin is not None:
        process.stdin.close()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _context(conf: SparkConf, gateway: Any) -> SparkSession:
    return SparkSession(SparkContext(conf=conf, gateway=gateway))


def _last_words(log: Path, error: BaseException) -> str:
    """What the JVM said of its own end."""
    lines = log.read_text(errors="replace").splitlines()
    telling = [line for line in lines if line.startswith(("Error:", "Exception in"))]
    return telling[0] if telling else _reason(error)


@contextmanager
def _connected(options: SparkOptions, name: str, scratch: Path) -> Iterator[SparkSession]:
    """A client of a Spark Connect server; no JVM here."""
    remote = str(options.remote)
    if not remote.startswith("sc://"):
        raise Misuse(f"a Spark Connect server is called sc://host:port, not {remote}")
    _reach(remote, [_address(urlsplit(remote).netloc, CONNECT_PORT)])
    if not options.debug:
        logging.getLogger("pyspark.sql.connect.logging").setLevel(logging.CRITICAL)
    builder = SparkSession.builder.remote(remote).appName(name)
    with _plain(options):
        spark = _bounded(remote, lambda: _prepared(builder.create(), scratch))
        try:
            with _configured(spark, options):
                yield spark
        finally:
            within(STOP_SECONDS_MAX, spark.stop)


@contextmanager
def _configured(spark: SparkSession, options: SparkOptions) -> Iterator[None]:
    """A session that others started has the settings for the length of a block, as far as it takes them."""
    before: dict[str, str | None] = {}
    try:
        for key, value in options.own.items():
            earlier = spark.conf.get(key, None)
            try:
                spark.conf.set(key, value)
            except PySparkException as error:
                raise Misuse(f"{key} cannot be set once Spark runs: {_reason(error)}") from error
            before[key] = earlier
        yield
    finally:
        for key, earlier in before.items():
            spark.conf.unset(key) if earlier is None else spark.conf.set(key, earlier)


def _settings(options: SparkOptions, scratch: Path) -> dict[str, str]:
    java = [f"-Djava.io.tmpdir={scratch}", "-XX:-UsePerfData"]
    if not options.debug:
        log4j = scratch / "log4j2.properties"
        log4j.write_text(_LOG4J)
        java.append(f"-Dlog4j2.configurationFile={log4j.as_uri()}")
    if options.small:
        java += ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    settings = {
        "spark.driver.memory": options.memory,
        "spark.driver.extraJavaOptions": " ".join(java),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if options.local:
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(scratch),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
            "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),
        }
    return settings | options.own


_LOG4J = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""


def _prepared(spark: SparkSession, scratch: Path) -> SparkSession:
    """Our package on every executor, and proof that there is one."""
    spark.addArtifacts(str(_packed(scratch / "aforesaid.zip")), pyfile=True)
    spark.range(1).count()
    return spark


def _packed(archive: Path) -> Path:
    """This package as a file that executors import from."""
    package = Path(aforesaid.__file__).parent
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for source in sorted((*package.rglob("*.py"), *package.rglob("*.toml"))):
            packed.write(source, source.relative_to(package.parent))
    return archive


def _address(text: str, port: int | None) -> tuple[str, int]:
    host, _, given = text.rpartition("@")[2].partition(":")
    try:
        return host, int(given) if given else int(port or 7077)
    except ValueError:
        raise Misuse(f"{text} is no address: it should be host:port") from None


def _reach(url: str, addresses: list[tuple[str, int]]) -> None:
    """One of the addresses accepts a connection; Spark itself would try for minutes."""
    why = ""
    for address in addresses:
        try:
            socket.create_connection(address, CONNECT_SECONDS_MAX).close()
            return
        except OSError as error:
            why = error.strerror or str(error)
    raise Misuse(f"cannot reach {url}: {why}")


def _bounded(url: str, call: Callable[[], _Result]) -> _Result:
    results = within(START_SECONDS_MAX, call)
    if not results:
        raise Misuse(f"{url} gave no executor within {START_SECONDS_MAX:.0f} s")
    return results[0]


def _stop(gateway: Any) -> None:
    """End the session and the JVM, and forget both, so that a later session starts afresh."""
    context = SparkContext._active_spark_context
    try:
        if context is not None:
            # Interrupted tasks are cut off in the middle of a word; Python's server would print that.
            vars(context._accumulatorServer)["handle_error"] = lambda *_: None
            within(STOP_SECONDS_MAX, context.stop)
        # Else what is collected later would be told to a JVM that is gone.
        within(STOP_SECONDS_MAX, gateway.shutdown)
    except (Py4JError, PySparkException, OSError):
        pass  # The JVM has died already; what is left of it goes below.
    finally:
        SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = None
        _kill(gateway.proc)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _plain(options: SparkOptions) -> Iterator[None]:
    """A failure of Spark's as one line, unless the user wants it in full."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        if _interrupted(error):
            raise KeyboardInterrupt from error
        if options.debug:
            raise
        raise Misuse(f"Spark failed: {_reason(error)} (--debug shows all of it)") from error


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C came first: in the middle of a call, it makes py4j's next call fail."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _reason(error: BaseException) -> str:
    """The line that says why: what a Python worker raised, or the last cause of a Java stack trace."""
    _, raised, worker = str(error).rpartition("Traceback (most recent call last):\n")
    if raised:
        # Frames are indented; what follows them is the exception.
        return next((line for line in worker.splitlines() if not line.startswith(" ")), raised)[:300]
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith(("Caused by: ", ": "))]
    line = causes[-1] if causes else lines[0] if lines else type(error).__name__
    return line.removeprefix("Caused by").removeprefix(": ")[:300]
