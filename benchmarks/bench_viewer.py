"""How the explorer page takes a million events: opened in how long, moved at how many frames a second.

A trace of 50 processes and 20,000 messages, delivered by all: 1,020,000 events, many of them out of order.
Measured in the page, in Chromium without a window and without a graphics card, from the start of
loading to the first picture; and while it pans, at zooms from the whole run to 1 ms.
Run: python benchmarks/bench_viewer.py
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from playwright.sync_api import sync_playwright

from aforesaid.check import Report
from aforesaid.viewer import packed, page

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from browser.conftest import arguments
from browser.million import million
from support.browsers import installed

OPEN_S_MAX, FRAMES_MIN = 3.0, 30.0
OPENED = "opened.then(() => new Promise(requestAnimationFrame)).then(() => performance.now())"
PAN = """async () => {
    const {view} = explorer, found = [];
    for (const zoom of [1, 0.1, 0.01, 0.001]) {
        view.fit();
        view.zoom(zoom);
        explorer.moved();
        await new Promise((done) => setTimeout(done, 300));
        let frames = 0;
        const began = performance.now();
        while (performance.now() - began < 2000) {
            view.pan(frames % 60 < 30 ? 10 : -10, 0);
            explorer.moved();
            await new Promise(requestAnimationFrame);
            frames++;
        }
        const span_ms = (view.until - view.from) * explorer.run.tick_ns / 1e6;
        found.push([span_ms, 1000 * frames / (performance.now() - began)]);
    }
    return found;
}"""


def main() -> None:
    trace = million()
    began = process_time()
    text = page([packed(trace, Report(trace.run, {}, ()))])
    print(f"packed in {process_time() - began:.2f} s of CPU, a page of {len(text) / 1e6:.1f} MB")
    with TemporaryDirectory() as directory, sync_playwright() as playwright:
        file = Path(directory) / "million.html"
        file.write_text(text)
        browser = playwright.chromium.launch(executable_path=installed(), args=arguments())
        shown = browser.new_page(viewport={"width": 1400, "height": 800})
        shown.goto(file.as_uri())
        opened_s = shown.evaluate(OPENED) / 1000
        print(f"opened in {opened_s:.2f} s; bar: {OPEN_S_MAX:.0f} s {verdict(opened_s <= OPEN_S_MAX)}")
        for span_ms, frames in shown.evaluate(PAN):
            print(f"{span_ms:9,.1f} ms in view: {frames:3.0f} frames a second; bar: ", end="")
            print(f"{FRAMES_MIN:.0f} {verdict(frames >= FRAMES_MIN)}")
        for name, work in WORK.items():
            print(f"{name}: {shown.evaluate(COST.format(work)):.0f} ms")
        browser.close()


WORK = {
    "past and future of a message": "new Cone(explorer.run, 10000)",
    "logical time of all events": "logicalTime(explorer.run)",
}
COST = "(() => {{ const began = performance.now(); {}; return performance.now() - began; }})()"


def verdict(kept: bool) -> str:
    return "kept" if kept else "MISSED"


if __name__ == "__main__":
    main()
