"""The session: Java from wherever there is one, one line when Spark cannot be had, nothing left behind."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aforesaid.core import Misuse
from aforesaid.pipeline import java
from aforesaid.pipeline.java import java_home
from aforesaid.pipeline.session import SparkOptions, spark_session, storage_settings
from support.injected import injected, write

AFORESAID = str(Path(sys.executable).with_name("aforesaid"))
INTERRUPTED = 130


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    write(injected(12, 60, faults=0), tmp_path / "traces", "good")
    return tmp_path / "traces"


@pytest.fixture
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with what Spark's scripts need, but for Java."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "sh", "dirname", "basename", "ls", "cat", "ps"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tools


def audited(traces: Path, *options: str) -> tuple[int, str]:
    """Runs `aforesaid audit` in its own process; the exit code, and what it said on standard error."""
    done = subprocess.run(
        [AFORESAID, "audit", str(traces), "--out", str(traces.parent / "out"), *options],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=traces.parent,
        check=False,
    )
    return done.returncode, done.stderr


def test_java_comes_from_the_wheel_where_there_is_none(no_java: Path, traces: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code, err = audited(traces, "--master", "local[1]", "--memory", "512m", "--temporary", str(temporary))
    assert (code, err) == (0, "")
    assert not list(temporary.iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"bin", "traces", "temporary", "out"}


def test_java_home_wins_and_old_java_is_passed_over(
    no_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert java_home(tmp_path) == tmp_path / "java"
    _pretend(no_java / "java", "11.0.2")
    assert java_home(tmp_path) == tmp_path / "java"
    _pretend(no_java / "java", "21.0.1")
    assert java_home(tmp_path) == no_java.parent
    _pretend(tmp_path / "mine" / "bin" / "java", "17.0.9")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "mine"))
    assert java_home(tmp_path) == tmp_path / "mine"


def _pretend(path: Path, version: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"""#!/bin/sh\necho 'openjdk version "{version}" 2024-01-16' >&2\n""")
    path.chmod(0o755)


def test_no_java_at_all_is_told(no_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    with pytest.raises(Misuse, match=r"^Spark needs Java 17 or newer \(there is none here\): set JAVA_HOME"):
        java_home(tmp_path)
    _pretend(no_java / "java", "1.8.0_402")
    with pytest.raises(Misuse, match=r"/java is Java 8\)"):
        java_home(tmp_path)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--master", "spark://127.0.0.1:1"), "cannot reach spark://127.0.0.1:1: Connection refused"),
        (("--remote", "sc://127.0.0.1:1"), "cannot reach sc://127.0.0.1:1: Connection refused"),
        (("--remote", "127.0.0.1"), "a Spark Connect server is called sc://host:port, not 127.0.0.1"),
        (("--master", "mesos://here"), "Master must either be yarn or start with spark, k8s, or local"),
        (("--master", "local[many]"), "Could not parse Master URL: 'local[many]'"),
    ],
)
def test_a_spark_that_cannot_be_had_is_one_line(traces: Path, options: tuple[str, ...], told: str) -> None:
    code, err = audited(traces, *options)
    assert code == 2
    assert told in err
    assert err.startswith("aforesaid: ")
    assert err.count("\n") == 1
    assert {path.name for path in traces.parent.iterdir()} == {"traces"}


def test_ctrl_c_leaves_nothing_behind(traces: Path, tmp_path: Path) -> None:
    """While Spark starts."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    out = str(tmp_path / "out")
    process = subprocess.Popen(
        [AFORESAID, "audit", str(traces), "--out", out, "--temporary", str(temporary)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    said = _interrupt(process, lambda: _runs_java(temporary))
    assert process.returncode == INTERRUPTED, said
    assert not list(temporary.iterdir())
    assert not _runs_java(temporary)
    assert {path.name for path in tmp_path.iterdir()} == {"traces", "temporary"}


WORKING = """
import sys, time
from pathlib import Path
from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.pipeline.tasks import run_tasks
with spark_session(SparkOptions("local[2]", temporary=Path(sys.argv[1]), small=True), "test") as spark:
    Path(sys.argv[1], "ready").touch()
    run_tasks(spark, time.sleep, [100.0, 100.0])
"""


def test_ctrl_c_ends_a_running_job(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WORKING, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    said = _interrupt(process, lambda: (tmp_path / "ready").exists(), wait_s=2.0)
    assert process.returncode == -signal.SIGINT, said
    assert not _runs_java(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"ready"}


def _interrupt(process: "subprocess.Popen[bytes]", ready: Callable[[], bool], wait_s: float = 0.5) -> str:
    """What it said on standard error."""
    try:
        end = time.monotonic() + 180
        while not ready():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.1)
        time.sleep(wait_s)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
        return said.decode(errors="replace")
    finally:
        process.kill()
        process.wait()


def _runs_java(temporary: Path) -> bool:
    """Whether a JVM runs that keeps its files there."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if f"-Djava.io.tmpdir={temporary}".encode() in command:
            return True
    return False


def test_a_session_that_runs_has_the_settings_for_the_length_of_a_block(spark: SparkSession) -> None:
    spark.conf.set("spark.hadoop.fs.s3a.endpoint", "http://before")
    conf = ("spark.hadoop.fs.s3a.endpoint=http://host:9000", "spark.hadoop.fs.s3a.access.key=a=b")
    with spark_session(SparkOptions(conf=conf), "test") as same:
        assert storage_settings(same) == {"fs.s3a.endpoint": "http://host:9000", "fs.s3a.access.key": "a=b"}
    assert storage_settings(spark) == {"fs.s3a.endpoint": "http://before"}
    spark.conf.unset("spark.hadoop.fs.s3a.endpoint")
    late = SparkOptions(conf=("spark.executor.memory=2g",))
    refused = pytest.raises(Misuse, match=r"^spark.executor.memory cannot be set once Spark runs: ")
    with refused, spark_session(late, "test"):
        pass


@pytest.mark.parametrize("setting", ["endpoint=x", "spark.ui.enabled", "spark. x=1", ""])
def test_what_is_no_setting_of_sparks_is_told(setting: str) -> None:
    with pytest.raises(Misuse, match=r"is no setting of Spark's; write --conf spark.KEY=VALUE$"):
        SparkOptions(conf=(setting,))


def test_all_tests_on_spark_share_a_worker(request: pytest.FixtureRequest) -> None:
    """Two sessions and two clusters at once cost more than they save; a pytest that lost the group did so."""
    if hasattr(request.config, "workerinput"):
        assert request.node.nodeid.endswith("@spark")
