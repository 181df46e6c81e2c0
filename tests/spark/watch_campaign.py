"""A watch killed with -9 again and again while logs grow: no verdict is lost or repeated.

    python tests/spark/watch_campaign.py [KILLS [SEED]]

Each life is ended at a moment of its own, which SEED decides, while Spark starts or in the middle of a
batch. In the end the tables hold what `check` finds in the same segments, each violation once.
"""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.watched import GrowingFiles, found

SEED = 56
STEPS = 3_000
LIFE_S = (8.0, 25.0)


def main(kills: int, seed: int) -> None:
    random = Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        files, out = GrowingFiles(SEED, Path(directory), STEPS), Path(directory) / "out"
        share = files.left // (kills * 20) + 1
        over = threading.Event()

        def grow() -> None:
            while files.left and not over.wait(0.5):
                files.grow(share)

        grower = threading.Thread(target=grow)
        grower.start()
        command = [sys.executable, "-m", "aforesaid", "watch", str(files.directory), "--out", str(out)]
        command += ["--until-idle", "3", "--master", "local[2]", "--json"]
        for kill in range(kills):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            time.sleep(random.uniform(*LIFE_S))
            process.kill()
            process.wait()
            sys.stdout.write(f"killed {kill + 1} times\n")
            sys.stdout.flush()
        over.set()
        grower.join()
        while files.left:
            files.grow(100_000)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False, timeout=600)
        mine, true = found(out), files.truth()
        if mine != true or not true:
            raise SystemExit(f"lost: {true - mine}; repeated or invented: {mine - true}")
        sys.stdout.write(f"{kills} kills: {mine.total()} verdicts, {len(mine)} distinct, none lost\n")


if __name__ == "__main__":
    given = [*map(int, sys.argv[1:]), *(50, 1)[len(sys.argv) - 1 :]]
    main(given[0], given[1])
