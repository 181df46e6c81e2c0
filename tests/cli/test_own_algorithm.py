"""An algorithm of one's own on the command line: begun, shown, simulated, explored; scenarios with --set."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aforesaid.trace.parquet import open_trace
from support.commands import Run, command
from support.own_algorithm import forgotten, write

SCENARIO = """
algorithm = "{algorithm}"
processes = 4
seed = 5
duration_ms = 300
{more}
[[workload]]
kind = "rate"
per_second = 20
"""


@pytest.fixture
def aforesaid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    monkeypatch.chdir(tmp_path)
    Path("talk.toml").write_text(SCENARIO.format(algorithm="waiting", more=""))
    with forgotten(tmp_path):
        yield command(monkeypatch, capsys)


def test_a_new_algorithm_works_as_written(aforesaid: Run, tmp_path: Path) -> None:
    code, out, _ = aforesaid("new", "algorithm", "newborn", "--into", "deep/er")
    assert (code, "aforesaid algorithms deep/er/newborn.py:ENTRY" in out) == (0, True)
    code, out, _ = aforesaid("algorithms", "deep/er/newborn.py:ENTRY", "--json")
    (facts,) = json.loads(out)
    assert (facts["name"], facts["version"], facts["sources"]) == ("newborn", "0.1", [])
    assert facts["options"]["waiting_max"]["default"] == 10_000
    flags = ["-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *flags, "deep/er/test_newborn.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "14 passed" in done.stdout) == (0, True), done.stdout


@pytest.mark.parametrize("name", ["n", "newborn", "a_name_of_forty_letters_which_is_the_most"])
@pytest.mark.parametrize("width", ["88", "110"])
def test_what_is_written_is_formatted(aforesaid: Run, name: str, width: str) -> None:
    name = name[:40]
    aforesaid("new", "algorithm", name)
    ruff = [str(Path(sys.executable).with_name("ruff")), "--isolated"]
    for words in (["format", "--check", "--line-length", width], ["check", "--line-length", width]):
        done = subprocess.run([ruff[0], words[0], ruff[1], *words[1:], "."], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_new_writes_nothing_over_and_takes_names_only(aforesaid: Run) -> None:
    Path("test_newborn.py").write_text("mine")
    code, _, err = aforesaid("new", "algorithm", "newborn")
    assert (code, "test_newborn.py exists" in err, Path("newborn.py").exists()) == (2, True, False)
    for name, says in (
        ("New", "a name is a-z, 0-9 and _"),
        ("a/b", "a name is a-z, 0-9 and _"),
        ("x" * 41, "40 characters at most"),
        ("waiting", "the name of an algorithm of ours"),
        ("class", "a word of Python's own"),
        ("json", "a word of Python's own"),
    ):
        code, _, err = aforesaid("new", "algorithm", name)
        assert (code, says in err, err.count("\n")) == (2, True, 1)
    Path("file").touch()
    code, _, err = aforesaid("new", "algorithm", "newborn", "--into", "file/below")
    assert (code, "cannot write to file/below" in err) == (2, True)


def test_ones_own_algorithm_is_simulated_checked_and_drawn(aforesaid: Run, tmp_path: Path) -> None:
    write(tmp_path, "own_cli")
    assert aforesaid("simulate", "talk.toml", "--algorithm", "own_cli.py:ENTRY")[0] == 0
    run = open_trace("traces/run=own_cli-n4-s5").run
    assert (run.algorithm, run.code_version.endswith(", own_cli 0.1")) == ("own_cli", True)
    # From anywhere: the trace's own scenario leads to the algorithm.
    Path("else").mkdir()
    Path("else/again.json").write_text(run.scenario)
    code, out, _ = aforesaid("simulate", "else/again.json", "--run", "again", "--json")
    assert (code, json.loads(out)["digest"]) == (0, run.digest)
    assert aforesaid("check", "traces")[0] == 0
    assert aforesaid("draw", "traces/run=own_cli-n4-s5")[0] == 0
    code, out, _ = aforesaid("simulate", "talk.toml", "--algorithm", "own_cli.py:ENTRY", "--seeds", "3")
    assert (code, "own_cli: 3 seeds from 5" in out) == (0, True)


def test_a_schedule_of_ones_own_algorithm_is_replayed_from_anywhere(
    aforesaid: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "own_bug", **{"for cause in causes)": "for cause in ())"})
    words = ("explore", "own_bug.py:ENTRY", "--processes", "3", "--messages", "1", "--save", "bug.json")
    code, out, _ = aforesaid(*words)
    assert (code, "replay: aforesaid explore own_bug.py:ENTRY --replay bug.json" in out) == (1, True)
    assert "aforesaid view bug.json" in out
    Path("else").mkdir()
    monkeypatch.chdir("else")
    code, out, _ = aforesaid("explore", "../own_bug.py:ENTRY", "--replay", "../bug.json")
    assert (code, "causal" in out) == (1, True)


def test_set_changes_what_the_file_says(aforesaid: Run, tmp_path: Path) -> None:
    write(tmp_path, "own_set")
    settings = {
        "processes": "6",
        "network.loss": "0.1",
        "network.retransmit": "true",
        "network.delay": '{ kind = "constant", ms = 3 }',
        "workload[0].arrivals": "periodic",
        "algorithm": "own_set.py:ENTRY",
        "options.waiting_max": "7",
    }
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    code, out, err = aforesaid("simulate", "talk.toml", *words, "--seed", "9", "--json")
    assert (code, err) == (0, "")
    told = json.loads(open_trace(json.loads(out)["trace"]).run.scenario)
    assert (told["processes"], told["seed"], told["network"]["loss"]) == (6, 9, 0.1)
    assert told["network"]["delay"] == {"kind": "constant", "ms": 3}
    assert (told["workload"][0]["arrivals"], told["options"]) == ("periodic", {"waiting_max": 7})
    assert told["algorithm"] == f"{tmp_path}/own_set.py:ENTRY"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--set", "processes"), "--set processes: write KEY=VALUE, as in --set network.loss=0.1"),
        (("--set", "network..loss=1"), "--set network..loss: a key looks like network.loss"),
        (
            ("--set", "workload[3].per_second=1"),
            "--set workload[3].per_second: the scenario has no item 3 there",
        ),
        (("--set", "seed.next=1"), "--set seed.next: the scenario has no table there"),
        (("--set", "processes=many"), "processes: expected `int`, got `str`"),
        (
            ("--set", "network.los=0.1"),
            "network: unknown key `los`, did you mean loss? known keys: delay, loss",
        ),
        (("--set", "network.loss=0.1"), "waiting needs reliable links, but this network loses frames"),
        (("--algorithm", "tree"), "tree needs FIFO links: set network.fifo = true"),
        (("--algorithm", "none.py:ENTRY"), "none.py:ENTRY: there is no file"),
    ],
)
def test_a_wrong_setting_is_one_line(aforesaid: Run, words: tuple[str, ...], says: str) -> None:
    code, out, err = aforesaid("simulate", "talk.toml", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


def test_another_algorithm_takes_the_files_options_that_it_has(aforesaid: Run) -> None:
    more = "[network]\nfifo = true\n[options]\nfan_out = 3"
    Path("tree.toml").write_text(SCENARIO.format(algorithm="tree", more=more))
    assert aforesaid("simulate", "tree.toml", "--algorithm", "tree")[0] == 0
    code, _, err = aforesaid("simulate", "tree.toml", "--algorithm", "waiting")
    assert code == 2
    assert err == (
        "aforesaid: tree.toml: options.fan_out: waiting has no such option; it has: none; "
        "--set options={} leaves all options out\n"
    )
    assert aforesaid("simulate", "tree.toml", "--algorithm", "waiting", "--set", "options={}")[0] == 0


def test_the_replay_command_has_the_settings(aforesaid: Run) -> None:
    words = ("--set", "events_max=12", "--set", "network.delay={ kind = 'constant', ms = 3 }")
    code, out, _ = aforesaid(
        "simulate", "talk.toml", "--algorithm", "reliable", *words, "--seeds", "1", "--json"
    )
    told = json.loads(out)
    assert (code, told["unknown"]) == (3, 1)
    assert told["failures"][0]["replay"] == (
        "aforesaid simulate talk.toml --out traces --algorithm reliable --set events_max=12 "
        "--set 'network.delay={ kind = '\"'\"'constant'\"'\"', ms = 3 }' --seed 5"
    )


def test_an_algorithm_is_cited_in_full(aforesaid: Run) -> None:
    _, out, _ = aforesaid("algorithms", "rst")
    told = " ".join(out.split())
    assert "Raynal, Michel; Schiper, André; Toueg, Sam. The Causal Ordering Abstraction" in told
    assert "Information Processing Letters 39(6), 343–350, 1991. https://doi.org/10.1016/" in told
    assert "2026. section 3.1 and table 1. https://doi.org/10.48550/arXiv.2601.11487" in told
    (facts,) = json.loads(aforesaid("algorithms", "prc_spray", "--json")[1])
    assert facts["paper"] == (
        "Nédelec, Molli and Mostéfaoui (2018b), algorithm 2 and section 3; Nédelec and others (2017)"
    )
    assert facts["sources"][0]["doi"] == "10.4230/LIPIcs.OPODIS.2018.20"
    assert facts["sources"][0]["section"] == "algorithm 2 and section 3"


def test_algorithms_lists_what_packages_offer_and_tells_what_is_broken(
    aforesaid: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib.metadata import EntryPoint

    from aforesaid.protocols import outside

    write(tmp_path, "own_offered")
    monkeypatch.syspath_prepend(tmp_path)
    offers = {
        name: EntryPoint(name, f"{name}:ENTRY", outside.GROUP) for name in ("own_offered", "own_broken")
    }
    monkeypatch.setattr(outside, "_offers", lambda: offers)
    code, out, err = aforesaid("algorithms")
    assert (code, "own_offered" in out, "waiting_uniform" in out) == (0, True, True)
    assert "not listed: own_broken: there is no module own_broken" in " ".join(err.split())
