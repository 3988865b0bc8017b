"""Messages over a stream socket: four bytes of length (little-endian), then msgpack; file descriptors travel beside."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Sequence
from typing import Any

import msgpack

_HEAD = struct.Struct("<I")
Message = dict[str, Any]


def pack(message: Message) -> bytes:
    """Return a message as the bytes that travel."""
    body: bytes = msgpack.packb(message, use_bin_type=True)
    return _HEAD.pack(len(body)) + body


def send(sock: socket.socket, message: Message, fds: Sequence[int] = ()) -> None:
    """Send one message on a blocking socket; `fds` are duplicated into the receiver."""
    data = pack(message)
    if fds:
        # Descriptors ride on the first bytes alone, so that a short send cannot lose or double them.
        socket.send_fds(sock, [data[: _HEAD.size]], list(fds))
        data = data[_HEAD.size :]
    sock.sendall(data)


def recv(sock: socket.socket, max_fds: int = 0) -> tuple[Message, list[int]]:
    """Receive one message from a blocking socket; raise ``EOFError`` where the peer has gone."""
    fds: list[int] = []
    head = b""
    while len(head) < _HEAD.size:
        if max_fds and not head:
            chunk, received, _, _ = socket.recv_fds(sock, _HEAD.size, max_fds)
            fds.extend(received)
        else:
            chunk = sock.recv(_HEAD.size - len(head))
        if not chunk:
            raise EOFError("the peer has closed the connection")
        head += chunk
    body = bytearray(_HEAD.unpack(head)[0])
    recv_into(sock, memoryview(body))
    return msgpack.unpackb(body, raw=False, strict_map_key=False), fds


def recv_into(sock: socket.socket, view: memoryview) -> None:
    """Fill `view` from a blocking socket; raise ``EOFError`` where the peer has gone."""
    while view:
        count = sock.recv_into(view)
        if not count:
            raise EOFError("the peer has closed the connection")
        view = view[count:]


async def read(reader: asyncio.StreamReader) -> Message:
    """Receive one message; raise ``asyncio.IncompleteReadError`` where the peer has gone."""
    (length,) = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    message: Message = msgpack.unpackb(await reader.readexactly(length), raw=False, strict_map_key=False)
    return message


def peer_uid(sock: socket.socket) -> int:
    """Return the user id of the process at the other end of a unix socket."""
    _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)
