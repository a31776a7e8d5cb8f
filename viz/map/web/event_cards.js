// Handoffs and other events: a line of a list, a card.
Mobilenet.eventCards = (app, { hostLink, stationLink, live, isSample, sampleNote }) => {
  const { run, clock } = app,
    { el, row, link, action, heading, note, duration } = app.parts;
  // A line that goes to its moment.
  const lineTo = (open, t, ...parts) => {
    const line = link("", () => {
      open();
      clock.seek(t);
    });
    line.append(el("span.mn-when", app.clockText(t, true)), ...parts.flatMap((part) => [" ", part]));
    line.classList.add("mn-event");
    return line;
  };
  const outcome = (i) => {
    const hand = run.handoffs;
    if (!Number.isNaN(hand.end[i])) return "took " + duration(hand.end[i] - hand.start[i]);
    return hand.next[i] >= 0 ? "superseded" : "not confirmed";
  };
  const openHandoff = (i) => app.select({ kind: "handoff", id: i, mark: app.marks.ofHandoff.get(i)?.id ?? -1 });
  const handoffLine = (i) => {
    const hand = run.handoffs,
      mark = app.marks.ofHandoff.get(i);
    const line = lineTo(
      () => openHandoff(i),
      hand.start[i],
      app.parts.symbol((g, x, y) => mark && app.marks.paint(g, mark, x, y, 5)),
      el("span.mn-name.mn-who", run.hostLabel(hand.host[i])),
      el(
        "span.mn-name",
        (hand.from[i] === hand.to[i] ? "again " : run.stationLabel(hand.from[i]) + " → ") +
          run.stationLabel(hand.to[i]),
      ),
      el("span.mn-right", outcome(i).replace("took ", "")),
    );
    line.title =
      run.hostInFull(hand.host[i]) +
      ": " +
      run.stationInFull(hand.from[i]) +
      " → " +
      run.stationInFull(hand.to[i]) +
      ", " +
      outcome(i);
    return line;
  };
  const eventLine = (i) => {
    const kind = run.eventKind(i);
    return lineTo(
      () => openEvent(i),
      run.events.time[i],
      app.parts.symbol((g, x, y) => Mobilenet.mark(g, kind, x, y, 5)),
      el("span.mn-name", run.hostLabel(run.events.host[i])),
      el("span", Mobilenet.WORDS[kind] || kind),
    );
  };
  const openEvent = (i) => app.select({ kind: "event", id: i, mark: app.marks.ofEvent.get(i)?.id ?? -1 });
  const markLine = (item) => (item.handoff !== undefined ? handoffLine(item.handoff) : eventLine(item.event));

  const watch = (i) => {
    // slowly, from a little before
    const h = run.handoffs.host[i];
    app.follow(true);
    app.closer(h, run.handoffs.start[i]);
    clock.seek(run.handoffs.start[i] - 0.3);
    clock.at(0.1); // of the picture, not of a run that goes on
    clock.play();
  };
  // Of a session after a crash: what others broadcast while the host was down, and how much of it has come.
  const missingSince = (i) => {
    const h = run.handoffs.host[i],
      start = run.handoffs.start[i],
      before = run.eventsOf(h).filter((j) => run.events.time[j] <= start),
      crash = before.filter((j) => run.eventKind(j) === "crash").pop(),
      msg = run.messages;
    if (run.causeOf(i) !== "recovery" || crash === undefined || isSample(h)) return null;
    const recover = before.find((j) => j > crash && run.eventKind(j) === "recover"),
      from = Mobilenet.upTo(msg.time, run.events.time[crash]),
      to = Mobilenet.upTo(msg.time, run.events.time[recover ?? crash]),
      sent = [],
      count = live("Broadcast while the host was down");
    for (let m = from; m < to; m++) if (msg.host[m] !== h) sent.push(m);
    const update = (t) => {
      const times = sent.map((m) => msg.deliveredAt(m).get(h)).filter((at) => at <= t),
        last = times.reduce((a, b) => Math.max(a, b), 0);
      const all = "all delivered by " + app.clockText(last, true, 2),
        come = times.length === sent.length ? all : times.length + " delivered";
      count.set(sent.length ? sent.length + ", " + come : "nothing");
    };
    return { node: count.node, update };
  };
  const handoff = (i) => {
    const hand = run.handoffs,
      h = hand.host[i],
      cause = run.causeOf(i),
      done = !Number.isNaN(hand.end[i]);
    const a = hand.last_before[i],
      b = hand.first_after[i],
      interrupted = done && !Number.isNaN(a) && !Number.isNaN(b);
    const span = () => {
      const from = Math.max(interrupted ? a - 0.3 : 0, hand.start[i] - 3),
        to = Math.max(interrupted ? b : 0, done ? hand.end[i] : hand.start[i]);
      return [Math.max(0, from - 0.2), Math.min(to, hand.start[i] + 20) + 0.8];
    };
    const since = missingSince(i),
      ticks = app.charts.deliveries(h, span, interrupted ? [a, b] : null),
      step = el("p.mn-now");
    const body = el(
      "div",
      step,
      row("Host", hostLink(h, true)),
      row("From", stationLink(hand.from[i], true)),
      row("To", stationLink(hand.to[i], true)),
      row("Session", hand.session[i] >= 0 ? hand.session[i] : "–"),
      cause === "cell"
        ? null
        : row("Cause", { recovery: "back after a crash", reinit: "started again" }[cause] || cause || "not recorded"),
      row("Begins", app.clockText(hand.start[i], true, 3)),
      row("Duration", done ? duration(hand.end[i] - hand.start[i]) : outcome(i)),
      row("Interruption", interrupted ? duration(b - a) : "–"),
      row("Messages recovered", done && hand.recovered[i] >= 0 ? hand.recovered[i] : "–"),
      row("Messages skipped", done && hand.skipped[i] >= 0 ? hand.skipped[i] : "–"),
      since && since.node,
      hand.next[i] >= 0 && !done
        ? row(
            "Superseded by",
            link("session " + hand.session[hand.next[i]], () => openHandoff(hand.next[i])),
          )
        : null,
      heading("Deliveries at " + run.hostLabel(h)),
      ticks.canvas,
      sampleNote(),
      note(
        "The band is the handoff, each line is a delivery, and the brown bar is the interruption, from the " +
          "last delivery before the handoff to the first one after it. Recovered messages (sent again) and skipped " +
          "messages (which the host already had) are counted by the protocol. " +
          "Why a handoff takes as long as it does is not known.",
      ),
    );
    const actions = [
      action("Watch in slow motion", () => watch(i)),
      action("Next handoff", () => app.jump(1, "handoff")),
    ];
    const update = (t) => {
      const from = run.stationLabel(hand.from[i]),
        to = run.stationLabel(hand.to[i]);
      step.textContent =
        t < hand.start[i]
          ? "Not yet: served by " + from + ", " + duration(hand.start[i] - t) + " to go."
          : done && t >= hand.end[i]
            ? "Done: served by " + to + "."
            : done
              ? "Now: its session with " + to + " is not confirmed yet."
              : outcome(i) + ".";
      ticks.update(t);
      if (since) since.update(t);
    };
    return { title: (cause === "cell" ? "Handoff of " : "New session of ") + run.hostLabel(h), body, update, actions };
  };

  // Only what the event itself records: the reason for it stands in no record.
  const MEANING = {
    crash: "The host fails: it neither receives nor sends until it recovers. Its stable storage survives.",
    recover: "The host is up again.",
    out_of_coverage: "The host is no longer in any cell.",
    in_coverage: "The host is back in a cell.",
    gap: "The host has permanently missed messages. It remains a member.",
    expire: "A station gives up on the host after a silence.",
    refused: "The application asked for a broadcast, and the host did not accept it.",
  };
  const event = (i) => {
    const kind = run.eventKind(i),
      h = run.events.host[i],
      t = run.events.time[i],
      s = run.events.station[i];
    const state = live("The host now");
    const answer = { crash: "recover", out_of_coverage: "in_coverage" }[kind];
    const later = answer && run.eventsOf(h).find((j) => j > i && run.eventKind(j) === answer);
    const body = el(
      "div",
      row("Host", hostLink(h, true)),
      row("When", app.clockText(t, true, 3)),
      s >= 0 ? row("Station", stationLink(s, true)) : null,
      answer ? row("Lasted", later === undefined ? "until the end" : duration(run.events.time[later] - t)) : null,
      state.node,
      MEANING[kind] ? note(MEANING[kind]) : null,
    );
    const name = Mobilenet.WORDS[kind] || kind;
    return {
      title: run.hostLabel(h) + ": " + name,
      body,
      update: (now) => state.set(run.sayState(h, now)),
      actions:
        later === undefined
          ? []
          : [
              action("Go to the end", () => {
                openEvent(later);
                clock.seek(run.events.time[later]);
              }),
            ],
    };
  };
  return { handoff, event, handoffLine, eventLine, markLine, openHandoff, openEvent };
};
