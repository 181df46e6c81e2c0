"""`aforesaid ingest --from`: from another program's log to a verdict and a page, by one command."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from aforesaid.cli.app import app
from aforesaid.core import Misuse

EXAMPLES = Path(__file__).parents[2] / "examples"
CHAT = """
process = "user"
event = "did"
message = "data.post"
sent = "says"
delivered = "reads"
time = "at"
follows = "data.answers"
"""
TABLE = """
process = "who"
event = "what"
message = "id"
sent = "says"
delivered = "reads"
time = "when"
follows = "answers"
"""
SAYS = r"(says (?P<sent>\S+)|reads (?P<delivered>\S+))"


def ingest(*words: object) -> Result:
    return CliRunner().invoke(app, ["ingest", *map(str, words)])


@pytest.fixture(scope="module", params=["", "late"], ids=["in order", "late"])
def logs(request: Any, tmp_path_factory: Any) -> tuple[str, Path]:
    """The logs of all programs, and how they went."""
    directory: Path = tmp_path_factory.mktemp("logs")
    how = [request.param] if request.param else []
    for program, words in (
        ("traced_shop.py", [directory / "otlp", *how]),
        ("traced_shop.py", [directory / "jaeger", *how, "--jaeger"]),
        ("logged_chat.py", [directory, *how]),
        ("maelstrom_nodes.py", [directory / "maelstrom", *how]),
    ):
        command = [sys.executable, str(EXAMPLES / program), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, ""), (program, done.stderr)
    (directory / "chat.toml").write_text(CHAT)
    (directory / "table.toml").write_text(TABLE)
    return request.param, directory


@pytest.mark.parametrize(
    ("format", "files", "options", "messages"),
    [
        ("otlp", "otlp", [], 40),
        ("jaeger", "jaeger", [], 40),
        ("jsonl", "chat.jsonl", ["--map", "chat.toml"], 2),
        ("csv", "chat.csv", ["--map", "table.toml"], 2),
        ("text", "chat.log", ["--pattern", rf"(?P<process>\w+) INFO {SAYS}"], 2),
        ("shiviz", "chat.shiviz", ["--pattern", SAYS], 2),
        ("maelstrom", "maelstrom/*.log", [], 12),
    ],
)
def test_from_a_log_to_a_page(
    logs: tuple[str, Path], format: str, files: str, options: list[str], messages: int, tmp_path: Path
) -> None:
    how, directory = logs
    options = [str(directory / each) if each.endswith(".toml") else each for each in options]
    words = [*sorted(directory.glob(files)), "--from", format, *options]
    page = tmp_path / "page.html"
    done = ingest(*words, "--out", tmp_path, "--report", page)
    assert done.exit_code == (1 if how else 0), done.output
    assert f": {messages} messages, " in done.stdout
    assert ", 0 refused" in done.stdout
    text = page.read_text()
    assert ('<h1 class="violated">' if how else '<h1 class="kept">') in text
    assert "<svg" in text
    if how:
        (sentence,) = [line for line in done.stdout.splitlines() if line.startswith("  causal: ")]
        assert ", only at position " in sentence
        assert str(directory) in sentence  # where in the log it stands
    names = pq.read_table(tmp_path / f"run={format}" / "names.parquet")
    assert names.column_names == ["message", "name", "place"]
    assert len(names) == messages


def test_a_log_with_faults_is_told_about_and_left_open(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('{"process": "a", "sent": "x"}\n{"process": "b", "delivered": "x"}\nnonsense\n')
    words = [log, "--from", "jsonl", "--out", tmp_path]
    done = ingest(*words, "--check")
    assert done.exit_code == 3, done.output
    assert "3 records: 1 messages, 1 deliveries; 0 about something else, 1 refused" in done.stdout
    assert f"refused: {log}:3: it is no JSON object" in done.stdout
    assert "missing: 1 records were refused" in done.stdout
    told = json.loads(ingest(*words, "--force", "--json", "--check").stdout)
    assert (told["refused"], told["sampled"], told["verdict"]["value"]) == (1, True, "unknown")
    assert ingest(*words, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--from", "xml"], "no format is called 'xml'"),
        (["--from", "jsonl", "--sampled", "--whole"], "logs are whole or sampled, not both"),
        (["--from", "jsonl", "--causality", "guessed"], "causality is potential or declared, not 'guessed'"),
        (["--from", "shiviz"], "vector clocks alone cannot show that a message was delivered late"),
        (["--from", "otlp"], "it looks like jsonl"),
    ],
)
def test_misuse_is_one_line_and_writes_nothing(tmp_path: Path, options: list[str], complaint: str) -> None:
    log = tmp_path / "log"
    log.write_text('{"process": "a", "sent": "x"}\n')
    done = ingest(log, *options, "--out", tmp_path / "traces")
    assert isinstance(done.exception, Misuse)
    assert complaint in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not list(tmp_path.glob("traces/*"))
    (tmp_path / "empty").mkdir()
    done = ingest(tmp_path / "empty", "--from", "jsonl", "--out", tmp_path / "traces")
    assert f"{tmp_path / 'empty'} has no files in it" in str(done.exception)
