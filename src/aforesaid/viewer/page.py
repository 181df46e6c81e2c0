"""The page itself: markup, style and scripts of `web/` and the runs, in one file that needs no network.

The scripts are plain files that share one scope, put one after the other in the order of SCRIPTS: a module
could not be loaded from a file, and a bundler would be a build step.
"""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from aforesaid.core.version import __version__
from aforesaid.viewer.columns import Packed

SCRIPTS = (
    "run.js",
    "waiting.js",
    "order.js",
    "look.js",
    "view.js",
    "density.js",
    "shapes.js",
    "around.js",
    "draw.js",
    "story.js",
    "panel.js",
    "step.js",
    "hands.js",
    "main.js",
)

_WEB = files(__package__).joinpath("web")


def page(runs: Sequence[Packed]) -> str:
    """The page with its runs inside."""
    blocks = [
        f'<script type="application/octet-stream" id="run-{place}">{b64encode(run.body).decode()}</script>'
        for place, run in enumerate(runs)
    ]
    return _page([run.header for run in runs], "\n".join(blocks))


def page_of_addresses(runs: Sequence[Packed], addresses: Sequence[str]) -> str:
    """The same page, which fetches each run's columns from an address when it is looked at."""
    headers = [{**run.header, "address": address} for run, address in zip(runs, addresses, strict=True)]
    return _page(headers, "")


def _page(headers: Sequence[dict[str, object]], blocks: str) -> str:
    title = ", ".join(str(header["name"]) for header in headers)
    parts = {
        "title": escape(f"{title}: aforesaid"),
        "version": escape(__version__),
        "style": _web("page.css"),
        "scripts": "\n".join(_web(name) for name in SCRIPTS),
        # A closing tag within a name would end the script.
        "headers": json.dumps(headers).replace("<", "\\u003c"),
        "runs": blocks,
    }
    # In one go: what a part contains is not looked at again.
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], _web("page.html"))


def _web(name: str) -> str:
    return _WEB.joinpath(name).read_text()
