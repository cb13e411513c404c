"""A small server with the habits of a runtime: `server.py PORT [OPTION...]`.

Options: `health-after=N` (503 for the first N health requests), `fail-live-after=N`, `exit-after=N` (health requests),
`exit=CODE` at once, `ignore-term`, `child` (a child process in a session of its own), `say=TEXT`, `name=TEXT`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = int(sys.argv[1])
OPTIONS = dict(option.partition("=")[::2] for option in sys.argv[2:])
COUNTS = {"/health": 0, "/live": 0}


class Handler(BaseHTTPRequestHandler):
    """Health, liveness, and a page that says who answered."""

    def do_GET(self) -> None:
        """Answer by path."""
        status, body = 200, OPTIONS.get("name", "hello")
        if self.path in COUNTS:
            COUNTS[self.path] += 1
        if self.path == "/health" and COUNTS["/health"] <= int(OPTIONS.get("health-after", "0")):
            status, body = 503, '{"status": "notready", "endpoints": ["generate"]}'
        if self.path == "/live" and COUNTS["/live"] > int(OPTIONS.get("fail-live-after", "1000000")):
            status, body = 500, "stuck"
        if self.path == "/env":
            body = "\n".join(f"{name}={value}" for name, value in sorted(os.environ.items()))
        if self.path == "/big":
            body = "x" * 3_000_000
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())
        if COUNTS["/health"] == int(OPTIONS.get("exit-after", "-1")):
            os._exit(7)

    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""


def main() -> None:
    """Serve until told to end."""
    if "say" in OPTIONS:
        sys.stdout.write(OPTIONS["say"] + "\n")
        sys.stdout.flush()
    if "exit" in OPTIONS:
        sys.exit(int(OPTIONS["exit"]))
    if "ignore-term" in OPTIONS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    if "child" in OPTIONS:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()


if __name__ == "__main__":
    main()
