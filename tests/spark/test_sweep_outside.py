"""A sweep of an algorithm that no executor has seen: its module travels with the job."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from aforesaid import __version__
from aforesaid.sim import Scenario, simulate
from aforesaid.trace.parquet import find_runs, open_trace
from support.commands import command
from support.own_algorithm import forgotten, write

GRID = """
duration_ms = 200
[[workload]]
kind = "rate"
per_second = 20
[sweep]
algorithm = ["{reference}", "waiting"]
processes = [3, 4]
seeds = 2
"""

ELSEWHERE = """
import sys
from contextlib import contextmanager
from pathlib import Path

# What the driver alone has: once the module is loaded, its file is gone from every disk.
from aforesaid.pipeline.sweeping import driver
shipped = driver.shipped
sources = [Path(path) for path in sys.argv[1].split(":")]

@contextmanager
def shipped_and_removed(spark, references):
    with shipped(spark, references) as places:
        for path in sources:
            path.unlink()
        yield places

driver.shipped = shipped_and_removed
sys.argv[1:2] = ["sweep"]
from aforesaid.cli import main
main()
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that is nobody's but the driver's, and the sweep's own beside it."""
    for name in ("private", "shared"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "shared")
    with forgotten(tmp_path):
        yield tmp_path / "private"


def digests_expected(reference: str) -> dict[str, str]:
    """As the simulator alone would make them."""
    found = {}
    for algorithm in (reference, "waiting"):
        for processes in (3, 4):
            for seed in (1, 2):
                load = [{"kind": "rate", "per_second": 20}]
                plain = {"algorithm": algorithm, "processes": processes, "seed": seed, "duration_ms": 200}
                run = simulate(Scenario.of({**plain, "workload": load}))[0].run
                found[f"run={run.run}"] = run.digest
    return found


def test_it_is_swept_here(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], spark: SparkSession
) -> None:
    reference = f"{write(own, 'own_here')}:ENTRY"
    Path("grid.toml").write_text(GRID.format(reference="../private/own_here.py:ENTRY"))
    code, out, err = command(monkeypatch, capsys, "sweep")("grid.toml", "--out", "out", "--check", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["done"] == 8
    made = {path.name: open_trace(path).run for path in find_runs("out")}
    assert {name: run.digest for name, run in made.items()} == digests_expected(reference)
    assert made["run=own_here-n3-s1"].code_version.endswith(", own_here 0.1")
    rows = pq.read_table("out/sweep.parquet").to_pylist()
    assert [row["algorithm"] for row in rows] == ["own_here"] * 4 + ["waiting"] * 4
    assert {row["verdict"] for row in rows} == {"kept"}
    assert command(monkeypatch, capsys, "report")("out", "--out", "report.html")[0] == 0
    page = Path("report.html").read_text()
    assert f"{__version__}; {__version__}, own_here 0.1" in page
    code, out, _ = command(monkeypatch, capsys, "sweep")("grid.toml", "--out", "out", "--check", "--json")
    assert (code, json.loads(out)["kept_from_before"]) == (0, 8)


@pytest.mark.parametrize(("place", "kind"), [("cluster", "package"), ("connect", "file")])
def test_executors_that_have_never_seen_it_run_it(
    place: str, kind: str, own: Path, request: pytest.FixtureRequest
) -> None:
    address = request.getfixturevalue(place)
    name = f"own_{place}_{kind}"
    if kind == "file":
        file = write(own, name)
        reference, sources, path = f"{file}:ENTRY", [file], ""
    else:
        package = own / name
        package.mkdir()
        (package / "__init__.py").write_text(f"from {name}.inner import ENTRY as ENTRY\n")
        write(package, "inner").write_text((package / "inner.py").read_text().replace('"inner"', f'"{name}"'))
        reference, sources, path = f"{name}:ENTRY", list(package.iterdir()), str(own)
    sys.path.append(str(own))
    try:
        expected = digests_expected(reference)
    finally:
        sys.path.remove(str(own))
    Path("grid.toml").write_text(GRID.format(reference=reference))
    where = ("--master" if place == "cluster" else "--remote", address)
    gone = ":".join(map(str, sources))
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    # Executors of a cluster get the driver's PYTHONPATH from Spark: the package is not on it.
    code = f"import sys; sys.path.append({path!r})\n{ELSEWHERE}" if path else ELSEWHERE
    done = subprocess.run(
        [sys.executable, "-c", code, gone, "grid.toml", "--out", "out", "--check", "--json", *where],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["done"] == 8
    assert {path.name: open_trace(path).run.digest for path in find_runs("out")} == expected
    assert not any(source.exists() for source in sources)
