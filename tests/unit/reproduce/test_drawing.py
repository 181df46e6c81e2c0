"""Pictures for print: told apart without colour, without a title if asked, and the same every time."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from aforesaid.reproduce.asking import FORMATS, Look
from aforesaid.reproduce.drawing import LINES, Axis, Curve, Mark, draw_against, draw_over_time

X = np.linspace(0, 60, 200)
CURVES = [Curve("few", X, X + 1, X / 10, [Mark(10, 20, 30)]), Curve("many", X, 2 * X + 1)]


def test_no_two_curves_share_a_colour_a_line_style_or_a_marker() -> None:
    for one, other in combinations(LINES, 2):
        assert one.colour != other.colour
        assert one.dashes != other.dashes
        assert one.marker != other.marker


@pytest.mark.parametrize("kind", FORMATS)
def test_a_picture_is_the_same_every_time(tmp_path: Path, kind: str) -> None:
    look = Look((kind,))
    delay = Curve("delay (s)", X, X)
    made = [
        draw_over_time(CURVES, delay, "Title", Axis("entries"), tmp_path / name, look)[0].read_bytes()
        for name in ("one", "two")
    ]
    assert made[0] == made[1]


def test_what_a_picture_says(tmp_path: Path) -> None:
    (path,) = draw_over_time(CURVES, None, "A title", Axis("entries"), tmp_path / "v1.5", Look(("svg",)))
    assert path.name == "v1.5.svg"
    text = path.read_text()
    for words in ("A title", "entries", "few", "many", "95 % interval of the mean over seeds", "read off"):
        assert words in text
    beside = [Curve("a vector", X[1:], np.full(len(X) - 1, 100.0))]
    across, what = Axis("delay (ms)", log=True), Axis("entries", log=True)
    bare = Look(("svg",), titles=False)
    (path,) = draw_against(CURVES[1:], beside, "A title", across, what, tmp_path / "against", bare)
    text = path.read_text()
    assert "a vector" in text
    for words in ("A title", "95 % interval", "read off"):
        assert words not in text


def test_peaks_that_are_cut_off_are_told(tmp_path: Path) -> None:
    peak = Curve("peak", X, np.where(X < 0.5, 500.0, 1.0))
    (path,) = draw_over_time([peak], None, "", Axis("entries"), tmp_path / "peak", Look(("svg",)))
    assert "peaks up to 500.0 are cut off" in path.read_text()
