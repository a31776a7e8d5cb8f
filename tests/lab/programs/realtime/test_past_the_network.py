"""Programs that deliver what no datagram can have brought them: valid of nothing, and not a violation."""

import sys
from pathlib import Path

import pytest

from mobilenet.api import Run, run
from mobilenet.simulation.parties import RealTime
from mobilenet.verify import verify_run
from tests.lab.programs.realtime.own import scenario

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="all of 127.0.0.0/8 is local on Linux alone")
GUESSES = """
if me == 0: time.sleep(0.3); say("broadcast 0\\ndeliver 0 0")
else: time.sleep(0.9); {sends}; say("deliver 0 0")
while True: time.sleep(1)"""
RELAYED = """
if me == 0:
    time.sleep(0.4); say("broadcast 0\\ndeliver 0 0")
    while True: own.sendto(b"0", peers[1]); time.sleep(0.1)
met = False
while True:
    try: data = own.recv(100)
    except TimeoutError: continue
    if not met: say("deliver 0 0")
    met = True
    if me == 1: own.sendto(data, peers[2])"""


def serve(path: Path) -> Run:
    return run(path, out=path.parent / "run", allow_code=True, real_time=RealTime())


@pytest.mark.long
@pytest.mark.parametrize("sends", ("pass", "own.sendto(b'hello', peers[0]); time.sleep(0.3)"))
def test_a_delivery_that_no_datagram_brought_is_unknown(sends: str, tmp_path: Path) -> None:
    done = serve(scenario(tmp_path, GUESSES.format(sends=sends), 2, 2.0, protocol={"promises": "fifo"}))
    creation = done.verdicts["creation"]
    assert creation.answer == done.verdict == "unknown", done.verdicts
    assert (
        "h1 delivers h0:0, but by then h1 had received no datagram that was sent after the broadcast of h0:0"
        in creation.explanation
    )
    assert verify_run(done.path) == done.verdicts


@pytest.mark.long
def test_a_delivery_that_came_through_another_host_is_valid(tmp_path: Path) -> None:
    done = serve(scenario(tmp_path, RELAYED, 3, 3.0, protocol={"promises": "fifo"}))
    assert done.metrics["deliveries"] == 3
    assert done.verdicts["creation"].answer == "valid", done.verdicts
