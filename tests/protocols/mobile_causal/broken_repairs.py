"""Mutants of `repair: selective`. Each mutant breaks one rule by an edit of the source.

Model     REPAIRS: name -> (label, what is wrong, kind of schedules, or None for all kinds, edits)
Source    docs/protocols/repair.md; used by test_repairs.py
"""

from __future__ import annotations

from tests.protocols.edits import Edit

from .broken_rules import Rule, rule


def host(old: str, new: str, within: str | None = None) -> Edit:
    return Edit("selective_host", old, new, within)


def station(old: str, new: str, within: str | None = None) -> Edit:
    return Edit("selective_station", old, new, within)


def resend(old: str, new: str, within: str | None = None) -> Edit:
    return Edit("resend", old, new, within)


RETRY = "return min(usual_ns, ns(self._p.retry_s * jitter) << min(times - 1, MOST_DOUBLED))"
HAVE = "have = Have(station, self._port.me, self.stable.ses, nxt, tuple(received))"

REPAIRS: dict[str, Rule] = {
    "bitmap_off_by_one": rule(
        "R2",
        "a host reports each number as the next one",
        host(HAVE, "have = Have(station, self._port.me, self.stable.ses, nxt, tuple(n + 1 for n in received))"),
    ),
    "nxt_off_by_one": rule(
        "R2",
        "a host reports the number that it lacks as delivered",
        host(HAVE, "have = Have(station, self._port.me, self.stable.ses, nxt + 1, tuple(received))"),
    ),
    "last_for_all": rule(
        "R2",
        "the last number of a report acknowledges all before it",
        station("self._on_ack_h(m)", "self._on_ack_h(m._replace(nxt=max((m.nxt, *m.have))))"),
    ),
    "recovery_for_stream": rule(
        "R2",
        "recovery messages that a host holds count as numbers after them",
        host(
            "received = sorted(n for n in (*rbuf.recovery, *rbuf.stream) if nxt < n < nxt + self._p.window)",
            """
            received = sorted(n for n in (*rbuf.recovery, *rbuf.stream) if nxt < n < nxt + self._p.window)
            received = [n + 1 for n in received] if rbuf.recovery else received
            """,
        ),
    ),
    "have_of_another_session": rule(
        "R7",
        "what a host has belongs to no session",
        station(
            "if c is not None and m.ses == c.ses and c.state is State.OWN and not c.expired:",
            "if c is not None and c.state is State.OWN and not c.expired:",
        ),
    ),
    "have_kept": rule(
        "R7",
        "what a host has is kept over its next session",
        station("c.have, c.copied, c.missed, c.counted = set(), {}, 0, 0", "pass"),
    ),
    "has_all_that_it_reports_late": rule(
        "R2",
        "numbers beyond the last one that a host lists count as received",
        station(
            "c.have.update(number for number in have if number >= c.nxt)",
            "c.have.update(range((have[-1] if have else c.nxt) + 1, self.next_number))",
        ),
    ),
    "lacks_what_it_has": rule(
        "R2",
        "copies are for the hosts that have the message",
        station("if number in c.have:\n    return None", "if number not in c.have:\n    return None", "_copy"),
        station("return self._app_sh(number, self.sbuf[number]) if len(lacking) > 1 else None", "return None"),
    ),
    "silent_hosts_lack": rule(
        "R2",
        "messages are resent for hosts that are not heard",
        station(
            "if c.state is not State.OWN or c.expired or now - c.heard_ns > self._silent_ns:",
            "if c.state is not State.OWN or c.expired:",
        ),
    ),
    "alone_is_enough": rule(
        "R8",
        "a message that one host alone lacks is sent to no host",
        station("if len(lacking) == 1:\n    self._send_to(lacking[0], number)", "pass"),
        station("self._send_to(c, number)", "pass", "_repair"),
    ),
    "one_for_another_number": rule(
        "R8",
        "a message for one host has the number after its own",
        station(
            "return AppOne(host, number, item.id, item.body)", "return AppOne(host, number + 1, item.id, item.body)"
        ),
    ),
    "one_skips_the_order": rule(
        "R8",
        "a message for one host is delivered at once",
        host(
            "self._on_app_sh(AppSh(m.number, m.id, m.body, ()))",
            """
            if self._connected and m.number >= self.stable.nxt:
                self.stable.nxt = m.number
                self._on_app_sh(AppSh(m.number, m.id, m.body, ()))
            """,
        ),
    ),
    "one_in_any_state": rule(
        "R8",
        "a message for one host is delivered in any state and from any cell",
        host(
            "super().on_receive(sender, message)",
            """
            if type(message) is AppOne and message.host == self._port.me and not self._connected:
                self._port.deliver(message.id, message.body)
            super().on_receive(sender, message)
            """,
        ),
    ),
    "hears_itself_too_early": rule(
        "R4",
        "an own message in the stream acknowledges the next one as well",
        host("self._forget_below(message.id.seq + 1)", "self._forget_below(message.id.seq + 2)"),
    ),
    "hears_another_one": rule(
        "R4",
        "any host's message in the stream acknowledges an own one",
        host("if type(message) in CARRIERS and message.id.host == self._port.me:", "if type(message) in CARRIERS:"),
    ),
    "hears_its_own_frame": rule(
        "R4",
        "an own message counts as accepted once the radio has sent it",
        Edit("host", "self._resender.on_sent(message.seq, message, given_up)", "self._forget_below(message.seq + 1)"),
    ),
    "never_again": rule(
        "R6",
        "what the MAC gave up is not sent again",
        resend("usual_ns = super()._wait_ns(key, given_up)", "usual_ns = 10**15"),
        resend("if times == 0:\n    return 0", "pass"),
        resend(RETRY, "return usual_ns"),
    ),
    "given_up_waits_as_sent": rule(
        "R6",
        "what the MAC gave up waits as long as what it has sent",
        resend("if not given_up:\n    return usual_ns", "return usual_ns"),
    ),
    "given_up_for_one_waits_as_sent": rule(
        "R6",
        "a first message for one host that the MAC gave up waits as long as one that it has sent",
        station(
            "self._resender.on_sent((message.number, message.host), message, given_up)",
            "self._resender.on_sent((message.number, message.host), message)",
        ),
    ),
    "recovery_given_up_waits_as_sent": rule(
        "R6",
        "a recovery message that the MAC gave up waits as long as one that it has sent",
        station("super().on_sent(message, given_up)", "super().on_sent(message, False)"),
    ),
    "given_up_again_and_again": rule(
        "R6",
        "what the MAC gave up is always sent again at once",
        resend("if times == 0:", "if times >= 0:"),
    ),
    "retries_without_back_off": rule(
        "R6",
        "what the MAC gave up again and again waits `retry_s` each time",
        resend(RETRY, "return min(usual_ns, ns(self._p.retry_s * jitter))"),
    ),
    "retries_kept": rule(
        "R6",
        "how often the MAC gave up a message is kept over a session",
        resend("self._times.clear()", "pass"),
    ),
    "not_acknowledged_by_the_mac": rule(
        "R1",
        "a host's messages for its station are not retransmitted by the MAC",
        host("self._send = port.unicast", "self._send = port.send"),
    ),
    "recovery_not_acknowledged_by_the_mac": rule(
        "R1",
        "a station's messages for one host are not retransmitted by the MAC",
        station("return port.unicast", "return port.send"),
    ),
    "heartbeats_for_all": rule(
        "R3b",
        "a heartbeat is a broadcast frame",
        host(
            "if is_heartbeat or (self._reports > 1 and self._newest >= nxt):",
            "if self._reports > 1 and self._newest >= nxt:",
        ),
    ),
    "first_copies_one_by_one_for_many": rule(
        "R9",
        "every host gets its own first copy, however many they are",
        station("if not lacking or len(lacking) > self._p.few_hosts or self._resender.is_sending:", "if not lacking:"),
        station(
            "lacking = self._hosts_lacking(number, self._p.few_hosts + 1)", "lacking = self._hosts_lacking(number, 100)"
        ),
    ),
    "first_copies_one_by_one_without_loss": rule(
        "R9",
        "hosts get their own first copies though none has lacked any",
        station("return any(c.missed > self._p.lossy_share * (number - c.base) for c in lacking)", "return True"),
    ),
    "first_copies_one_by_one_though_busy": rule(
        "R9",
        "hosts get their own first copies though another copy is in the radio's queue",
        station(
            "if not lacking or len(lacking) > self._p.few_hosts or self._resender.is_sending:",
            "if not lacking or len(lacking) > self._p.few_hosts:",
        ),
    ),
    "first_copies_for_some": rule(
        "R9",
        "of several hosts, one gets the first copy",
        station(
            "for c in lacking:\n    c.direct.add(number)", "for c in lacking[:1]:\n    c.direct.add(number)", "_first"
        ),
    ),
    "missed_kept": rule(
        "R9",
        "what a host has lacked in a session before makes its radio lossy",
        station("c.have, c.copied, c.missed, c.counted = set(), {}, 0, 0", "c.have, c.copied = set(), {}"),
    ),
    "each_message_answered": rule(
        "R4",
        "a station answers each message of a host, as in print",
        station("if not is_new and not self._ack_timer.running:", "if not self._ack_timer.running:"),
    ),
    "no_answer_to_copies": rule(
        "R4",
        "a station answers no copy of a message that it has accepted",
        station("self._ack_timer.start(ns(self._p.report_s * self._port.uniform(0.2, 1)))", "pass", "_start_ack_timer"),
        host("if type(message) in CARRIERS and message.id.host == self._port.me:", "if False:"),
    ),
    "no_repair": rule(
        "R3",
        "what a host lacks is neither repaired nor sent again",
        station("self._repair(c, number)", "pass"),
        station("return self._app_sh(number, self.sbuf[number]) if len(lacking) > 1 else None", "return None"),
        station("if len(lacking) == 1:\n    self._send_to(lacking[0], number)", "pass"),
    ),
    "reports_without_bound": rule(
        "R3",
        "a host reports a gap until it is filled",
        host("if self._reports < self._p.most_reports:", "if True:"),
    ),
    "reports_without_back_off": rule(
        "R3",
        "a host reports a gap again as soon as for the first time",
        host(
            "ns(self._p.report_s * self._port.uniform(0.2, 1)) << min(self._reports, MOST_DOUBLED)",
            "ns(self._p.report_s * self._port.uniform(0.2, 1))",
        ),
    ),
    "reports_what_others_report": rule(
        "R3",
        "a host reports a gap although another one has just reported it",
        host("if self._report_timer.running and self._says_the_same(m):", "if False:"),
    ),
    "all_reports_for_all": rule(
        "R3",
        "further reports of a gap are broadcast frames, as the first one",
        host("if is_heartbeat or (self._reports > 1 and self._newest >= nxt):", "if is_heartbeat:"),
    ),
    "gap_kept": rule(
        "R3",
        "a host takes numbers of its session before for numbers of the present one",
        host("self._newest, self._reports = NOTHING, 0", "self._reports = 0"),
    ),
    "no_rest": rule(
        "R3",
        "each report causes a copy of what it leaves out, though one has just been sent",
        station("rest_ns = ns(p.repair_rest_s if number < last else p.doubt_s)", "rest_ns = 0"),
    ),
    "no_doubt": rule(
        "R3",
        "numbers beyond the last one that a host lists count as lost without any doubt",
        station("rest_ns = ns(p.repair_rest_s if number < last else p.doubt_s)", "rest_ns = ns(p.repair_rest_s)"),
    ),
    "deaf_to_reports": rule(
        "R5",
        "a host does not look at what other hosts of its cell have",
        host("self._look_for_gaps(self.stable.nxt, m.have[-1] if m.have else m.nxt - 1)", "pass"),
    ),
    "copied_kept": rule(
        "R7",
        "copies that were sent to a host in its session before count in the next one",
        station("c.have, c.copied, c.missed, c.counted = set(), {}, 0, 0", "c.have, c.missed, c.counted = set(), 0, 0"),
    ),
    "cell_copies_without_bound": rule(
        "R8",
        "a message that several hosts lack is always sent to the whole cell",
        station(
            "if self._copies.get(number, 0) >= self._p.cell_copies or len(self._hosts_lacking(number, 2)) < 2:",
            "if len(self._hosts_lacking(number, 2)) < 2:",
        ),
    ),
}
