"""Drive a headless Chromium through its debugging pipe, to test what a page requests, prints and shows.

Model     The tests send DevTools messages as JSON over file descriptors 3 and 4 of the browser. Each message ends with
          a zero byte. This needs neither a port nor a library. The browser has no network: no name can be resolved, and
          the only reachable address is that of this machine.
Units     pixels, seconds
Errors    BrowserError if a page throws or the browser does not answer. Without a browser, tests are skipped; they fail
          where one is required (CI or MOBILENET_REQUIRE_BROWSER is set).
Source    https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
    "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)  # fmt: skip
KEYS = {
    " ": "Space",
    "ArrowLeft": "ArrowLeft",
    "ArrowRight": "ArrowRight",
    "Escape": "Escape",
    "+": "Equal",
    "-": "Minus",
}


class BrowserError(Exception):
    """Raised when a page throws an exception or the browser does not answer."""


def chromium() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def is_required() -> bool:
    return bool(os.environ.get("CI") or os.environ.get("MOBILENET_REQUIRE_BROWSER"))


def _pipe() -> tuple[int, int]:
    """Open a pipe whose descriptors have higher numbers than those reserved for the browser."""
    low = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low)
    for end in low:
        os.close(end)
    return high[0], high[1]


class Page:
    """Controls one page in one browser. Use it as a context manager."""

    def __init__(self, width: int = 1280, height: int = 800, patience_s: float = 120.0) -> None:
        path = chromium()
        if path is None:
            raise BrowserError(f"no browser: none of {', '.join(NAMES)} is installed")
        self.requests: list[str] = []
        self.complaints: list[str] = []  # errors and warnings on the console, and uncaught exceptions
        self._patience_s, self._number, self._rest = patience_s, 0, b""
        self._folder = tempfile.mkdtemp(prefix="mobilenet-browser-")
        to_browser, self._out = _pipe()
        self._in, from_browser = _pipe()
        wiring = f'exec 3<&{to_browser} 4>&{from_browser} {to_browser}<&- {from_browser}>&-; exec "$@"'
        arguments = [path, *FLAGS, f"--window-size={width},{height}", f"--user-data-dir={self._folder}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", wiring, "browser", *arguments], pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self._session: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self) -> Page:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._folder, ignore_errors=True)

    def open(self, file: Path) -> None:
        """Open a file and wait until it is loaded."""
        self._call("Page.navigate", url=file.resolve().as_uri())
        self.until("document.readyState === 'complete' && location.protocol === 'file:'")

    def visit(self, url: str) -> None:
        self._call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.protocol === 'http:'")

    def resize(self, width: int, height: int) -> None:
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, **features: str) -> None:
        """Override media features, for example `prefers_color_scheme="dark"`."""
        wanted = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self._call("Emulation.setEmulatedMedia", features=wanted)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag with the mouse from start to end in a few steps."""
        self.move(*start)
        self._call("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], button="left", clickCount=1)
        for step in (0.3, 0.7, 1.0):
            x, y = (a + (b - a) * step for a, b in zip(start, end, strict=True))
            self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left", buttons=1)
        self._call("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], button="left", clickCount=1)

    def evaluate(self, script: str) -> Any:
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def cpu_s(self) -> float:
        """Return the CPU time that all processes of the browser have used. It hardly depends on what else the machine
        does.
        """
        page, self._session = self._session, None  # The browser answers this question, not the page.
        try:
            processes = self._call("SystemInfo.getProcessInfo")["processInfo"]
        finally:
            self._session = page
        return float(sum(process["cpuTime"] for process in processes))

    def until(self, condition: str) -> None:
        end = time.monotonic() + self._patience_s
        while not self._is_so(condition):
            if time.monotonic() > end:
                raise BrowserError(f"still not: {condition}; {self.complaints}")
            time.sleep(0.05)

    def _is_so(self, condition: str) -> bool:
        """Return whether a condition holds in the page, and False while the page is navigating."""
        try:
            return bool(self.evaluate(condition))
        except BrowserError as error:
            if "target navigated" in str(error):
                return False
            raise

    def screenshot(self, file: Path | None = None) -> bytes:
        data = base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])
        if file is not None:
            file.write_bytes(data)
        return data

    def move(self, x: float, y: float) -> None:
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def click_on(self, selector: str) -> None:
        self.click_on_element(f"document.querySelector({json.dumps(selector)})")

    def click_on_element(self, element: str) -> None:
        """Click on the element to which this expression leads."""
        box = self.evaluate(
            f"(() => {{ const e = {element}; e.scrollIntoView({{block: 'center'}});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.click(*box)

    def key(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=KEYS.get(key, f"Key{key.upper()}"),
                **(text if kind == "keyDown" else {}),
            )

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(method)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self._note(answer)

    def _receive(self, method: str) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], self._patience_s)[0]:
                raise BrowserError(f"{method}: no answer for {self._patience_s:g} s")
            got = os.read(self._in, 1 << 20)
            if not got:
                raise BrowserError(f"{method}: the browser has ended")
            self._rest += got
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        method, about = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in about["args"]))
