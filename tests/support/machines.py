"""A driver on a cluster of machines apart, and how to kill these in the middle of what they do for it."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.s3 import Server
from support.servers import PARTITIONS, Cluster, driver_environment

SECONDS_MAX = 240

DRIVER = """
import json, os, sys, threading, time, traceback
from pathlib import Path
from aforesaid.pipeline.session import SparkOptions, spark_session
from aforesaid.pipeline.tasks import run_tasks

def watch(tracker):
    while True:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        Path("active.new").write_text(str(sum(stage.numActiveTasks for stage in stages if stage)))
        Path("active.new").rename("active")
        time.sleep(0.02)

master, *settings = sys.argv[1:]
with spark_session(SparkOptions(master, memory="512m", small=True, conf=tuple(settings)), "tests") as spark:
    threading.Thread(target=watch, args=(spark.sparkContext.statusTracker(),), daemon=True).start()
    names = dict(globals())
    for line in sys.stdin:
        try:
            exec(json.loads(line), names)
            print(json.dumps(names["told"]), flush=True)
        except Exception:
            print(json.dumps({"failed": traceback.format_exc()}), flush=True)
"""

SWEEP = """
from aforesaid.pipeline.sweeping import sweep
told = [row.asDict() for row in sweep(spark, {grid}, {out!r}, judge=True).collect()]
"""

AUDIT = """
from aforesaid.pipeline.auditing import AuditOptions, audit
found = audit(spark, {traces!r}, options=AuditOptions({options}))
told = {{outcome.run: outcome.report.to_dict() for outcome in found.outcomes}}
"""

METRICS = """
from aforesaid.pipeline.measuring import metrics
told = {{name: frame.toArrow().to_pylist() for name, frame in metrics(spark, {traces!r}).items()}}
"""


class Driver:
    """A driver of the machines, which does what it is told in lines of JSON."""

    def __init__(self, machines: Cluster, s3: Server, directory: Path) -> None:
        self.machines, self.s3, self._directory = machines, s3, directory
        settings = {
            **{f"spark.hadoop.{name}": value for name, value in s3.settings.items()},
            "spark.speculation": "true",
            "spark.speculation.interval": "100ms",
            "spark.sql.adaptive.enabled": "true",
        }
        pairs = [PARTITIONS, *(f"{name}={value}" for name, value in settings.items())]
        (directory / "active").write_text("0")
        self._log = (directory / "driver.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, machines.address, *pairs],
            cwd=directory,
            env=driver_environment(directory),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def ask(self, code: str) -> Any:
        self.tell(code)
        return self.answer()

    def tell(self, code: str) -> None:
        assert self.process.stdin is not None
        print(json.dumps(code), file=self.process.stdin, flush=True)

    def answer(self) -> Any:
        assert self.process.stdout is not None
        answer = self.process.stdout.readline()
        assert answer, (self._directory / "driver.log").read_text()
        told = json.loads(answer)
        assert "failed" not in told, told["failed"]
        return told

    def in_the_middle(self, act: Callable[[], bool]) -> None:
        """Act while tasks run that cannot end; again, until there was something to do."""
        end = time.monotonic() + SECONDS_MAX
        while time.monotonic() < end:
            if self._active():
                with self.s3.standing_still():
                    time.sleep(0.5)
                    if self._active() and act():
                        return
            time.sleep(0.02)
        raise TimeoutError("no task ran")

    def kill_both(self) -> None:
        """An executor, and when tasks run again a worker with the other one."""
        first, second = self.machines.workers
        self.in_the_middle(first.kill_executors)
        self.in_the_middle(lambda: self.machines.kill_worker(second))

    def _active(self) -> int:
        return int((self._directory / "active").read_text())

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self._log.close()
