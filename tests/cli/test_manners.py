"""What a new user tries first: short options, pipes, missing parts, the wrong command."""

import subprocess
import sys
from pathlib import Path

import pytest

from aforesaid import Config, Misuse

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def run(*words: str, without: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line, perhaps where a module is not installed."""
    block = f"sys.modules[{without!r}] = None; " if without else ""
    argv = ["aforesaid", *words]
    code = f"import sys; {block}sys.argv = {argv!r}; from aforesaid.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", **environment},
        check=False,
    )


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("manners") / "traces"
    assert run("simulate", str(SCENARIOS / "demo.toml"), "--out", str(out)).returncode == 0
    return out


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_who_stops_reading_has_no_verdict(traces: Path, form: list[str]) -> None:
    command = [sys.executable, "-m", "aforesaid", "check", str(traces), *form]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141


def test_h_is_help() -> None:
    assert "Judge a trace" in run("check", "-h").stdout


def test_simulate_knows_a_grid_when_it_sees_one() -> None:
    told = run("simulate", str(SCENARIOS / "sweep.toml"))
    assert told.returncode == 2
    assert "aforesaid sweep" in told.stderr


def test_report_takes_the_directory_that_check_takes(traces: Path, tmp_path: Path) -> None:
    told = run("report", str(traces), "--out", str(tmp_path / "page.html"))
    assert told.returncode == 0, told.stderr
    assert "waiting-n5-s7" in (tmp_path / "page.html").read_text()


def test_without_colours_nothing_is_bold(traces: Path) -> None:
    assert "\x1b[1" in run("check", "--help", FORCE_COLOR="1").stdout
    assert "\x1b" not in run("check", "--help", FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "\x1b" not in run("check", str(traces), FORCE_COLOR="1", NO_COLOR="1").stdout


@pytest.mark.parametrize(
    ("module", "extra"), [("numba", "fleet"), ("matplotlib", "report"), ("pyarrow", "trace")]
)
def test_a_missing_part_is_named_and_leaves_nothing_behind(tmp_path: Path, module: str, extra: str) -> None:
    told = run("reproduce", "figure5", "--out", str(tmp_path / "figures"), without=module)
    assert told.returncode == 2
    assert f"aforesaid[{extra}]" in told.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [{"linger_s": -1}, {"name": "a b"}, {"heartbeat_s": "soon"}])
def test_a_configuration_that_cannot_be_is_none(wrong: dict[str, object]) -> None:
    with pytest.raises(Misuse):
        Config(**{"name": "a", **wrong})  # type: ignore[arg-type]


def test_a_log_that_says_nothing_leaves_nothing_behind(tmp_path: Path) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "traces"
    log.write_text('{"a": 1}\n')
    told = run("ingest", "--from", "jsonl", str(log), "--out", str(out))
    assert told.returncode == 2
    assert "about something else" in told.stderr
    assert not out.exists()
