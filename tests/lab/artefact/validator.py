"""Run roc-validator, the validator of RO-Crates, without network access.

Model     The rules are part of the validator, but it downloads the JSON-LD context. The package rocrate contains the
          same context, which is put into the cache of the validator under its address. With --offline, the validator
          reads only the cache.
Source    https://github.com/crs4/rocrate-validator
"""

from __future__ import annotations

import importlib.util
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from urllib3 import HTTPResponse

from mobilenet.lab.artefact.crate import VERSION

COMMAND = Path(sys.executable).with_name("rocrate-validator")


class FromFile(HTTPAdapter):
    """An HTTP adapter that always returns the JSON-LD context."""

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        package = importlib.util.find_spec("rocrate")
        assert package is not None and package.origin is not None
        data = (Path(package.origin).parent / "data" / "ro-crate.jsonld").read_bytes()
        assert json.loads(data)["@id"] == request.url
        headers = {"Content-Type": "application/ld+json"}
        raw = HTTPResponse(io.BytesIO(data), headers, 200, preload_content=False, request_url=request.url)
        return self.build_response(request, raw)


def issues(crate: Path, place: Path, severity: str) -> list[tuple[str, str]]:
    """Return the severity and message of each issue in a folder. The validator writes its files to the empty folder
    `place`.
    """
    session = CachedSession(str(place / "cache"), backend="sqlite", expire_after=-1)
    session.mount("https://", FromFile())
    session.get(f"{VERSION}/context")
    session.close()
    options = ("--offline", "--cache-path", str(place / "cache"), "-l", severity, "-f", "json", "-o", "found.json")
    subprocess.run(
        [COMMAND, "-y", "validate", "-np", "-p", "ro-crate-1.3", *options, crate], cwd=place, check=False,
        capture_output=True, timeout=120,
    )  # fmt: skip
    report = json.loads((place / "found.json").read_text())
    assert report["passed"] == (not report["issues"])
    return [(one["severity"], one["message"]) for one in report["issues"]]
