"""The explorer page in a real browser: Chromium or Chrome, without a window, driven by Playwright."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from support.browsers import installed

HERE = Path(__file__).parent
SCREENSHOTS = HERE.parents[1] / "build" / "view"
"""Pictures of the page as it was tested, for people to look at."""

# Told at the end of all tests.
collect_ignore_glob = [] if installed() else ["test_*.py"]

Open = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for the session: as long as Playwright lives its event loop runs, and nobody may run another."""
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=installed(), args=arguments())


def arguments() -> list[str]:
    """Chromium has no sandbox for root, who is the user in a container as a rule."""
    return ["--no-sandbox"] if os.geteuid() == 0 else []


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens a page file; whatever the page complains of fails the test."""
    complaints: list[str] = []
    contexts = []

    def opened(
        file: Path,
        address: str = "",
        width: int = 1400,
        height: int = 800,
        scheme: Literal["light", "dark"] = "light",
    ) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        # Nothing outside of the file may be asked for.
        context.on("request", lambda r: complaints.append(r.url) if r.url.startswith("http") else None)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{file.as_uri()}{address}")
        page.evaluate("opened")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def keep_picture(request: pytest.FixtureRequest) -> Callable[[Page, str], None]:
    def kept(page: Page, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.evaluate("new Promise((done) => setTimeout(() => requestAnimationFrame(done), 200))")
        page.screenshot(path=SCREENSHOTS / f"{name}.png")

    return kept
