"""A host with `repair: selective`: it reports which messages it has, and reports gaps at once.

Source      ours: docs/protocols/repair.md; it extends host.py, which is Wilhelm, Arantes and Sens (2020), Algorithm 1
Names       Have -> ack_h (A1:49) with the contents of RBuffer; T -> report_s
Assumes     as host.py. Hosts of a cell may or may not hear each other
Deviations  each has its counterexample in docs/protocols/repair.md
            R1  A1:11,51  a message for one station is a unicast frame, which the MAC retransmits. In print, an App_hs
                          that collides waits I(x), a second
            R2  A1:49     in print, ack_h does not show gaps: if number 3 is lost and 4 to 9 are in RBuffer, the station
                          resends all seven. Have lists the contents of RBuffer; the station and the hosts of its cell
                          receive it
            R3  A1:38     in print, a gap waits for ackTimeout, half a second, and then for I(x). Here it is reported
                          within T, and again within 2T, 4T, ..., at most `most_reports` times without progress (one
                          more if a report was already waiting). A host that hears another host report the same gap
                          drops its own report, which still counts. After the first report, dropped or not, reports and
                          acknowledgements are unicast frames until the gap is filled
            R3b A1:48     a heartbeat is a unicast frame. If three broadcast heartbeats were lost, the station would
                          take the host for silent and resend nothing
            R4  A1:34     in print, only ack_C trims SBuffer. A host that receives its own message from any station
                          knows that this message and all before it were accepted: stations accept in order, and own
                          numbers are never used again (F12a)
            R5  A1:15     a host that misses the last message of a burst sees no gap. The largest number in the Have of
                          another host of the same station shows that such a message exists
            R6  A1:52     an App_hs that the MAC gave up on is sent again at once. If that fails, it is sent again after
                          `retry_s`, twice that, ..., up to I(x). In the paper it waits I(x), a second
            R8, R9  A2:44 AppOne: see selective_station.py. A host treats it as App_sh
"""

from __future__ import annotations

from typing import Any

from mobilenet.engine.clock import ns

from ..port import timer_name
from .host import Host
from .messages import AppCo, AppOne, AppSh, Have, InitAck
from .resend import MOST_DOUBLED, PromptResender, Resender

NOTHING = -1  # less than every number
CARRIERS = (AppSh, AppOne, AppCo)


class SelectiveHost(Host):
    def __init__(self, port: Any, *arguments: Any) -> None:
        super().__init__(port, *arguments)
        self._send = port.unicast  # R1
        self._newest = NOTHING  # the largest number of the stream that is known to exist in this session
        self._reports = 0  # number of reports of the current gap since the last progress
        self._report_timer = port.timer(self._report)
        self._on[AppOne] = self._on_app_one  # R8

    def _new_resender(self) -> Resender[int]:
        return PromptResender(self._port, self._p, self._make_app, self._to_cell)  # R6

    # --- sessions

    def _new_session(self, cause: str) -> None:
        self._forget_gap()
        super()._new_session(cause)

    def _clear_volatile(self) -> None:
        self._forget_gap()
        super()._clear_volatile()

    def _forget_gap(self) -> None:
        self._newest, self._reports = NOTHING, 0
        self._report_timer.stop()

    # --- from stations, and from hosts of the same cell

    def on_receive(self, sender: int, message: Any) -> None:
        if type(message) is Have:
            self._on_have(message)
            return
        if type(message) in CARRIERS and message.id.host == self._port.me:
            self._forget_below(message.id.seq + 1)  # R4
            self._try_leave()
        super().on_receive(sender, message)

    def _on_app_sh(self, m: AppSh) -> None:
        position = self.stable.nxt
        super()._on_app_sh(m)
        self._look_for_gaps(position, m.number)

    def _on_app_co(self, m: AppCo) -> None:
        position = self.stable.nxt
        super()._on_app_co(m)
        self._look_for_gaps(position, NOTHING)

    def _on_app_one(self, m: AppOne) -> None:
        if m.host == self._port.me:
            self._on_app_sh(AppSh(m.number, m.id, m.body, ()))  # R8

    def _on_init_ack(self, m: InitAck) -> None:
        was_connected = self._connected
        super()._on_init_ack(m)
        if not was_connected:  # otherwise the Have confirms what is already confirmed, or is for another host
            self._look_for_gaps(NOTHING, self._rbuf.base - 1)

    def _on_have(self, m: Have) -> None:
        """Handle another host's report of the messages that it has received in this cell."""
        if not self._connected or m.station != self._session_station or m.station != self._cell:
            return
        self._look_for_gaps(self.stable.nxt, m.have[-1] if m.have else m.nxt - 1)  # R5
        if self._report_timer.running and self._says_the_same(m):
            self._report_timer.stop()
            self._wait_to_report()  # R3

    def _says_the_same(self, m: Have) -> bool:
        """Return whether the other host's report shows all the gaps that this host has."""
        last = m.have[-1] if m.have else NOTHING
        return self.stable.nxt >= self._rbuf.base and all(
            m.nxt <= number < last and number not in m.have for number in self._missing()
        )

    def _missing(self) -> list[int]:
        rbuf = self._rbuf
        last = min(self._newest + 1, self.stable.nxt + self._p.window)
        return [n for n in range(self.stable.nxt, last) if n not in rbuf.stream and n not in rbuf.skip]

    # --- gaps

    def _look_for_gaps(self, position: int, number: int) -> None:
        """Look for gaps after a message: `position` was the next number before it, and `number` is known to exist."""
        if not self._connected:
            return
        self._newest = max(self._newest, number)
        if self.stable.nxt != position:
            self._reports = 0
        if self.stable.nxt > self._newest:  # every message known to exist has been delivered
            self._report_timer.stop()
        elif not self._report_timer.running:
            self._wait_to_report()

    def _wait_to_report(self) -> None:
        if self._reports < self._p.most_reports:  # R3
            self._report_timer.start(
                ns(self._p.report_s * self._port.uniform(0.2, 1)) << min(self._reports, MOST_DOUBLED)
            )
            self._reports += 1

    @timer_name("gap report")
    def _report(self) -> None:
        self._send_ack()
        self._wait_to_report()

    def _acknowledge(self, station: int, is_heartbeat: bool) -> None:
        rbuf, nxt = self._rbuf, self.stable.nxt
        received = sorted(n for n in (*rbuf.recovery, *rbuf.stream) if nxt < n < nxt + self._p.window)
        have = Have(station, self._port.me, self.stable.ses, nxt, tuple(received))  # R2
        if is_heartbeat or (self._reports > 1 and self._newest >= nxt):
            self._send(station, have)  # R3b; R3 (the copy that answered the first report did not arrive here)
        else:
            self._port.broadcast(have)
