"""The fixture `nodes`: it is there for who names it, and costs others nothing."""

import subprocess
import sys
from pathlib import Path

from aforesaid.testing.nodes import Nodes

pytest_plugins = ["aforesaid.testing.nodes"]


def test_it_gives_as_many_as_are_asked_for(nodes: Nodes) -> None:
    alice, bob, carol = nodes(["alice", "bob", "carol"])
    alice.broadcast(b"a picture")
    assert {node.receive(timeout_s=60).payload for node in (alice, bob, carol)} == {b"a picture"}
    (other,) = nodes(1, payload="json", algorithm="waiting")
    other.broadcast({"a": 1})
    assert other.receive(timeout_s=60).payload == {"a": 1}


SUITE = """
import pytest
from aforesaid import Closed

seen = []

def test_one(nodes):
    seen.extend(nodes(2))
    assert len(seen) == 2

def test_they_are_closed_when_the_test_is_over():
    for node in seen:
        with pytest.raises(Closed):
            node.broadcast(b"")

def test_none():
    import sys
    assert "aforesaid.testing.conformance" not in sys.modules
"""


def pytest_of(directory: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, str(directory)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory, timeout=120)


def test_a_suite_names_it_and_can_do_without(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    named = pytest_of(tmp_path, "-p", "aforesaid.testing.nodes")
    assert "3 passed" in named.stdout, named.stdout + named.stderr
    without = pytest_of(tmp_path, "-p", "no:aforesaid.testing.nodes")
    assert "fixture 'nodes' not found" in without.stdout
    assert "2 passed, 1 error" in without.stdout


def test_who_does_not_name_it_does_not_import_it(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(
        "import sys\ndef test_none():\n    assert not [m for m in sys.modules if 'aforesaid' in m]\n"
    )
    assert "1 passed" in pytest_of(tmp_path).stdout
