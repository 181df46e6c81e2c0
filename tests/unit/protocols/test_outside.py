"""Algorithms from outside: found by file, by module and by package; whatever is wrong is one line."""

import pickle
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from aforesaid import __version__
from aforesaid.check import check
from aforesaid.core import Misuse
from aforesaid.explore import Scope, explore, replay
from aforesaid.protocols import outside
from aforesaid.protocols.catalog import CATALOG, Setup, algorithm
from aforesaid.sim import Scenario, read_experiment, run_name, simulate
from aforesaid.sim.grid import read_grid
from support.own_algorithm import forgotten, write


@pytest.fixture(autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with forgotten(tmp_path):
        yield
    outside._loaded.cache_clear()


def test_a_file_is_loaded_once_and_its_classes_can_be_pickled(tmp_path: Path) -> None:
    file = write(tmp_path, "own_file")
    entry = algorithm("own_file.py:ENTRY")
    assert entry is algorithm(f"{file}:ENTRY")
    machine = entry.build(Setup("a", ("a", "b")))
    assert type(pickle.loads(pickle.dumps(machine))) is type(machine)
    assert sys.modules["own_file"].__file__ == str(file)


def test_a_module_is_imported(tmp_path: Path) -> None:
    package = tmp_path / "own_package"
    package.mkdir()
    (package / "__init__.py").touch()
    write(package, "inside")
    sys.path.append(str(tmp_path))
    assert algorithm("own_package.inside:ENTRY").name == "inside"
    assert outside.source_of("own_package.inside:ENTRY") == package
    assert outside.importable("own_package.inside:ENTRY") == "own_package.inside:ENTRY"


def test_an_installed_package_offers_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "offered_one")
    sys.path.append(str(tmp_path))
    offers = {
        name: EntryPoint(name, "offered_one:ENTRY", outside.GROUP) for name in ("offered_one", "other_name")
    }
    monkeypatch.setattr(outside, "_offers", lambda: offers)
    assert algorithm("offered_one").version == "0.1"
    assert outside.source_of("offered_one") == tmp_path / "offered_one.py"
    with pytest.raises(Misuse, match="other_name: an installed package offers offered_one by this name"):
        algorithm("other_name")
    with pytest.raises(Misuse, match="cykas, offered_one, other_name; one of your own is written path"):
        algorithm("neither")


def test_entry_points_are_those_of_our_group(tmp_path: Path) -> None:
    facts = tmp_path / "own_offer-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: own-offer\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[aforesaid.algorithms]\nown_offer = own_offer:ENTRY\n")
    write(tmp_path, "own_offer")
    sys.path.append(str(tmp_path))
    outside._offers.cache_clear()
    try:
        assert outside.offered() == ["own_offer"]
        assert algorithm("own_offer").name == "own_offer"
    finally:
        outside._offers.cache_clear()


@pytest.mark.parametrize(
    ("reference", "text", "says"),
    [
        ("none.py:ENTRY", None, "none.py:ENTRY: there is no file "),
        (
            "nosuchmodule:ENTRY",
            None,
            r"there is no module nosuchmodule; a file is written path/nosuchmodule\.py",
        ),
        ("bad1.py:ENTRY", "x = 1\nx = 1 / 0\n", r"bad1\.py, line 2: ZeroDivisionError: division by zero"),
        ("bad2.py:ENTRY", "import nosuchthing\n", r"bad2\.py, line 1: ModuleNotFoundError: No module named"),
        ("bad3.py:ENTRY", "x = (\n", r"bad3\.py, line 1: SyntaxError: '\(' was never closed"),
        (
            "bad4:ENTRY",
            "x = 1\nx.y\n",
            r"bad4\.py, line 2: AttributeError: 'int' object has no attribute 'y'",
        ),
        ("bad5.py:ENTRY", "x = 1\n", r"has no ENTRY; its algorithms: none"),
        ("bad6.py:ENTRY", "ENTRY = 1\n", "ENTRY is no Algorithm but int"),
        ("json.py:ENTRY", "", "no module can be called json; give the file another name"),
        ("pytest.py:ENTRY", "", "another module is called pytest; give the file another name"),
        ("two-words.py:ENTRY", "", "no module can be called two-words"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(
    reference: str, text: str | None, says: str, tmp_path: Path
) -> None:
    sys.path.append(str(tmp_path))
    if text is not None:
        (tmp_path / f"{reference.partition(':')[0].removesuffix('.py')}.py").write_text(text)
    with pytest.raises(Misuse, match=says) as misuse:
        algorithm(reference)
    assert str(misuse.value).startswith(reference)
    assert "\n" not in str(misuse.value)


def test_what_is_no_entry_of_an_outsider_is_one_line(tmp_path: Path) -> None:
    for name, (old, new), says in (
        ("clash", ('name="clash"', 'name="waiting"'), "waiting is the name of an algorithm of ours"),
        ("ageless", ('version="0.1"', 'version=""'), "ageless has no version"),
        ("loud", ('name="loud"', 'name="Loud!"'), "the name 'Loud!' has to be a-z, 0-9 and _"),
        (
            "needy",
            ("Need.FIXED_GROUP)", '"patience")'),
            "nothing can need 'patience'; there are: reliable links",
        ),
    ):
        write(tmp_path, name, **{old: new})
        with pytest.raises(Misuse, match=says):
            algorithm(f"{name}.py:ENTRY")
    write(tmp_path, "plain")
    with pytest.raises(Misuse, match="has no OTHER; its algorithms: ENTRY"):
        algorithm("plain.py:OTHER")


def test_a_failed_import_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "mended.py").write_text("1 / 0\n")
    with pytest.raises(Misuse):
        algorithm("mended.py:ENTRY")
    write(tmp_path, "mended")
    assert algorithm("mended.py:ENTRY").name == "mended"


def test_runs_and_traces_bear_its_own_name_and_version(tmp_path: Path) -> None:
    file = write(tmp_path, "own_run")
    scenario = Scenario.of({"algorithm": f"{file}:ENTRY", "processes": 3})
    outcome, trace = simulate(scenario)
    assert run_name(scenario) == "own_run-n3-s1"
    assert (trace.run.algorithm, trace.run.code_version) == ("own_run", f"{__version__}, own_run 0.1")
    assert check(trace).value() == "kept"
    assert simulate(Scenario.of({"algorithm": "waiting", "processes": 3}))[1].run.code_version == __version__
    found = explore(f"{file}:ENTRY", Scope(2, 1))
    assert (found.algorithm, found.verdict) == ("own_run", "kept")
    assert replay(f"{file}:ENTRY", Scope(2, 1), ()).run.code_version == f"{__version__}, own_run 0.1"
    assert outcome.deliveries > 0


def test_a_path_in_a_file_is_relative_to_that_file(tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    file = write(place, "own_near")
    (place / "talk.toml").write_text('algorithm = "own_near.py:ENTRY"\nprocesses = 3\n')
    assert read_experiment(place / "talk.toml").algorithm == f"{file}:ENTRY"
    (place / "grid.toml").write_text('processes = 3\n[sweep]\nalgorithm = ["own_near.py:ENTRY", "waiting"]\n')
    planned = read_grid(Path("elsewhere/grid.toml")).planned
    assert [one.run for one in planned] == ["own_near-n3-s1", "waiting-n3-s1"]
    assert [one.scenario.algorithm for one in planned] == [f"{file}:ENTRY", "waiting"]
    again = planned[0].scenario.to_json()
    (tmp_path / "again.json").write_text(again)
    assert read_experiment(tmp_path / "again.json") == planned[0].scenario


def test_a_module_that_arrived_without_its_path_is_imported_by_its_name(tmp_path: Path) -> None:
    reference = "/nowhere/own_far.py:ENTRY"
    with pytest.raises(Misuse, match="there is no file"):
        algorithm(reference)
    write(tmp_path, "own_far")
    sys.path.append(str(tmp_path))
    assert outside.importable(reference) == "own_far:ENTRY"
    outside.arrived(reference, "own_far:ENTRY")
    try:
        assert algorithm(reference).name == "own_far"
    finally:
        del outside._stand_ins[reference]


def test_an_entry_is_lent_for_the_length_of_a_block() -> None:
    with outside.lent(CATALOG["waiting"]) as reference:
        assert algorithm(reference) is CATALOG["waiting"]
    with pytest.raises(Misuse, match="unknown algorithm '<waiting>'"):
        algorithm(reference)
