"""A page of another origin, in a real browser, can't make the server judge or read from it."""

import json
import subprocess
from pathlib import Path

import httpx
from engine import Server
from model_server import ModelServer

PAGE = Path(__file__).with_name("foreign_page.mjs")
# What the page itself learns from each attempt.
SEEN = {
    "json": "TypeError",
    "simple": "TypeError",
    "no-cors": "opaque 0",
    "read": "TypeError",
    "form": "sent",
}


def test_a_foreign_page_reaches_nothing(server: Server, model_server: ModelServer) -> None:
    ran = subprocess.run(
        ["node", str(PAGE), server.url],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    # Another port of the same machine is another origin of the same site; a name is another site.
    pages = {
        f"{host} {name}": f"{seen}, answered 403"
        for host in ("127.0.0.1", "foreign.test")
        for name, seen in SEEN.items()
    }
    assert json.loads(ran.stdout) == {
        **pages,
        "rebound": "status 403",
        "rebound, same origin": "basic 403, answered 403",
    }
    assert model_server.stats()["calls"] == 0
    # The same request is answered where no browser sends it for a page.
    request = {"rubricName": "anti-slop", "content": "A text."}
    assert httpx.post(f"{server.url}/v1/judge", json=request).status_code == 200
    assert model_server.stats()["calls"] == 1
