"""A changing group of real processes that join, leave in order and are killed: what is promised is kept."""

import asyncio
import random
from pathlib import Path

from net.crowd import churn
from net.crowd_processes import process_group
from net.net_stage import complaints, judged, run


def test_processes_that_join_and_leave_and_are_killed(tmp_path: Path) -> None:
    async def main() -> None:
        async with process_group(tmp_path, 6) as crowd:
            await churn(crowd, 4, random.Random(3), kill_every=2)
            await crowd.rest()
            await asyncio.sleep(1.2)
        assert crowd.did["joined"] == 10
        assert crowd.did["killed"] == 2

    run(main())
    report, trace = judged(tmp_path)
    assert not complaints(report)
    fates = trace.processes.fate
    assert (fates.count("crashed"), fates.count("left")) == (2, 2)
    # The last one that leaves has seen its group go, and may have looked for it elsewhere.
    assert fates.count("alive") >= 5
