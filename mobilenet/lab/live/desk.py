"""Carry out the requests of a page, with one reply to each message.

Model     Requests are carried out in the thread of the player, so the run does not change at the same time. A reply
          contains the requested data, or `error` with one line. After an error, the session continues. An intervention
          goes from the server (server.py) to the desk, and from there to LiveSession.do, which adds it to the scenario
          (branch.py) and to the run (simulation/interventions.py). Jobs._save writes this scenario to a file
Source    ours: docs/guide/live-messages.md
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mobilenet.api import RUNS
from mobilenet.engine.clock import ns
from mobilenet.lab.live import commands
from mobilenet.lab.live.cards import card
from mobilenet.lab.live.commands import Command, id_of, parse_command
from mobilenet.lab.live.jobs import Delivery, Jobs
from mobilenet.lab.live.player import Player
from mobilenet.lab.live.recent_messages import BEGIN
from mobilenet.lab.live.session import LiveSession
from mobilenet.lab.live.stopped_run import keep_unfinished
from mobilenet.lab.live.stream import Listener, Place, Stream
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import cut, first_line, quote

BUSY_S = 0.1  # shortest time between two reports of progress


class Desk:
    """Carries out requests. `tell_all` sends the state to the listeners, at once or at the pace of each listener."""

    def __init__(self, session: LiveSession, allow_code: bool = False, out: Path | None = None) -> None:
        """Set up the desk. The first branch that is saved without a name is stored in `out`."""
        self.session = session
        self.stream = Stream(session)
        self.player = Player(session, self._tell)
        session.on_the_way = self._progress
        self.jobs = Jobs(self._job_changed, allow_code, session.name)
        self.tell_all: Callable[[bool], bool] = lambda at_once: True
        self.busy: dict[str, Any] | None = None
        self._holders: set[Listener] = set()
        self._out = out
        self._last_sent_s = 0.0

    def _tell(self, at_once: bool) -> bool:
        self.busy = None  # the run has finished rewinding
        return self.tell_all(at_once)

    def _job_changed(self) -> None:
        self.player.ask(self.player.send_state)

    def state(self, place: Place) -> tuple[dict[str, Any], Place]:
        """Return the current state for a listener, and the listener's `Place` after receiving it."""
        player = self.player
        if self.busy is not None:
            return {"type": "busy", **self.busy}, place
        state, place = self.stream.state(place)
        state |= {
            "is_playing": player.is_going, "speed": player.speed, "rate": round(player.rate, 3),
        }  # fmt: skip
        if (pace := self.session.simulation.parties.pace) is not None:
            state["late_ms"] = round(pace.recent_lateness_ms(), 1)
        if player.is_playing and player.is_held:
            state["is_held"] = True
        if player.stepped is not None:
            state["stepped"] = player.stepped
        if player.stopped_because:
            state["stopped_because"] = player.stopped_because
        if self.jobs.jobs:
            state["jobs"] = [job.report() for job in self.jobs.jobs[-20:]]
        return state, place

    def answer(self, text: str | bytes, listener: Listener) -> dict[str, Any]:
        """Carry out the request in one message, and return the reply."""
        reply: dict[str, Any] = {"type": "reply", "id": id_of(text)}
        try:
            return reply | self._reply_to(parse_command(text), listener)
        except Exception as error:  # for example, a program or a plug-in failed; the session continues
            return reply | {"error": cut(first_line(error), 400)}

    def _reply_to(self, command: Command, listener: Listener) -> dict[str, Any]:
        session, player, stream = self.session, self.player, self.stream
        match command:
            case commands.Since():
                watched = None if listener.place is None else listener.place.watched
                row = min(command.row, len(session.simulation.recording.events))
                bins_s = None if command.bins_s is None else (command.bins_s[0], command.bins_s[1])
                listener.place = Place(
                    command.generation, row, watched, point_ns=command.point_ns, sample=command.sample, bins_s=bins_s
                )
                player.send_state()
                return {"generation": stream.generation}
            case commands.SetSpeed():
                player.set_speed(command.speed)
            case commands.Play():
                player.play(command.speed, command.until_s)
            case commands.Pause():
                player.ask_to_pause()
            case commands.Hold():
                self.hold(listener, command.on)
            case commands.Step():
                player.step(command.what)
            case commands.Do():
                return {"intervention": self._do(dict(command.what), command.back_to_s)}
            case commands.Rewind():
                to_s = command.to_s
                self._back(lambda: session.rewind(to_s), to_s)
            case commands.Switch():
                number = command.branch
                to_s = session.reached_s(number)
                self._back(lambda: session.switch(number), to_s)
            case commands.Watch():
                if command.node is not None and card(session.simulation, command.node) is None:
                    raise ScenarioError(f"watch: there is no {cut(command.node, 20)} in this run")
                if listener.place is None:
                    raise ScenarioError("watch: send `since` first")
                listener.place = listener.place._replace(watched=command.node, arrow=BEGIN)
                player.send_state()
                if command.node is not None and command.deliveries:
                    deliveries = stream.deliveries_at(command.node, listener.place.row)
                    return {"time_ns": session.now_ns, "delivered": deliveries}
            case commands.Pace():
                listener.pause_s = 1 / command.states_per_s
            case commands.Message():
                return stream.who_has(command.message)
            case commands.Save():
                return self._save(command.name)
            case commands.Effect():
                return self._effect(command)
            case commands.Why():
                return self._why(command)
            case commands.Cancel():
                self.jobs.cancel(command.job)
        return {"time_ns": session.now_ns}

    def hold(self, listener: Listener, on: bool) -> None:
        """Hold the run while a listener views earlier times. Release it when the last such listener stops."""
        if on:
            # A real-time run cannot be held.
            self.session.require_virtual_time("hold")
        if not self.player.is_held:
            self._holders.clear()  # the run has been released, so no listener holds it any longer
        (self._holders.add if on else self._holders.discard)(listener)
        if self.player.is_held != bool(self._holders):
            self.player.hold(bool(self._holders))

    def _do(self, what: dict[str, Any], back_to_s: float | None) -> dict[str, Any]:
        session = self.session
        if back_to_s is not None and ns(back_to_s) > session.now_ns:
            raise ScenarioError(
                f"do: back_to_s: got {back_to_s:g} s, expected at most the current time, {session.now_s:.9g} s"
            )
        if back_to_s is not None and back_to_s < session.now_s:
            session.check(what, back_to_s)  # check before rewinding, because that may abandon a branch
            self._back(lambda: session.rewind(back_to_s), back_to_s)
        intervention = session.do(str(what.pop("do", None)), **what)
        self.player.note_change()
        return intervention

    def _back(self, go: Callable[[], None], to_s: float) -> None:
        """Move the run to another time. This may take a while, so listeners see the progress."""
        self.session.require_virtual_time("rewind")
        before = self.session.simulation
        self.player.pause()
        self.busy = {"at_s": 0.0, "to_s": to_s}
        try:
            go()
        finally:
            self.busy = None
            if self.session.simulation is not before:
                self.stream.begin_anew()
            self.player.send_state()

    def _progress(self, at_s: float, to_s: float) -> None:
        if self.player.is_ending:
            raise ScenarioError("stopped while going back")
        self.busy = {"at_s": at_s, "to_s": to_s}
        if time.monotonic() - self._last_sent_s > BUSY_S:
            self._last_sent_s = time.monotonic()
            self.tell_all(True)

    def _save(self, name: str | None) -> dict[str, Any]:
        """Store the branch as a run, even if it contains no interventions."""
        out = self._out if name is None else RUNS / name
        if self.session.is_real_time:
            if not self.session.is_over:
                raise ScenarioError("save: a run in real time is saved when it is over, or when you press Ctrl-C")
            job = self.jobs.keep(self.session.branch.interventions, quote(keep_unfinished(self.session, out)))
        else:
            events = self.session.simulation.recording.events
            job = self.jobs.save(self.session.scenario, out, (len(events), self.session.fingerprint))
        if name is None:
            self._out = None  # the next branch needs another name
        self.player.send_state()
        return {"job": job.number}

    def _effect(self, command: commands.Effect) -> dict[str, Any]:
        if self.session.is_real_time:
            raise ScenarioError("effect: a run in real time cannot be repeated with one intervention left out")
        count = len(self.session.branch.interventions)
        if command.intervention >= count:
            there = f"expected 0 to {count - 1}" if count else "there are none yet"
            raise ScenarioError(f"effect: intervention {command.intervention} does not exist; {there}")
        job = self.jobs.effect(self.session.scenario, self.session.first_hosts, command.intervention, command.worlds)
        self.player.send_state()
        return {"job": job.number}

    def _why(self, command: commands.Why) -> dict[str, Any]:
        session = self.session
        if session.is_real_time:
            raise ScenarioError("why: a run in real time cannot be repeated, so the causes of its delays are not known")
        deliveries = self.stream.who_has(command.message)
        host = int(command.host[1:])
        if host not in deliveries["host"]:
            raise ScenarioError(f"why: {command.host} has not delivered {command.message} yet")
        delay_ns = deliveries["time_ns"][deliveries["host"].index(host)] - deliveries["broadcast_ns"]
        job = self.jobs.why(session.scenario, Delivery(command.message, command.host, delay_ns), session.now_s)
        self.player.send_state()
        return {"job": job.number}
