"""The processes that are measured: `python -m bench.server_process fallgate|noop FOLDER PORT`."""

from __future__ import annotations

import sys
from pathlib import Path

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from certs.folder import CERTIFICATE, KEY
from webhook.run import serve
from webhook.server.listener import uvicorn_config
from webhook.settings import HttpSettings, Settings

_RESPONSE = b'"response":{"uid":"705ab4f5-0000-4000-8000-000000000000","allowed":true}'
_ANSWER = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",' + _RESPONSE + b"}"
_HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(_ANSWER)).encode())]


async def noop(_scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the body and gives a fixed answer: what no webhook on this server can be cheaper than."""
    while (await receive()).get("more_body"):
        continue
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": _ANSWER})


def serve_noop(folder: Path, port: int) -> None:
    """The no-op application on uvicorn as it is, with Fallgate's configuration of it."""
    config = uvicorn_config(noop, HttpSettings(), 1)
    config.http, config.loop = HttpToolsProtocol, "uvloop"
    config.host, config.port = "127.0.0.1", port
    config.ssl_certfile, config.ssl_keyfile = folder / CERTIFICATE, folder / KEY
    uvicorn.Server(config).run()


def serve_fallgate(folder: Path, port: int) -> int:
    """Fallgate, whole, with metrics and decision log."""
    options = {
        "policies": str(folder / "policies"),
        "fleet": str(folder / "fleet"),
        "certs": str(folder),
        "listen": f"127.0.0.1:{port}",
        "decision-log": str(folder / "decisions"),
        "drain-seconds": "0",
    }
    return serve(Settings.from_sources(options, {}))


if __name__ == "__main__":
    what, where, number = sys.argv[1:]
    if what == "noop":
        serve_noop(Path(where), int(number))
    else:
        sys.exit(serve_fallgate(Path(where), int(number)))
