"""The command line as its users meet it: what it prints, what it writes, how it exits."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aforesaid.sim import Outcome, Scenario, SimulationFailed, simulate
from aforesaid.trace import MemoryTrace
from aforesaid.world.plan import Plan, plan_of
from aforesaid.world.trial import Outcome as WorldOutcome
from support.commands import Run, command
from support.s3 import Bucket

SCENARIO = """
algorithm = "waiting"
processes = 4
seed = 5
duration_ms = 600
[network]
delay = { kind = "lognormal", median_ms = 15, sigma = 1.0 }
[[workload]]
kind = "rate"
per_second = 20
[[workload]]
kind = "chain"
per_second = 10
"""


@pytest.fixture
def aforesaid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `aforesaid ARGUMENTS` in an empty directory; gives the exit code and what was printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talk.toml").write_text(SCENARIO)

    return command(monkeypatch, capsys)


def test_simulate_then_check_says_kept(aforesaid: Run) -> None:
    code, out, _ = aforesaid("simulate", "talk.toml")
    assert code == 0
    assert "drained" in out
    assert Path("traces/run=waiting-n4-s5/deliveries.parquet").exists()
    code, out, _ = aforesaid("check", "traces")
    assert (code, "kept" in out, "violated" in out) == (0, True, False)


def test_a_violation_exits_1_with_a_sentence_and_its_machine_readable_form(aforesaid: Run) -> None:
    aforesaid("simulate", "talk.toml", "--algorithm", "reliable", "--run", "r")
    code, out, _ = aforesaid("check", "traces/run=r", "--property", "causal")
    assert code == 1
    assert "causal: p" in out
    code, out, _ = aforesaid("check", "traces/run=r", "--property", "causal", "--json")
    (report,) = json.loads(out)["runs"]
    assert (code, report["verdicts"]["causal"]["value"]) == (1, "violated")
    witness = report["verdicts"]["causal"]["witnesses"][0]
    assert {"process", "message", "position", "sentence"} <= set(witness)


def test_what_was_not_promised_and_not_kept_is_told_and_counts_for_nothing(aforesaid: Run) -> None:
    aforesaid("simulate", "talk.toml", "--algorithm", "reliable")
    code, out, _ = aforesaid("check", "traces")
    assert code == 0
    assert "not promised, not kept: causal was broken " in out
    assert "; first: p" in out
    # Of several runs the last line is read most.
    aforesaid("simulate", "talk.toml", "--run", "w")
    _, out, _ = aforesaid("check", "traces")
    assert out.splitlines()[-2:] == [
        "2 runs: 2 kept, 0 violated, 0 unknown",
        "not promised, not kept: fifo in 1 run, causal in 1 run",
    ]
    _, out, _ = aforesaid("simulate", "talk.toml", "--algorithm", "reliable", "--seeds", "1")
    assert out.splitlines()[-1] == "not promised, not kept: fifo in 1 run, causal in 1 run"


def test_a_run_cut_short_exits_3(aforesaid: Run) -> None:
    Path("cut.toml").write_text("events_max = 300\n" + SCENARIO)
    code, out, _ = aforesaid("simulate", "cut.toml")
    assert (code, "cut" in out) == (3, True)
    code, out, _ = aforesaid("check", "traces")
    assert (code, "unknown" in out) == (3, True)


def test_json_of_simulate_has_the_digest_and_is_the_same_twice(aforesaid: Run) -> None:
    _, first, _ = aforesaid("simulate", "talk.toml", "--json")
    _, second, _ = aforesaid("simulate", "talk.toml", "--json", "--force")
    one, two = json.loads(first), json.loads(second)
    assert one["digest"] == two["digest"]
    assert one["frames"]["sent"] > 0


def test_seeds_are_judged_in_memory_and_a_failure_says_how_to_replay_it(aforesaid: Run) -> None:
    code, out, _ = aforesaid("simulate", "talk.toml", "--seeds", "5")
    assert (code, "5 kept, 0 violated" in out) == (0, True)
    Path("late.toml").write_text("events_max = 300\n" + SCENARIO)
    code, out, _ = aforesaid("simulate", "late.toml", "--seeds", "2", "--json")
    told = json.loads(out)
    assert (code, told["unknown"]) == (3, 2)
    assert told["failures"][0]["replay"] == "aforesaid simulate late.toml --out traces --seed 5"
    assert not Path("traces").exists()


def test_a_seed_on_which_a_protocol_crashes_is_told_and_stops_no_other(
    aforesaid: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_at_six(scenario: Scenario) -> tuple[Outcome, MemoryTrace]:
        if scenario.seed == 6:
            raise SimulationFailed("waiting, seed 6, failed at 1.000 ms: AssertionError()")
        return simulate(scenario)

    monkeypatch.setattr("aforesaid.cli.simulate.simulate", broken_at_six)
    code, out, _ = aforesaid("simulate", "talk.toml", "--seeds", "3", "--json")
    told = json.loads(out)
    assert (code, told["kept"], told["violated"]) == (1, 2, 1)
    (failure,) = told["failures"]
    assert failure["replay"].endswith("--seed 6")
    assert "failed at 1.000 ms" in failure["sentence"]


def test_explore_covers_everything_and_says_so(aforesaid: Run) -> None:
    code, out, _ = aforesaid("explore", "waiting", "--processes", "2", "--messages", "1", "--crashes", "1")
    assert (code, "every schedule" in out) == (0, True)
    code, out, _ = aforesaid("explore", "waiting", "--messages", "2", "--states-max", "50", "--json")
    assert (code, json.loads(out)["verdict"]) == (3, "unknown")


def test_explore_gives_what_is_needed_or_says_what_to_set(aforesaid: Run) -> None:
    small = ("--processes", "2", "--messages", "1")
    code, out, _ = aforesaid("explore", "tree", *small)
    assert (code, "FIFO links, no faults: kept" in out) == (0, True)
    code, out, _ = aforesaid("explore", "newtop", *small)
    assert code == 3
    assert (
        "unknown: liveness: in 3 states a timer was due and no firing was left; set --timers above 0" in out
    )
    assert "safety on every schedule, liveness on none" in out
    code, out, _ = aforesaid("explore", "newtop", *small, "--json")
    facts = json.loads(out)
    assert (code, facts["verdict"], facts["complete"], facts["cut"]) == (3, "unknown", True, 3)
    assert facts["reason"].endswith("set --timers above 0")
    assert facts["scope"]["fifo"] is True
    code, out, _ = aforesaid("explore", "newtop", *small, "--timers", "2", "--json")
    assert (code, json.loads(out)["reason"]) == (0, None)
    _, out, _ = aforesaid("explore", "--help")
    assert "--any-order" in out


def test_explore_tries_every_audience(aforesaid: Run) -> None:
    code, out, _ = aforesaid("explore", "hybrid_sps", "--processes", "3", "--messages", "1", "--json")
    facts = json.loads(out)
    # Three messages, each for one of two others.
    assert (code, facts["complete"], facts["outcomes"]) == (0, True, 8)
    code, out, _ = aforesaid("explore", "hybrid_sps", "--messages", "1", "--crashes", "1", "--json")
    assert (code, "causal_unless_lost" in json.loads(out)["promises"]) == (0, True)


def test_explore_opens_and_closes_links(aforesaid: Run) -> None:
    ring = ("explore", "prc", "--fifo", *("--option=degree=1", "--option=both_ways=false", "--messages=0"))
    code, out, _ = aforesaid(*ring, "--link", "open:p0:p2:p1", "--link", "close:p0:p2")
    assert code == 0
    assert "p0 opens a link to p2 by way of p1; p0 closes its link to p2" in out
    code, out, _ = aforesaid(*ring, "--option", "alpha=routed", "--disconnections", "1", "--json")
    assert (code, json.loads(out)["scope"]["disconnections_max"]) == (0, 1)
    assert ["alpha", "routed"] in json.loads(out)["scope"]["options"]


def test_explore_lets_members_come_and_go(aforesaid: Run) -> None:
    circle = ("explore", "prc", "--option=degree=1", "--messages=0")
    code, out, _ = aforesaid(*circle, "--link=join:p2:p0", "--link=leave:p1", "--suspicions=1", "--timers=1")
    assert code == 0
    assert "up to 1 false suspicions: kept" in out
    assert "p2 joins through p0; p1 leaves" in out
    code, _, err = aforesaid(*circle, "--link", "leave")
    assert (code, "--link leave: write open:p0:p2" in err) == (2, True)


def test_explore_shows_saves_and_replays_the_shortest_violation(aforesaid: Run) -> None:
    arguments = ("explore", "best_effort_claiming_agreement", "--messages", "1")
    code, _, err = aforesaid(*arguments)
    assert (code, "unknown algorithm" in err) == (2, True)
    schedule = {
        "schedule": 1,
        "algorithm": "reliable",
        "scope": {"processes": 2, "messages": 1},
        "steps": [{"do": "broadcast", "process": "p0", "what": "p0#1"}],
    }
    Path("s.json").write_text(json.dumps(schedule))
    code, out, _ = aforesaid("explore", "reliable", "--replay", "s.json")
    assert "1. p0 broadcasts p0#1" in out
    assert code in (0, 3)
    Path("s.json").write_text("{}")
    code, _, err = aforesaid("explore", "reliable", "--replay", "s.json")
    assert (code, "not a schedule file" in err and ".json: " in err) == (2, True)


def test_the_catalog_lists_and_explains(aforesaid: Run) -> None:
    _, out, _ = aforesaid("algorithms")
    assert "waiting_uniform" in out
    _, out, _ = aforesaid("algorithms", "waiting")
    assert "algorithm 2 (corrected)" in out
    _, out, _ = aforesaid("algorithms", "--json")
    assert {"name", "needs", "promises", "metadata", "paper"} <= set(json.loads(out)[0])


def test_draw_makes_a_picture_and_does_not_write_over_it(aforesaid: Run) -> None:
    aforesaid("simulate", "talk.toml", "--run", "r")
    assert aforesaid("draw", "traces/run=r")[0] == 0
    assert Path("spacetime.svg").read_text().startswith("<svg")
    code, _, err = aforesaid("draw", "traces/run=r")
    assert (code, "spacetime.svg exists" in err) == (2, True)
    code, out, _ = aforesaid("draw", "traces/run=r", "--around", "p1#3", "--process", "p0", "--out", "a.pdf")
    assert (code, "on 1 of 4 lines into a.pdf" in out) == (0, True)
    code, _, err = aforesaid("draw", "traces/run=r", "--out", "a.gif")
    assert (code, "ends with .svg, .pdf, .png" in err) == (2, True)
    code, _, err = aforesaid("draw", "traces/run=r", "--first", "99999", "--force")
    assert (code, "is past the last" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("simulate", "missing.toml"), "cannot read scenario missing.toml"),
        (("simulate", "talk.toml", "--algorithm", "nope"), "unknown algorithm 'nope'; there are:"),
        (("simulate", "negative.toml"), "workload[0].per_second: expected `float` > 0.0"),
        (("check", "missing"), "missing does not exist"),
        (("check", "."), "is not a trace"),
        (("check", "traces/run=r", "--property", "nope"), "unknown property 'nope'; there are:"),
        (("simulate", "talk.toml", "--run", "r"), "exists"),
        (("check", "traces/run=cut"), "deliveries.parquet"),
        (("check", "traces/run=newer"), "schema version 99"),
        (("draw", "traces"), "runs; name one of them"),
        (("explore", "nope"), "unknown algorithm 'nope'"),
        (("explore", "waiting", "--processes", "99"), "processes must be"),
        (("explore", "tree", "--crashes", "1"), "tree promises nothing once a process crashes"),
        (("explore", "tree", "--any-order"), "tree needs FIFO links: explore it with --fifo"),
        (("explore", "prc", "--duplicates", "1"), "prc needs FIFO links: explore it with --fifo"),
        (("explore", "waiting", "--drops", "1"), "explore it with --perfect-links"),
        (("explore", "majority", "--crashes", "2"), "but 2 of 3 may crash here"),
        (("explore", "prc", "--fifo", "--link", "open:p0"), "--link open:p0: write open:p0:p2 or"),
        (("explore", "prc", "--option", "degree"), "--option degree: write NAME=VALUE"),
        (("explore", "waiting", "--option", "degree=1"), "waiting has no such option"),
        (("algorithms", "nope"), "unknown algorithm 'nope'"),
    ],
)
def test_bad_input_is_one_clear_line_exit_2_and_nothing_written_over(
    aforesaid: Run, arguments: tuple[str, ...], says: str
) -> None:
    Path("negative.toml").write_text(SCENARIO.replace("per_second = 20", "per_second = -1"))
    if "traces" in " ".join(arguments) or arguments[0] == "simulate":
        prepare(aforesaid)
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    code, out, err = aforesaid(*arguments)
    assert code == 2
    assert says in err
    assert err.startswith("aforesaid: ")
    assert err.count("\n") == 1
    assert out == ""
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def prepare(aforesaid: Run) -> None:
    """A good run, one with a truncated table, one from a newer version."""
    assert aforesaid("simulate", "talk.toml", "--run", "r")[0] == 0
    for name in ("cut", "newer"):
        shutil.copytree("traces/run=r", f"traces/run={name}")
    deliveries = Path("traces/run=cut/deliveries.parquet")
    deliveries.write_bytes(deliveries.read_bytes()[:-100])
    runs = Path("traces/run=newer/runs.parquet")
    table = pq.read_table(runs)
    index = table.schema.get_field_index("schema_version")
    table = table.set_column(index, table.schema.field(index), pa.array([99], table.schema.field(index).type))
    pq.write_table(table.replace_schema_metadata({"aforesaid.schema_version": "99"}), runs)


def test_view_makes_one_page_of_all_runs_and_does_not_write_over_it(aforesaid: Run) -> None:
    aforesaid("simulate", "talk.toml", "--run", "r")
    aforesaid("simulate", "talk.toml", "--run", "s", "--algorithm", "reliable")
    code, out, _ = aforesaid("view", "traces")
    assert (code, "view.html (2 runs, " in out) == (0, True)
    page = Path("view.html").read_text()
    assert page.count('type="application/octet-stream"') == 2
    assert "http://" not in page
    assert "https://" not in page
    code, _, err = aforesaid("view", "traces/run=r")
    assert (code, "view.html exists" in err) == (2, True)
    assert aforesaid("view", "traces/run=r", "--force")[0] == 0
    assert aforesaid("view", "nowhere", "--force")[0] == 2


@pytest.mark.parametrize(
    "arguments", [("simulate",), ("simulate", "talk.toml", "--sed", "3"), ("check",), ("nope",)]
)
def test_wrong_flags_are_a_misuse_too(aforesaid: Run, arguments: tuple[str, ...]) -> None:
    code, _, err = aforesaid(*arguments)
    assert code == 2
    assert "Usage: aforesaid" in err


@pytest.mark.parametrize(
    "command",
    ["simulate", "check", "explore", "algorithms", "draw", "view", "sweep", "audit", "metrics", "report"],
)
def test_help_teaches_with_an_example(aforesaid: Run, command: str) -> None:
    code, out, _ = aforesaid(command, "--help")
    assert code == 0
    assert f"aforesaid {command} " in out


def test_help_and_version_load_nothing_heavy() -> None:
    for argument in ("--help", "--version", "algorithms"):
        code = (
            "import sys; sys.argv = ['aforesaid', sys.argv[1]]\n"
            "from aforesaid.cli import main\n"
            "try: main()\n"
            "except SystemExit: pass\n"
            "print({'numpy', 'pyarrow', 'numba', 'pyspark', 'matplotlib'} & set(sys.modules))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, argument], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == "set()", argument


def test_ctrl_c_stops_at_once_and_leaves_nothing_behind(tmp_path: Path) -> None:
    endless = SCENARIO.replace("duration_ms = 600", "duration_ms = 100_000_000")
    (tmp_path / "endless.toml").write_text(endless)
    process = subprocess.Popen(
        [sys.executable, "-m", "aforesaid", "simulate", "endless.toml"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    deadline = time.monotonic() + 60
    while not any((tmp_path / "traces").glob(".run=*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)  # now it is simulating
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert list((tmp_path / "traces").iterdir()) == []


def test_an_interrupted_campaign_of_worlds_tells_what_it_saw_and_how_to_go_on() -> None:
    """Ctrl-C as a terminal sends it, to every process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "aforesaid", "world", "--seeds", "100000", "--jobs", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(5)
    os.killpg(process.pid, signal.SIGINT)
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    seen = int(out.split(" worlds of fixed groups, ")[0])
    rest = f"--first {seen} --seeds {100_000 - seen}"
    assert err == f"interrupted; to go on: aforesaid world --group fixed {rest}\n"


def test_a_run_in_a_store_is_written_judged_and_drawn(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without Spark, the environment says how a store is reached."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.server.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    aforesaid = command(monkeypatch, capsys)
    (bucket.place / "small.toml").write_text('algorithm = "waiting"\nprocesses = 3\nduration_ms = 100\n')
    code, out, err = aforesaid("simulate", f"{bucket.uri}/small.toml", "--out", bucket.uri, "--run", "one")
    assert (code, err, f"{bucket.uri}/run=one" in out) == (0, "", True)
    assert aforesaid("check", bucket.uri, "--json")[0] == 0
    assert aforesaid("draw", f"{bucket.uri}/run=one", "--out", "one.svg")[0] == 0
    assert [file.name for file in tmp_path.iterdir()] == ["one.svg"]
    code, _, err = aforesaid("simulate", f"{bucket.uri}/small.toml", "--out", bucket.uri, "--run", "one")
    assert (code, f"{bucket.uri}/run=one exists" in err) == (2, True)


def test_a_plan_that_is_none_is_one_line(aforesaid: Run) -> None:
    plan = '{"seed":1,"group":"fixed","algorithm":"waiting","transport":"udp","names":["a","b"],'
    plan += '"seconds":1,"rate":1,'
    for faults, told in (
        ('"faults":[{"at_s":1,"kind":"explode"}]}', "Invalid enum value 'explode'"),
        ('"faults":[{"at_s":1,"kind":"cut","who":["a"]}]}', "a cut befalls somebody: name them in who"),
        ("", "is no plan"),
    ):
        Path("plan.json").write_text(plan + faults)
        code, _, err = aforesaid("world", "--plan", "plan.json")
        assert (code, told in " ".join(err.split())) == (2, True)
    Path("plan.json").write_text(plan + '"faults":[{"at_s":0.5,"kind":"halt","who":["a"],"for_s":0.2}]}')
    code, out, _ = aforesaid("world", "--plan", "plan.json")
    assert (code, "kept: " in out) == (0, True)


def test_a_world_that_fails_is_made_smaller(aforesaid: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(plan: Plan) -> WorldOutcome:
        return WorldOutcome(plan, ["b was late"] if any(each.kind == "halt" for each in plan.faults) else [])

    seed = next(
        seed
        for seed in range(99)
        if len(plan_of(seed, "fixed").faults) > 3 and fails(plan_of(seed, "fixed")).complaints
    )
    monkeypatch.setattr(
        "aforesaid.cli.world.campaign",
        lambda seeds, group, jobs: [fails(plan_of(each, group)) for each in seeds],
    )
    monkeypatch.setattr("aforesaid.cli.world.run", fails)
    one = ("world", "--first", str(seed), "--seeds", "1")
    code, out, _ = aforesaid(*one)
    assert (code, f"replay: aforesaid world --group fixed --first {seed} --seeds 1" in out) == (1, True)
    smallest = out.partition("the smallest plan that was found to fail")[2]
    assert smallest.count("for ") == 2, "what they say, and one fault"
    assert "halt" in smallest
    assert aforesaid(*one, "--save", "s.json", "--json")[0] == 1
    plan = msgspec.json.decode(Path("s.json").read_bytes(), type=Plan)
    assert ([fault.kind for fault in plan.faults], len(plan.names)) == (["halt"], 2)
