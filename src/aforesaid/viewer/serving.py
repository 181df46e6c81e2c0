"""The page from a local port, for traces too large to be carried in a file. Nobody else can reach it."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aforesaid.viewer.columns import Packed
from aforesaid.viewer.page import page_of_addresses


def server_of(runs: list[Packed], port: int) -> ThreadingHTTPServer:
    """Bound to the loopback address, not yet serving; port 0 is any free one."""
    addresses = [f"run-{place}.bin" for place in range(len(runs))]
    contents = {f"/{address}": run.body for address, run in zip(addresses, runs, strict=True)}
    html = page_of_addresses(runs, addresses).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body, kind = contents.get(self.path), "application/octet-stream"
            if self.path == "/":
                body, kind = html, "text/html; charset=utf-8"
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Requests are no news."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)
