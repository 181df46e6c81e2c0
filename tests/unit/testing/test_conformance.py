"""The kit lets what conforms pass, and says of each bug what it is, and how to see it again."""

import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import aforesaid.testing.template
from aforesaid.core import AforesaidError
from aforesaid.protocols.algorithm import Algorithm
from aforesaid.protocols.catalog import CATALOG, algorithm
from aforesaid.testing import NonConforming, conforms, parts
from support.commands import command
from support.own_algorithm import TEXT, forgotten

CAUGHT_S_MAX = 30.0

CAUSES = "return all(cause.number <= self.delivered[cause.origin] for cause in causes)"
KNOWN = """        if said.number <= self.delivered[said.origin] or said in self.waiting:
            return
"""
PASSES_ON = """        if others := tuple(peer for peer in self.peers if peer not in known):
            out.send(others, message)
"""
PEERS = "self.peers = tuple(name for name in setup.group if name != setup.me)"

BUGS: dict[str, tuple[str, str, str]] = {
    "waits_for_no_cause": (CAUSES, "return bool(causes) or True", "causal: "),
    "forgets_what_it_had": (KNOWN, "", "does not come to rest"),
    "passes_nothing_on": (PASSES_ON, "", "agreement"),
    "iterates_over_a_set": (
        PEERS,
        PEERS.replace("tuple(", "tuple({").replace("me)", "me})"),
        "PYTHONHASHSEED",
    ),
    "asks_the_payload": (
        "                out.deliver(message_id, said.payload)",
        "                if said.payload:\n                    out.deliver(message_id, said.payload)",
        "asks whether a payload is true",
    ),
    "wraps_the_payload": (
        "out.deliver(message_id, said.payload)",
        "out.deliver(message_id, getattr(said.payload, 'inside', said.payload))",
        "which nobody said",
    ),
    "declares_no_frame": ("@frame()\nclass Said", "class Said", "is not declared"),
    "sends_lists": ("tuple(sorted(self.causes.values()))", "sorted(self.causes.values())", "not hashable"),
    "cannot_be_pickled": (PEERS, f"{PEERS}\n        self.key = lambda: 0", "pickle"),
    "remembers_other_runs": (
        PEERS,
        f"{PEERS}\n        BUILT.append(setup.me)\n        if len(BUILT) > 4:\n"
        "            self.peers = self.peers[::-1]",
        "second time",
    ),
    "holds_at_rest": (
        '{"waiting": len(self.waiting)}',
        '{"waiting": self.sent}',
        "holds \\d+ waiting at rest",
    ),
    "never_rests": (
        '        """It arms no timers."""',
        "        out.arm(timer, now + 1)\n",
        "does not come to rest",
    ),
    "promises_the_unknown": ("(*RELIABLE, *ORDER)", '(*RELIABLE, "causality")', "nothing can promise"),
}


@pytest.fixture
def variant(tmp_path: Path) -> Iterator[Callable[[str], Algorithm]]:
    """The template with one bug, as a file of its own; what it loads is gone afterwards."""

    def load(bug: str) -> Algorithm:
        right, wrong, _ = BUGS[bug]
        assert right in TEXT, bug
        text = TEXT.replace(right, wrong).replace('name="mine"', f'name="{bug}"')
        text = text.replace("WaitingMax = ", "BUILT: list[str] = []\nWaitingMax = ", 1)
        if bug == "never_rests":
            text = text.replace(
                "        self.sent += 1\n", '        self.sent += 1\n        out.arm("tick", now)\n'
            )
        file = tmp_path / f"{bug}.py"
        file.write_text(text)
        return algorithm(f"{file}:ENTRY")

    with forgotten(tmp_path):
        yield load


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_caught_soon(bug: str, variant: Callable[[str], Algorithm]) -> None:
    entry = variant(bug)
    began = time.process_time()
    with pytest.raises(NonConforming, match=BUGS[bug][2]) as caught:
        conforms(entry)
    assert time.process_time() - began < CAUGHT_S_MAX
    assert isinstance(caught.value, AforesaidError)
    assert isinstance(caught.value, AssertionError)
    if bug not in ("declares_no_frame", "promises_the_unknown"):
        assert "replay: " in str(caught.value)


def test_a_schedule_is_replayed_by_the_command(
    variant: Callable[[str], Algorithm], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NonConforming) as caught:
        conforms(variant("waits_for_no_cause"))
    program, *words = shlex.split(caught.value.replay)
    assert (program, words[0], words[2]) == ("aforesaid", "explore", "--replay")
    code, out, _ = command(monkeypatch, capsys)(*words)
    assert (code, "causal: " in out) == (1, True)


def test_a_seed_is_replayed_by_the_command(
    variant: Callable[[str], Algorithm], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = variant("passes_nothing_on")
    (crash,) = [part for part in parts(entry, seeds=40) if part.title == "simulated: crash"]
    with pytest.raises(NonConforming, match=r"seed \d+: breaks validity") as caught:
        crash()
    program, *words = shlex.split(caught.value.replay)
    assert (program, words[0]) == ("aforesaid", "simulate")
    code, out, _ = command(monkeypatch, capsys)(*words)
    assert (code, f"seed {caught.value.seed} violated: validity" in out) == (1, True)


def test_a_part_is_replayed_by_the_module(variant: Callable[[str], Algorithm]) -> None:
    entry = variant("cannot_be_pickled")
    with pytest.raises(NonConforming) as caught:
        conforms(entry)
    _, *words = shlex.split(caught.value.replay)
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert str(caught.value) == done.stderr.strip()


def test_the_template_conforms_and_so_do_ours() -> None:
    conforms(aforesaid.testing.template.ENTRY, seeds=5)
    for name in ("waiting", "tree", "hybrid_multicast_sps", "prc_spray"):
        conforms(CATALOG[name], seeds=2, states_max=500)


def test_what_is_kept_for_ever_is_said() -> None:
    with pytest.raises(NonConforming, match=r"holds \d+ past at rest"):
        conforms(CATALOG["no_waiting"], seeds=1, states_max=100)
    conforms(CATALOG["no_waiting"], seeds=1, states_max=100, keeps=["past"])
