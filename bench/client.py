"""A client that costs little: the same calls over and over on TLS connections that stay up."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence


class Client:
    """Connections to one server. `ask` sends one call on each of them, then reads all answers."""

    def __init__(self, port: int, trust: ssl.SSLContext, path: str, bodies: Sequence[bytes], connections: int) -> None:
        self._calls = [_call(path, body) for body in bodies]
        self._next = 0
        self._sockets = [self._connect(port, trust) for _ in range(connections)]
        self.connections = connections

    def ask(self) -> None:
        """One call on every connection. Raises RuntimeError for an answer that is not 200."""
        for connection in self._sockets:
            connection.sendall(self._calls[self._next])
            self._next = (self._next + 1) % len(self._calls)
        for connection in self._sockets:
            _read_answer(connection)

    def close(self) -> None:
        """Close all connections."""
        for connection in self._sockets:
            connection.close()

    @staticmethod
    def _connect(port: int, trust: ssl.SSLContext) -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return trust.wrap_socket(plain, server_hostname="localhost")


def _call(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _read_answer(connection: ssl.SSLSocket) -> None:
    data = connection.recv(65_536)
    while b"\r\n\r\n" not in data:
        data += connection.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(data.decode())
    missing = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]) - len(body)
    while missing > 0:
        missing -= len(connection.recv(65_536))
