"""Three people chat, and write down what they say and read, as programs of the kind do: four logs of a talk.

Each has a thread, a queue and a vector clock. The clocks go to `chat.shiviz`, as GoVector writes them and
ShiViz reads them; the rest to `chat.jsonl`, `chat.csv` and, by Python's own logging, `chat.log`. With `late`
Carol's mail from Alice takes its time, and Bob's answer is there first.

    python examples/logged_chat.py DIRECTORY [late]
"""

import csv
import json
import logging
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Any

NAMES = ("alice", "bob", "carol")


class Logs:
    """The four logs, and one lock for all who write."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.lock = threading.Lock()
        self.files = [
            (directory / f"chat.{kind}").open("w", newline="") for kind in ("shiviz", "jsonl", "csv")
        ]
        self.shiviz, self.jsonl, table = self.files
        self.csv = csv.writer(table)
        self.csv.writerow(["when", "who", "what", "id", "answers"])
        self.logger = logging.Logger("chat")
        handler = logging.FileHandler(directory / "chat.log", "w")
        handler.setFormatter(logging.Formatter("%(asctime)s %(threadName)s %(levelname)s %(message)s"))
        self.logger.addHandler(handler)

    def write(self, who: str, clock: dict[str, int], what: str, post: str, answers: list[str]) -> None:
        now = time.time()
        with self.lock:
            self.shiviz.write(f"{who} {json.dumps(clock)}\n{what} {post}\n")
            fields = {"post": post} | ({"answers": answers} if what == "says" else {})
            self.jsonl.write(json.dumps({"at": now, "user": who, "did": what, "data": fields}) + "\n")
            self.csv.writerow([now, who, what, post, " ".join(answers if what == "says" else [])])
            self.logger.info("%s %s", what, post)

    def close(self) -> None:
        for file in self.files:
            file.close()
        for handler in self.logger.handlers:
            handler.close()


class Person(threading.Thread):
    """Reads until told to go; answers what it reads for the first time, if it is the one to do so."""

    def __init__(self, name: str, others: "dict[str, Person]", logs: Logs, late: bool) -> None:
        super().__init__(name=name)
        self.others, self.logs, self.late = others, logs, late
        self.mail: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.clock = dict.fromkeys(NAMES, 0)
        self.posts = 0

    def say(self, answers: list[str]) -> None:
        self.clock[self.name] += 1
        self.posts += 1
        post = f"{self.name}-{self.posts}"
        self.logs.write(self.name, self.clock, "says", post, answers)
        letter = {"post": post, "by": self.name, "clock": dict(self.clock)}
        for other in self.others.values():
            if other is not self:
                slow = self.name == "alice" and other.name == "carol" and self.late
                threading.Timer(0.3 if slow else 0.0, other.mail.put, [letter]).start()

    def run(self) -> None:
        if self.name == "alice":
            self.say([])
        while (letter := self.mail.get()) is not None:
            for name, count in letter["clock"].items():
                self.clock[name] = max(self.clock[name], count)
            self.clock[self.name] += 1
            self.logs.write(self.name, self.clock, "reads", letter["post"], [])
            if self.name == "bob":
                time.sleep(0.1)  # So that all have read it, unless the mail is slow.
                self.say([letter["post"]])


def main(directory: Path, *options: str) -> None:
    logs = Logs(directory)
    people: dict[str, Person] = {}
    for name in NAMES:
        people[name] = Person(name, people, logs, "late" in options)
    for person in people.values():
        person.start()
    time.sleep(1.0)
    for person in people.values():
        person.mail.put(None)
        person.join()
    logs.close()
    print(f"wrote chat.shiviz, chat.jsonl, chat.csv and chat.log in {directory}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
