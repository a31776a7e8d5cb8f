"""Serve a live run at one address on this machine, with one WebSocket and one token.

Model     The page and the socket share one port on 127.0.0.1. Clients without the token, and pages of other sites, are
          refused with a one-line message. Several pages may watch and control one run. Sockets are served in a separate
          thread; the run belongs to the thread of the player
Limits    A message has at most 64 KiB, and a listener may send 100 messages per second. A listener that stops reading
          receives no new states until it reads again
Errors    LiveError when the port is not available
Source    ours: docs/guide/live-messages.md; WebSocket: RFC 6455
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import Server as Sockets
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from mobilenet.lab.live.commands import LONGEST_BYTES, id_of
from mobilenet.lab.live.desk import Desk
from mobilenet.lab.live.stream import Listener, Place

HOST = "127.0.0.1"
OWN_ADDRESS = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?")
MOST_PER_S = 100
MOST_LISTENERS = 20
ENDING = "the run is ending"
CLOSING_S = 0.2  # the time that a listener has to close the connection
EARLY_S = 0.01  # A state may be sent up to this much too early, because the player decides when states are sent.
CAPTURE = "/capture/"
PCAP = "application/vnd.tcpdump.pcap"
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'"


class LiveError(Exception):
    """Raised if the run cannot be shown. The message is one line for users."""


class Page(Listener):
    """An open page. Only one state is sent to it at a time, so a slow reader receives fewer states."""

    def __init__(self, connection: ServerConnection, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._connection = connection
        self._loop = loop
        self._is_sending = False

    @property
    def can_take(self) -> bool:
        return not self._is_sending

    def tell(self, text: str) -> None:
        """Send a message to the page. The thread of the player calls this method."""
        self._is_sending = True
        self._loop.call_soon_threadsafe(lambda: self._loop.create_task(self._send(text)))

    async def _send(self, text: str) -> None:
        try:
            await self._connection.send(text)
        except ConnectionClosed:
            pass
        finally:
            self._is_sending = False


class Server:
    """The server of a live run. `make_page` returns the HTML of the page, which contains the token; it is called in the
    thread of the player.
    """

    def __init__(self, desk: Desk, make_page: Callable[[], str], port: int = 0) -> None:
        self._desk = desk
        self._make_page = make_page
        self._port = port
        self.token = secrets.token_urlsafe(24)
        self.listeners: list[Page] = []
        self._started = threading.Event()
        self._problem: OSError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def start(self) -> None:
        """Start the server, and return when its address accepts connections."""
        self._thread.start()
        self._started.wait()
        if self._problem is not None:
            raise LiveError(
                f"port {self._port}: {os.strerror(self._problem.errno or 0)}; choose another port with --port, or omit"
                " --port"
            ) from None

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self._port}/?token={self.token}"

    def close(self, words: str = "") -> None:
        """Close the server. Open pages then show `words`, which names the directory of the run."""
        for page in list(self.listeners):
            page.tell(json.dumps({"type": "end", "text": words}))
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(5)

    def tell_all(self, at_once: bool) -> bool:
        """Send the current state and the new events to every listener that is ready, either immediately (`at_once`) or
        at the pace of each listener. The thread of the player calls this method. Return False if a listener was not
        ready, or needs another state.
        """
        now_s, is_playing = time.monotonic(), self._desk.player.is_going
        self._desk.stream.attend(one.place.watched for one in self.listeners if one.place is not None)
        state_texts: dict[Place, tuple[str, Place]] = {}
        all_informed = True
        for listener in list(self.listeners):
            has_waited = now_s >= listener.last_sent_s + listener.pause_s - EARLY_S
            if listener.place is None or not (at_once or listener.is_owed or is_playing and has_waited):
                continue
            listener.is_owed = not listener.can_take
            if listener.is_owed:
                all_informed = False
                continue
            if listener.place not in state_texts:
                state, place = self._desk.state(listener.place)
                state_texts[listener.place] = json.dumps(state, separators=(",", ":")), place
            text, listener.place = state_texts[listener.place]
            listener.last_sent_s = now_s
            listener.tell(text)
            if self._desk.stream.has_more(listener.place):
                listener.is_owed, all_informed = True, False
        self._desk.player.tell_each(min((one.pause_s for one in self.listeners), default=0.0))
        return all_informed

    # --- in the thread of the sockets

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            server: Sockets = await serve(
                self._listen, HOST, self._port, process_request=self._request, max_size=LONGEST_BYTES,
                compression=None, server_header=None, ping_interval=20, max_queue=16, close_timeout=CLOSING_S,
            )  # fmt: skip
        except OSError as error:
            self._problem = error
            self._started.set()
            return
        self._port = next(iter(server.sockets)).getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        with suppress(TimeoutError):  # browsers keep unused connections open
            await asyncio.wait_for(server.wait_closed(), 2 * CLOSING_S)

    async def _request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return the page, or None if the WebSocket may be opened."""
        try:
            parts = urlsplit(request.path)
            token = parse_qs(parts.query).get("token", [""])[0]
            origin, host = request.headers.get("Origin"), request.headers.get("Host")
        except (ValueError, LookupError):  # the path is malformed, or a header occurs twice
            return _refuse("not a valid HTTP request")
        if not OWN_ADDRESS.fullmatch(host or ""):  # any port is allowed, because ssh -L forwards from a different port
            return _refuse("the Host header does not match the address of this server")
        if not secrets.compare_digest(token.encode("utf-8", "surrogateescape"), self.token.encode()):
            return _refuse("the token is missing or wrong; open the URL that mobilenet live printed")
        if origin is not None and origin != f"http://{host}":
            return _refuse(f"{origin[:80]} is not this page's origin")
        if parts.path == "/socket":
            if len(self.listeners) >= MOST_LISTENERS:
                return _refuse(f"{MOST_LISTENERS} pages are already open")
            return None
        if parts.path.startswith(CAPTURE):
            return await self._capture(parts.path.removeprefix(CAPTURE))
        if parts.path != "/":
            return _response(HTTPStatus.NOT_FOUND, "not found; the page is at /\n", "text/plain")
        if self._desk.player.is_ending:
            return _refuse(ENDING)
        page = await asyncio.wrap_future(self._desk.player.ask(self._make_page))
        return _response(HTTPStatus.OK, page, "text/html")

    async def _capture(self, file: str) -> Response:
        """Return the packets of a node that have been captured so far."""
        packets = self._desk.stream.packets
        node = file.removesuffix(".pcap")
        data = None if packets is None else await asyncio.to_thread(packets.capture, node)
        if data is None:
            return _response(HTTPStatus.NOT_FOUND, "this node has no capture\n", "text/plain")
        response = _response(HTTPStatus.OK, data, PCAP)
        response.headers["Content-Disposition"] = f'attachment; filename="{node}.pcap"'
        return response

    async def _listen(self, connection: ServerConnection) -> None:
        listener = Page(connection, asyncio.get_running_loop())
        self.listeners.append(listener)
        begun_s, count = time.monotonic(), 0
        try:
            async for text in connection:
                now_s = time.monotonic()
                if now_s - begun_s >= 1:
                    begun_s, count = now_s, 0
                count += 1
                if count > MOST_PER_S:
                    if count == MOST_PER_S + 1:
                        why = f"more than {MOST_PER_S} messages a second: further messages in this second are dropped"
                        await connection.send(json.dumps({"type": "reply", "id": id_of(text), "error": why}))
                    continue
                await connection.send(json.dumps(await self._answer(listener, text), separators=(",", ":")))
        except ConnectionClosed:
            pass
        finally:
            self.listeners.remove(listener)
            self._desk.player.ask(lambda: self._desk.hold(listener, False))

    async def _answer(self, listener: Listener, text: str | bytes) -> dict[str, Any]:
        desk = self._desk
        if desk.player.is_ending:
            return {"type": "reply", "id": id_of(text), "error": ENDING}
        return await asyncio.wrap_future(desk.player.ask(lambda: desk.answer(text, listener)))


def _refuse(why: str) -> Response:
    return _response(HTTPStatus.FORBIDDEN, f"refused: {why}\n", "text/plain")


def _response(status: HTTPStatus, content: str | bytes, kind: str) -> Response:
    body = content.encode("utf-8") if isinstance(content, str) else content
    headers = Headers()
    headers["Content-Type"] = f"{kind}; charset=utf-8" if isinstance(content, str) else kind
    headers["Content-Length"] = str(len(body))
    headers["Cache-Control"] = "no-store"
    headers["Content-Security-Policy"] = POLICY
    headers["Referrer-Policy"] = "no-referrer"
    headers["X-Content-Type-Options"] = "nosniff"
    return Response(status.value, status.phrase, headers, body)
