"""Every attack on the security page has its test, which exists; and every counter it names is explained."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
ATTACKS = PAGE.partition("## Attacks, and what comes of them")[2].partition("\n## ")[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in ATTACKS.splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| attack"))
]


def test_every_attack_names_a_test_that_exists() -> None:
    assert len(ROWS) >= 18
    for attack, _, test in ROWS:
        path, _, name = test.strip("`").partition("::")
        assert (ROOT / path).is_file(), attack
        assert re.search(rf"^def {name}\(", (ROOT / path).read_text(), re.MULTILINE), f"{attack}: no {name}"


def test_every_reason_is_in_the_list_of_refusals() -> None:
    listed = set(re.findall(r"^\| `([a-z ]+)` \|", (ROOT / "docs" / "wire.md").read_text(), re.MULTILINE))
    named = {reason for _, effect, _ in ROWS for reason in re.findall(r"`([a-z ]+)`", effect)}
    assert len(named) > 10
    assert named <= listed, named - listed
