"""Figures from runs on Spark: the same as from runs on this machine's cores."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.commands import command

OWN = """
algorithm = "waiting"
duration_ms = 200
sample_ms = 7
[sweep]
processes = [3, 4]
"""


def test_spark_and_cores_make_the_same_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], spark: SparkSession
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(OWN)
    reproduce = command(monkeypatch, capsys, "reproduce")
    arguments = ("own.toml", "--seeds", "2", "--format", "svg", "--json")
    assert reproduce(*arguments, "--out", "here", "--jobs", "1")[0] == 0
    code, told, _ = reproduce(*arguments, "--out", "there", "--spark")
    assert code == 0
    assert [row["runs"] for row in json.loads(told)["own"]["rows"]] == ["processes 3", "processes 4"]
    for name in ("own.csv", "own-series.csv", "own-space.svg"):
        assert Path("there", name).read_bytes() == Path("here", name).read_bytes()


def test_a_run_that_fails_on_spark_is_told_with_its_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], spark: SparkSession
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(OWN + 'network.delay = [{kind = "constant", ms = 1e305}]\n')
    code, _, told = command(monkeypatch, capsys, "reproduce")("own.toml", "--spark", "--processes", "3")
    assert code == 3
    assert "failed: cannot convert float infinity to integer" in told
    assert "replay: aforesaid simulate" in told
