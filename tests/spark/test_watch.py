"""`aforesaid watch` on Spark: what check finds afterwards is found meanwhile, over restarts and kills."""

import http.server
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from aforesaid.core import Misuse
from aforesaid.pipeline.source import register
from aforesaid.pipeline.watching import Batch, Watch
from support.scale import scaled
from support.watched import GrowingFiles, found

SEED = 56
SECONDS_MAX = 120


def until(done: threading.Event, watch: Watch) -> None:
    ends = time.monotonic() + SECONDS_MAX
    while not done.is_set() and watch.running:
        assert time.monotonic() < ends, "it never came to the end"
        time.sleep(0.05)


def watched(
    spark: SparkSession, files: GrowingFiles, out: Path, deliveries: int
) -> tuple[Watch, list[Batch]]:
    """Watch until so many deliveries were judged."""
    batches: list[Batch] = []
    done = threading.Event()

    def tell(batch: Batch) -> None:
        batches.append(batch)
        if batch.row["deliveries"] >= deliveries:
            done.set()

    watch = Watch(spark, [str(files.directory)], str(out), tell=tell)
    watch.start()
    until(done, watch)
    return watch, batches


def test_files_that_grow_are_judged_over_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    files, out = GrowingFiles(SEED, tmp_path, steps=400), tmp_path / "out"
    half = files.left / 2
    while files.left > half:
        files.grow(500)
    first, _ = watched(spark, files, out, 1)
    first.stop()
    before = first.judge.totals.deliveries

    def grow() -> None:
        for _ in range(200):
            files.grow(500)
            time.sleep(0.01)

    grower = threading.Thread(target=grow)
    grower.start()
    again = Watch(spark, [str(files.directory)], str(out))
    assert again.judge.totals.deliveries == before, "it goes on where it was"
    again.start()
    grower.join()
    while files.left:
        files.grow(10_000)
    while again.idle_s < 2 and again.running:
        time.sleep(0.1)
    report, _ = again.end()
    assert found(out) == files.truth()
    assert report.value() == "violated"
    verdicts = {row["property"]: row["value"] for row in pq.read_table(out / "verdicts.parquet").to_pylist()}
    assert verdicts == {name: verdict.value for name, verdict in report.verdicts.items()}
    progress = [row for path in (out / "progress").iterdir() for row in pq.read_table(path).to_pylist()]
    assert sorted(row["batch"] for row in progress) == list(range(again.ledger.batch + 1))
    assert progress[-1]["state_bytes"] > 0


def test_what_cannot_be_streamed_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    stream = spark.readStream.format("aforesaid").option("table", "deliveries").load(str(tmp_path))
    query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
    with pytest.raises(StreamingQueryException, match="there is the table spans only, not deliveries"):
        query.processAllAvailable()
    with pytest.raises(Misuse, match="Spark Connect"):
        Watch(None, ["segments"], str(tmp_path))  # type: ignore[arg-type]


class Alarm(http.server.BaseHTTPRequestHandler):
    heard: list[dict[str, object]]

    def do_POST(self) -> None:
        self.heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def test_killed_with_9_it_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    """The command itself, in a process of its own."""
    kills = scaled(1, 3)
    files, out, page = GrowingFiles(SEED, tmp_path, steps=300), tmp_path / "out", tmp_path / "live.html"
    heard: list[dict[str, object]] = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Heard", (Alarm,), {"heard": heard}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    command = [sys.executable, "-m", "aforesaid", "watch", str(files.directory), "--out", str(out), "--json"]
    command += ["--until-idle", "2", "--master", "local[2]", "--page", str(page), "--on-violation", url]
    for _ in range(kills):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        files.grow(2_000)
        for line in process.stdout:  # Killed after a batch of its own, with the next one on its way.
            files.grow(2_000)
            if "batch" in json.loads(line):
                break
        process.kill()
        process.wait()
        process.stdout.close()
        assert "so far" in page.read_text()
    while files.left:
        files.grow(10_000)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    server.shutdown()
    server.server_close()
    assert (ended.returncode, ended.stderr) == (1, "")
    assert found(out) == files.truth()
    assert len(heard) == 1
    assert str(heard[0]["sentence"]) in json.dumps(
        [
            row["sentence"]
            for path in (out / "violations").iterdir()
            for row in pq.read_table(path).to_pylist()
        ]
    )
    last = json.loads(ended.stdout.splitlines()[-1])
    assert last["verdict"] == "violated"
    assert "refresh" not in page.read_text()
    assert "a promise was broken" in page.read_text()


def test_an_alarm_that_nobody_heard_rings_again_while_the_next_watch_runs(tmp_path: Path) -> None:
    """Not only when that one ends: it may run for months."""
    files, out, page = GrowingFiles(SEED, tmp_path, steps=300), tmp_path / "out", tmp_path / "live.html"
    while files.left:
        files.grow(10_000)
    command = [sys.executable, "-m", "aforesaid", "watch", str(files.directory), "--out", str(out), "--json"]
    command += ["--master", "local[2]", "--on-violation"]
    deaf = subprocess.run(
        [*command, "exit 7", "--until-idle", "1"], capture_output=True, text=True, timeout=SECONDS_MAX
    )
    assert deaf.returncode == 1
    assert "exit 7" in deaf.stderr
    heard = tmp_path / "heard.json"
    listening = [*command, f"cat > {heard}.new; mv {heard}.new {heard}", "--page", str(page)]
    process = subprocess.Popen(listening, stdout=subprocess.PIPE, text=True)
    try:
        ends = time.monotonic() + SECONDS_MAX / 2
        while not heard.exists():
            assert time.monotonic() < ends, "nobody was told while it ran"
            time.sleep(0.1)
        told = json.loads(heard.read_text())
        while told["sentence"] not in page.read_text():
            assert time.monotonic() < ends, "the page does not tell what is known"
            time.sleep(0.1)
        assert "a promise was broken so far" in page.read_text()
        process.terminate()
        assert (
            process.communicate(timeout=SECONDS_MAX)[0].splitlines()[-1].startswith('{"verdict": "violated"')
        )
    finally:
        process.kill()
        process.wait()
