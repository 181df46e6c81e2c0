"""README and docs are true: Python blocks run, commands are real commands with real flags, TOML is TOML.

What a block needs is said in comments above it (`markdown_blocks`). A page's blocks run in order, in one
namespace and one directory that has our scenarios and examples. What is not run is counted, and may not grow
in silence.
"""

import asyncio
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

from aforesaid import Config, Node
from aforesaid.cli.app import app
from docs.markdown_blocks import Block, blocks
from support.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [block for page in PAGES for block in blocks(page, ROOT)]
COMMANDS = [
    pytest.param(words, id=f"{block.place} {' '.join(words)}") for block in BLOCKS for words in block.commands
]
NOT_RUN = 2
"""Blocks of Python or shell that cannot be run; whoever adds one changes this number."""
UsageError = typer.BadParameter.__bases__[0]
ECHO_S_MAX = 60.0
QUICK_S_MAX = 300.0


def is_live(block: Block) -> bool:
    return block.language == "python" or not block.said.keys().isdisjoint({"quick", "file"})


def test_what_is_not_run_is_counted_and_says_why() -> None:
    excused = [block for block in BLOCKS if "not run" in block.said]
    assert [block.place for block in excused if not block.said["not run"]] == []
    assert [block.place for block in excused if block.commands or is_live(block)] == []
    assert len(excused) == NOT_RUN


def test_every_block_with_commands_is_called_shell() -> None:
    assert {block.language for block in BLOCKS} <= {"", "python", "sh", "toml", "sql"}
    assert [block.place for block in BLOCKS if block.commands and block.language != "sh"] == []
    excused = [block for block in BLOCKS if block.language == "sh" and not block.commands]
    assert [block.place for block in excused if "not run" not in block.said] == []


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_is_one_of_ours_with_flags_that_it_has(words: list[str]) -> None:
    parse(words)


@pytest.mark.parametrize(
    "words", [["simulat"], ["check", "--propery", "causal"], ["explore"], ["keys", "clutser", "k"]]
)
def test_a_command_that_is_wrong_is_noticed(words: list[str]) -> None:
    with pytest.raises((KeyError, UsageError)):
        parse(words)


def parse(words: list[str]) -> None:
    """As the command line does, without running anything."""
    command: Any = typer.main.get_command(app)
    name, rest = "aforesaid", words
    while hasattr(command, "commands"):
        name, *rest = rest
        command = command.commands[name]
    command.make_context(name, rest)


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.language == "toml"], ids=lambda b: b.place
)
def test_toml_is_toml(block: Block) -> None:
    assert tomllib.loads(block.text)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(map(is_live, blocks(page, ROOT)))], ids=lambda page: page.name
)
def test_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for ours in ("scenarios", "examples"):
        Path(ours).symlink_to(ROOT / ours)
    module = ModuleType(f"page_{page.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # so that its classes can be pickled
    for block in blocks(page, ROOT):
        if "first" in block.said:
            program, *words = shlex.split(block.said["first"])
            (run_python if program == "python" else run_command)(words, 0)
        if "file" in block.said:
            Path(block.said["file"]).write_text(block.text)
        if "quick" in block.said:
            codes = [int(code) for code in re.findall(r"\d+", block.said["quick"])]
            for words, code in zip(block.commands, codes or [0] * len(block.commands), strict=True):
                run_command(words, code)
        if "beside" in block.said:
            asyncio.run(run_beside(block, tmp_path))
        elif "spark_session(" in block.text:
            # A process has one Spark; that of other tests would look for files where it was started.
            run_python(["-c", block.text], 0)
        elif block.language == "python":
            exec(compile(block.text, block.place, "exec"), vars(module))


def run_command(words: list[str], code: int) -> None:
    run_python(["-m", "aforesaid", *words], code)


def run_python(words: list[str], code: int) -> None:
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=QUICK_S_MAX,
        check=False,
    )
    assert done.returncode == code, f"{words}: {done.stdout}{done.stderr}"


async def run_beside(block: Block, directory: Path) -> None:
    """Run the program until it has printed what its peer answered to it; then Ctrl-C. Ports are free ones."""
    peer, _, peers_address = block.said["beside"].partition(" at ")
    match = re.search(r'name="(\w+)", listen="([\d.:]+)"', block.text)
    assert match is not None, block.place
    mine = f"127.0.0.1:{free_ports(1)[0]}"
    async with Node(Config(name=peer, peers={match[1]: mine})) as node:
        text = block.text
        for old, new in {match[2]: mine, peers_address: str(node.address)}.items():
            assert old in text, f"{block.place} does not speak to {old}"
            text = text.replace(old, new)
        program = directory / f"line_{block.line}.py"
        program.write_text(text)
        pipe = asyncio.subprocess.PIPE
        ran = await asyncio.create_subprocess_exec(
            sys.executable, "-u", str(program), stdout=pipe, stderr=pipe
        )
        try:
            async with asyncio.timeout(ECHO_S_MAX):
                heard = await anext(node)
                assert heard.origin == match[1]
                await node.broadcast(b"heard " + heard.payload)
                await printed(ran, "heard ")
                ran.send_signal(signal.SIGINT)
                _, complaints = await ran.communicate()
                assert (ran.returncode, complaints.decode()) == (0, ""), f"{block.place} after Ctrl-C"
        finally:
            if ran.returncode is None:
                ran.kill()
                await ran.wait()


async def printed(ran: asyncio.subprocess.Process, text: str) -> None:
    assert ran.stdout is not None
    while line := (await ran.stdout.readline()).decode():
        if text in line:
            return
    raise AssertionError(f"the program ended and has not printed {text!r}")
