"""An algorithm from outside on real nodes: three of them, judged like all others, under its own name."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aforesaid import Config, Node, __version__
from aforesaid.core import Misuse
from net.net_stage import group_configs, judged, run, running, take
from support.own_algorithm import forgotten, write

NAMES = ["a", "b", "c"]


@pytest.fixture
def reference(tmp_path: Path) -> Iterator[str]:
    place = tmp_path / "code"
    place.mkdir()
    with forgotten(tmp_path):
        yield f"{write(place, 'own_node')}:ENTRY"


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_three_nodes_run_it(reference: str, transport: str, tmp_path: Path) -> None:
    async def main() -> None:
        configs = group_configs(NAMES, tmp_path / "nodes", algorithm=reference, transport=transport)
        async with running(configs) as nodes:
            for turn in range(20):
                for name, node in nodes.items():
                    await node.broadcast(f"{name} {turn}".encode())
            for node in nodes.values():
                heard = await take(node, 60)
                assert {message.payload for message in heard} == {
                    f"{name} {turn}".encode() for name in NAMES for turn in range(20)
                }

    run(main())
    report, trace = judged(tmp_path / "nodes")
    assert report.value() == "kept"
    assert (trace.run.algorithm, trace.run.code_version) == ("own_node", f"{__version__}, own_node 0.1")
    assert len(trace.messages) == 60


def test_it_survives_and_another_version_of_it_does_not_take_its_journal(
    reference: str, tmp_path: Path
) -> None:
    place = tmp_path / "later"
    place.mkdir()
    later = f"{write(place, 'own_node', **{'0.1': '0.2'})}:ENTRY"

    async def main() -> None:
        facts = {"name": "a", "directory": str(tmp_path / "a"), "durability": "batch"}
        with forgotten(tmp_path):
            for number in range(2):
                async with Node(Config.of({**facts, "algorithm": reference})) as node:
                    await node.broadcast(b"%d" % number)
                    (message,) = await take(node, 1)
                    assert (message.offset, message.payload) == (number + 1, b"%d" % number)
                    message.ack()
        with pytest.raises(Misuse, match=r"aforesaid/a own_node 0\.1, not of aforesaid/a own_node 0\.2"):
            await Node(Config.of({**facts, "algorithm": later})).__aenter__()

    run(main())


def test_logs_are_judged_where_the_algorithm_is_not(reference: str, tmp_path: Path) -> None:
    async def main() -> None:
        configs = group_configs(NAMES[:2], tmp_path / "nodes", algorithm=reference, transport="tcp")
        async with running(configs) as nodes:
            await nodes["a"].broadcast(b"hello")
            for node in nodes.values():
                await take(node, 1)

    run(main())
    Path(reference.partition(":")[0]).unlink()
    words = ["ingest", str(tmp_path / "nodes"), "--out", str(tmp_path / "traces"), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "aforesaid", *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["algorithm"] == "own_node"


def test_a_path_in_a_configuration_is_relative_to_it(reference: str, tmp_path: Path) -> None:
    file = tmp_path / "code" / "alice.toml"
    file.write_text('name = "alice"\nalgorithm = "own_node.py:ENTRY"\n[peers]\nbob = "127.0.0.1:7402"\n')
    assert Config.from_file(file).algorithm == reference
    file.write_text('name = "alice"\nalgorithm = "nowhere.py:ENTRY"\n')
    with pytest.raises(Misuse, match=r"alice\.toml: algorithm: .*nowhere\.py:ENTRY: there is no file"):
        Config.from_file(file)


def test_a_frame_without_a_wire_format_is_told_before_the_node_starts(tmp_path: Path) -> None:
    file = write(tmp_path, "own_vague", **{"Annotated[tuple[MessageId, ...], SOME_MEMBERS]": "object"})
    with forgotten(tmp_path), pytest.raises(Misuse, match=r"^algorithm: own_vague: .*Said\.causes: no wire"):
        Config.of({"name": "alice", "algorithm": f"{file}:ENTRY", "peers": {"bob": "127.0.0.1:7402"}})
