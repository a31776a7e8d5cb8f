// Cards of a host, a station, a handoff and any other event.
"use strict";
Mobilenet.cards = (app) => {
  const { run, clock } = app,
    { el, row, link, action, heading, note, counted, duration } = app.parts;
  const named = (button) => {
    button.classList.add("mn-name");
    return button;
  };
  const hostLink = (h, full) =>
    named(
      link(
        full ? run.hostInFull(h) : run.hostCalled(h),
        () => app.select({ kind: "host", id: h }),
        run.hostName(h) ? run.hostInFull(h) : "Show this host",
      ),
    );
  const stationLink = (s, full) => {
    if (s < 0) return el("b", {}, "none");
    const b = link(
        full ? run.stationInFull(s) : run.stationCalled(s),
        () => app.select({ kind: "station", id: s }),
        run.stationName(s) ? run.stationInFull(s) : "Show this station",
      ),
      dot = el("i", { class: "mn-dot" });
    dot.style.background = app.colours[s];
    return el("span", {}, dot, b);
  };
  const minus = (number) => String(number).replace("-", "−");
  const live = (name) => {
    const b = el("b", {});
    return {
      node: row(name, b),
      set: (value) => {
        if (b.textContent !== String(value)) b.textContent = String(value);
      },
    };
  };
  // Of a live run at full speed only deliveries of the chosen host come along.
  const isSample = (h) =>
    run.messages.every > 1 || Boolean(app.live && app.live.isPartial && app.live.wholeHost !== h);
  const sampled = () =>
    run.messages.every > 1
      ? note("Messages are a sample here (" + sample() + "); gaps between ticks need not be interruptions.")
      : null;
  const sample = () => run.messages.count + " of " + run.messages.total;

  // Items of a long list, as lines or links; its last line opens the rest.
  const some = (box, most, keyOf, make) => {
    let all = false,
      last = [];
    const fill = (items) => {
      const rest = all ? 0 : items.length - most;
      last = items;
      app.parts.keep(
        box,
        rest > 0 ? [...items.slice(0, most), { rest }] : items,
        (item) => (item.rest ? "rest " + item.rest : keyOf(item)),
        (item) =>
          item.rest
            ? link(
                "and " + item.rest + " more",
                () => {
                  all = true;
                  fill(last);
                },
                "Show all of them",
              )
            : make(item),
      );
    };
    return fill;
  };

  const host = (h) => {
    const state = live("Now"),
      buffers = app.charts.buffers("hosts", h, "#0072B2"),
      sessions = app.charts.sessions(h),
      ticks = app.charts.deliveries(h);
    const { radio } = app,
      best = radio.power ? live("Best station here, mean") : null,
      link = radio.links ? live("Last frame received") : null,
      strength = radio.links ? live("Its power, SINR") : null;
    const counter = live("Messages delivered"),
      own = run.deliveriesOf(h),
      list = el("div", { class: "mn-list" });
    const sessionsHead = heading(""),
      othersHead = heading("Other events"),
      othersList = el("div", { class: "mn-list" }),
      fillSessions = some(list, 200, (i) => i + " " + Number.isNaN(run.handoffs.end[i]), handoffLine),
      fillOthers = some(othersList, 100, (i) => i, eventLine);
    let filled = "";
    // Of a run that goes on there are more and more.
    const renew = () => {
      const own = run.handoffsOf(h),
        open = own.filter((i) => Number.isNaN(run.handoffs.end[i])).length,
        key = own.length + " " + open + " " + run.eventsOf(h).length;
      if (key === filled) return;
      filled = key;
      const others = run
        .eventsOf(h)
        .filter((i) =>
          ["crash", "recover", "gap", "out_of_coverage", "expire"].includes(run.events.kinds[run.events.kind[i]]),
        );
      sessionsHead.textContent = counted(own.length, "session") + " after the first";
      othersHead.hidden = !others.length;
      fillSessions(own);
      fillOthers(others);
    };
    renew();
    const body = el(
      "div",
      {},
      run.hostName(h) ? row("Number", run.hostLabel(h)) : null,
      state.node,
      counter.node,
      best && best.node,
      link && link.node,
      strength && strength.node,
      link && radio.links.every_s
        ? note("Known to " + duration(radio.links.every_s) + ": of several frames within that, the last one.")
        : null,
      heading("Sessions"),
      sessions.canvas,
      buffers.empty ? null : heading("Buffers"),
      buffers.empty ? null : buffers.canvas,
      heading("Deliveries, around now"),
      ticks.canvas,
      sampled(),
      sessionsHead,
      list,
      othersHead,
      othersList,
    );
    const inside = app.live ? Mobilenet.liveCard(app, "host", h) : null;
    if (inside) {
      counter.node.after(inside.top);
      body.append(inside.body);
    }
    const follow = action("", () => app.follow(!app.following));
    const update = (t) => {
      renew();
      follow.textContent = app.following ? "Stop following" : "Follow";
      state.set(run.sayState(h, t));
      counter.set(Mobilenet.upTo(own.time, t) + (isSample(h) ? " (of those shown)" : ""));
      const place = run.place(h, t),
        here = best && place ? radio.bestAt(place.x, place.y) : null,
        frame = link ? radio.linkAt(h, t) : null;
      if (best) best.set(here ? run.stationCalled(here.station) + ", " + minus(here.dbm) + " dBm" : "no station");
      if (link) {
        link.set(frame ? "from " + frame.from + ", " + duration(frame.since) + " ago" : "none yet");
        strength.set(
          frame ? minus(frame.dbm.toFixed(1)) + " dBm, " + minus(frame.sinr.toFixed(1)) + " dB" : "–",
        );
      }
      sessions.update(t);
      ticks.update(t);
      if (!buffers.empty) buffers.update(t);
      if (inside) inside.update();
    };
    const actions = [follow, ...(inside ? inside.actions : [])];
    return { title: "Host " + run.hostCalled(h), body, update, actions };
  };

  const station = (s) => {
    const buffers = app.charts.buffers("stations", s, app.colours[s]),
      served = el("div", { class: "mn-chips" }),
      size = live("Serves now"),
      list = el("div", { class: "mn-list" });
    const through = [];
    let looked = 0;
    const renew = () => {
      for (; looked < run.handoffs.count; looked++)
        if (run.handoffs.from[looked] === s || run.handoffs.to[looked] === s) through.push(looked);
    };
    const arrived = live("Handoffs so far, in and out");
    const wires = run.stations.edges.filter((edge) => edge.includes(s)).map(([a, b]) => (a === s ? b : a));
    const body = el(
      "div",
      {},
      run.stationName(s) ? row("Number", run.stationLabel(s)) : null,
      size.node,
      arrived.node,
      wires.length
        ? row("Wired to", el("span", { class: "mn-chips" }, ...wires.slice(0, 20).map((other) => stationLink(other))))
        : null,
      buffers.empty ? null : heading("Buffers"),
      buffers.empty ? null : buffers.canvas,
      heading("Hosts"),
      served,
      heading("Latest handoffs"),
      list,
    );
    const inside = app.live ? Mobilenet.liveCard(app, "station", s) : null;
    if (inside) {
      arrived.node.after(inside.top);
      body.append(inside.body);
    }
    let before = null,
      latest = -1;
    const fill = some(
      served,
      60,
      (h) => h,
      (h) => (h < 0 ? note("none") : hostLink(h)),
    );
    const update = (t) => {
      renew();
      const now = run.served(s, t),
        key = now.join();
      if (key !== before) {
        before = key;
        fill(now.length ? now : [-1]);
      }
      size.set(counted(now.length, "host"));
      const past = through.filter((i) => run.handoffs.start[i] <= t && run.handoffs.from[i] !== run.handoffs.to[i]);
      arrived.set(
        past.filter((i) => run.handoffs.to[i] === s).length +
          " and " +
          past.filter((i) => run.handoffs.from[i] === s).length,
      );
      if (past.length !== latest) {
        latest = past.length;
        app.parts.keep(
          list,
          past.length ? past.slice(-6).reverse() : [-1],
          (i) => i,
          (i) => (i < 0 ? note("none yet") : handoffLine(i)),
        );
      }
      if (!buffers.empty) buffers.update(t);
      if (inside) inside.update();
    };
    return { title: "Station " + run.stationCalled(s), body, update, actions: inside ? inside.actions : [] };
  };

  const outcome = (i) => {
    const hand = run.handoffs;
    if (!Number.isNaN(hand.end[i])) return "took " + duration(hand.end[i] - hand.start[i]);
    return hand.next[i] >= 0 ? "superseded" : "not confirmed";
  };
  const handoffMark = (i) => app.marks.ofHandoff.get(i);
  const openHandoff = (i) => {
    const mark = handoffMark(i);
    app.select({ kind: "handoff", id: i, mark: mark ? mark.id : -1 });
  };
  const handoffLine = (i) => {
    const hand = run.handoffs,
      mark = handoffMark(i);
    const line = link("", () => {
      openHandoff(i);
      clock.seek(hand.start[i]);
    });
    const words = el(
      "span",
      { class: "mn-name" },
      (hand.from[i] === hand.to[i] ? "again " : run.stationCalled(hand.from[i]) + " → ") +
        run.stationCalled(hand.to[i]),
    );
    line.append(
      el("span", { class: "mn-when" }, app.clockText(hand.start[i], true)),
      app.parts.symbol((g, x, y) => mark && app.marks.paint(g, mark, x, y, 5)),
      el("span", { class: "mn-name mn-who" }, run.hostCalled(hand.host[i])),
      words,
      el("span", { class: "mn-right" }, outcome(i).replace("took ", "")),
    );
    line.title =
      run.hostInFull(hand.host[i]) +
      ": " +
      run.stationInFull(hand.from[i]) +
      " → " +
      run.stationInFull(hand.to[i]) +
      ", " +
      outcome(i);
    line.classList.add("mn-event");
    return line;
  };
  const eventLine = (i) => {
    const kind = run.events.kinds[run.events.kind[i]],
      t = run.events.time[i],
      line = link("", () => {
        openEvent(i);
        clock.seek(t);
      });
    line.append(
      el("span", { class: "mn-when" }, app.clockText(t, true)),
      app.parts.symbol((g, x, y) => Mobilenet.mark(g, kind, x, y, 5)),
      el("span", { class: "mn-name" }, run.hostCalled(run.events.host[i])),
      el("span", {}, Mobilenet.WORDS[kind] || kind),
    );
    line.classList.add("mn-event");
    return line;
  };
  const openEvent = (i) => {
    const mark = app.marks.ofEvent.get(i);
    app.select({ kind: "event", id: i, mark: mark ? mark.id : -1 });
  };
  const markLine = (item) => (item.handoff !== undefined ? handoffLine(item.handoff) : eventLine(item.event));

  const watch = (i) => {
    // slowly, from a little before
    const h = run.handoffs.host[i];
    clock.at(0.1);
    app.follow(true, h);
    app.closer(h, run.handoffs.start[i]);
    clock.seek(run.handoffs.start[i] - 0.3);
    clock.play();
  };
  const handoff = (i) => {
    const hand = run.handoffs,
      h = hand.host[i],
      cause = hand.causes[hand.cause[i]],
      done = !Number.isNaN(hand.end[i]);
    const a = hand.last_before[i],
      b = hand.first_after[i],
      interrupted = done && !Number.isNaN(a) && !Number.isNaN(b);
    const span = () => {
      const from = Math.max(interrupted ? a - 0.3 : 0, hand.start[i] - 3),
        to = Math.max(interrupted ? b : 0, done ? hand.end[i] : hand.start[i]);
      return [from - 0.2, Math.min(to, hand.start[i] + 20) + 0.8];
    };
    const ticks = app.charts.deliveries(h, span, interrupted ? [a, b] : null),
      step = el("p", { class: "mn-now" });
    const body = el(
      "div",
      {},
      step,
      row("Host", hostLink(h, true)),
      row("From", stationLink(hand.from[i], true)),
      row("To", stationLink(hand.to[i], true)),
      row("Session", hand.session[i] >= 0 ? hand.session[i] : "–"),
      cause === "cell"
        ? null
        : row("Cause", { recovery: "back after a crash", reinit: "started again" }[cause] || cause || "not said"),
      row("Begins", app.clockText(hand.start[i], true, 3)),
      row("Duration", done ? duration(hand.end[i] - hand.start[i]) : outcome(i)),
      row("Interruption", interrupted ? duration(b - a) : "–"),
      row("Messages recovered", done && hand.recovered[i] >= 0 ? hand.recovered[i] : "–"),
      row("Messages skipped", done && hand.skipped[i] >= 0 ? hand.skipped[i] : "–"),
      hand.next[i] >= 0 && !done
        ? row(
            "Superseded by",
            link("session " + hand.session[hand.next[i]], () => openHandoff(hand.next[i])),
          )
        : null,
      heading("Deliveries at " + run.hostCalled(h)),
      ticks.canvas,
      sampled(),
      note(
        "The band is the handoff, a line is a delivery, the brown bar the interruption: from the " +
          "last delivery before to the first one after. Recovered messages were sent again by the new " +
          "station; skipped ones the host had already.",
      ),
    );
    const actions = [action("Watch it slowly", () => watch(i)), action("Next handoff", () => app.jump(1, "handoff"))];
    const update = (t) => {
      const from = run.stationCalled(hand.from[i]),
        to = run.stationCalled(hand.to[i]);
      step.textContent =
        t < hand.start[i]
          ? "Not yet: served by " + from + ", " + duration(hand.start[i] - t) + " to go."
          : done && t >= hand.end[i]
            ? "Done: served by " + to + "."
            : done
              ? "Now: opens a session with " + to + ", and learns what it has missed."
              : outcome(i) + ".";
      ticks.update(t);
    };
    return { title: (cause === "cell" ? "Handoff of " : "New session of ") + run.hostCalled(h), body, update, actions };
  };

  const SAY = {
    crash: "The host fails: it hears and says nothing until it is back. What it kept in stable storage is not lost.",
    recover: "The host is back, and opens a new session with its station.",
    out_of_coverage: "No station is in range. Messages wait for the host.",
    in_coverage: "A station is in range again; the host will open a session with it.",
    gap:
      "What waited for the host is lost to it: its station had given it up, or their connection broke. " +
      "It goes on as a member, and misses what was broadcast meanwhile.",
    expire: "A station gives the host up after a long silence, and forgets what waited for it.",
    refused: "The application wanted to broadcast and the host could not take it (down, no member, or a full buffer).",
  };
  const event = (i) => {
    const kind = run.events.kinds[run.events.kind[i]],
      h = run.events.host[i],
      t = run.events.time[i],
      s = run.events.station[i];
    const state = live("The host, now");
    const answer = { crash: "recover", out_of_coverage: "in_coverage" }[kind];
    const later = answer && run.eventsOf(h).find((j) => j > i && run.events.kinds[run.events.kind[j]] === answer);
    const body = el(
      "div",
      {},
      row("Host", hostLink(h, true)),
      row("When", app.clockText(t, true, 3)),
      s >= 0 ? row("Station", stationLink(s, true)) : null,
      answer ? row("Lasted", later === undefined ? "to the end" : duration(run.events.time[later] - t)) : null,
      state.node,
      SAY[kind] ? note(SAY[kind]) : null,
    );
    const name = Mobilenet.WORDS[kind] || kind;
    return {
      title: run.hostCalled(h) + ": " + name,
      body,
      update: (now) => state.set(run.sayState(h, now)),
      actions:
        later === undefined
          ? []
          : [
              action("Go to its end", () => {
                openEvent(later);
                clock.seek(run.events.time[later]);
              }),
            ],
    };
  };
  return { host, station, handoff, event, hostLink, stationLink, live, some, markLine, openHandoff, openEvent, sample };
};
