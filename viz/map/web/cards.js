// Cards of a host and a station.
Mobilenet.cards = (app) => {
  const { run } = app,
    { el, row, link, action, heading, note, pluralize, duration, minus } = app.parts;
  const hostLink = (h, full) => {
    const b = link(
      full ? run.hostInFull(h) : run.hostLabel(h),
      () => app.select({ kind: "host", id: h }),
      run.hostName(h) ? run.hostInFull(h) : "Show this host",
    );
    b.classList.add("mn-name");
    return b;
  };
  const stationLink = (s, full) => {
    if (s < 0) return el("b", "none");
    const b = link(
        full ? run.stationInFull(s) : run.stationLabel(s),
        () => app.select({ kind: "station", id: s }),
        run.stationName(s) ? run.stationInFull(s) : "Show this station",
      ),
      dot = el("i.mn-dot");
    dot.style.background = app.colours[s];
    return el("span", dot, b);
  };
  const live = (name) => {
    const b = el("b");
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
  const sampleNote = () =>
    run.messages.every > 1
      ? note("The messages are a sample (" + sample() + "), so gaps between ticks need not be interruptions.")
      : null;
  const sample = () => run.messages.count + " of " + run.messages.total;

  // Items of a long list, as lines or links; its last line opens the rest.
  const some = (box, most, make, none, keyOf = (item) => item) => {
    let all = false,
      last = [];
    const fill = (items) => {
      const rest = all ? 0 : items.length - most;
      last = items;
      app.parts.keep(
        box,
        rest > 0 ? [...items.slice(0, most), { rest }] : items,
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
        none,
        (item) => (item.rest ? "rest " + item.rest : keyOf(item)),
      );
    };
    return fill;
  };

  // What the card of a live run has in addition, below this row and at its end.
  const insideOf = (kind, id, body, above) => {
    if (!app.live) return { actions: [], update: () => {} };
    const inside = Mobilenet.liveCard(app, kind, id);
    above.after(inside.top);
    body.append(inside.body);
    return inside;
  };

  const events = Mobilenet.eventCards(app, { hostLink, stationLink, live, isSample, sampleNote });

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
      list = el("div.mn-list"),
      slowHead = heading("Slowest deliveries"),
      slow = el("div.mn-list");
    const showSlow = (t) => {
      const end = Mobilenet.upTo(own.time, t),
        late = [];
      for (let k = 0; k < end; k++) {
        const m = own.message[k],
          delay = own.time[k] - run.messages.time[m];
        if (late.length < 3 || delay > late[2].delay) {
          late.push({ m, delay });
          late.sort((a, b) => b.delay - a.delay).splice(3);
        }
      }
      slowHead.hidden = !late.length;
      app.parts.keep(slow, late, slowLine, null, ({ m }) => m);
    };
    const slowLine = ({ m, delay }) =>
      el(
        "div.mn-row",
        app.parts.link(run.messages.label(m), () => app.select({ kind: "message", id: m })),
        el("b", "after " + duration(delay)),
        app.stories.isKnown(m, h) ? app.stories.link(m, h, "why so late?") : "",
      );
    const sessionsHead = heading(""),
      othersHead = heading("Other events"),
      othersList = el("div.mn-list"),
      fillSessions = some(list, 200, events.handoffLine, null, (i) => i + " " + Number.isNaN(run.handoffs.end[i])),
      fillOthers = some(othersList, 100, events.eventLine);
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
        .filter((i) => ["crash", "recover", "gap", "out_of_coverage", "expire"].includes(run.eventKind(i)));
      sessionsHead.textContent = pluralize(own.length, "session") + " after the first";
      othersHead.hidden = !others.length;
      fillSessions(own);
      fillOthers(others);
    };
    renew();
    const body = el(
      "div",
      run.hostName(h) ? row("In the file", run.hostName(h)) : null,
      state.node,
      counter.node,
      best && best.node,
      link && link.node,
      strength && strength.node,
      link && radio.links.every_s
        ? note("Of several frames within " + duration(radio.links.every_s) + ", only the last one is shown.")
        : null,
      heading("Sessions"),
      sessions.canvas,
      ...buffers.nodes,
      heading("Deliveries around the current time"),
      ticks.canvas,
      sampleNote(),
      slowHead,
      slow,
      sessionsHead,
      list,
      othersHead,
      othersList,
    );
    const connections = app.connections.section("h" + run.hosts.number[h]);
    counter.node.after(connections.box);
    const inside = insideOf("host", h, body, counter.node);
    const follow = action("", () => app.follow(!app.following));
    const update = (t) => {
      renew();
      follow.textContent = app.following ? "Stop following" : "Follow";
      state.set(run.sayState(h, t));
      counter.set(Mobilenet.upTo(own.time, t) + (isSample(h) ? " (of those shown)" : ""));
      const place = run.place(h, t),
        here = best && place ? radio.bestAt(place.x, place.y) : undefined,
        frame = link ? radio.linkAt(h, t) : null;
      if (best)
        best.set(
          here
            ? run.stationLabel(here.station) + ", " + minus(here.dbm) + " dBm"
            : here === null
              ? "no station"
              : place
                ? "not computed here"
                : "–",
        );
      if (link) {
        link.set(frame ? "from " + frame.from + ", " + duration(frame.since) + " ago" : "none yet");
        strength.set(
          frame ? minus(frame.dbm.toFixed(1)) + " dBm, " + minus(frame.sinr.toFixed(1)) + " dB" : "–",
        );
      }
      sessions.update(t);
      ticks.update(t);
      showSlow(t);
      buffers.update(t);
      connections.update(t);
      inside.update();
    };
    return { title: "Host " + run.hostLabel(h), body, update, actions: [follow, ...inside.actions] };
  };

  const station = (s) => {
    const buffers = app.charts.buffers("stations", s, app.colours[s]),
      served = el("div.mn-chips"),
      size = live("Serves now"),
      list = el("div.mn-list");
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
      run.stationName(s) ? row("In the file", run.stationName(s)) : null,
      size.node,
      arrived.node,
      wires.length
        ? row("Wired to", el("span.mn-chips", ...wires.slice(0, 20).map((other) => stationLink(other))))
        : null,
      ...buffers.nodes,
      heading("Hosts"),
      served,
      heading("Latest handoffs"),
      list,
    );
    const connections = app.connections.section("s" + s);
    arrived.node.after(connections.box);
    const inside = insideOf("station", s, body, arrived.node);
    let before = null,
      latest = -1;
    const fill = some(served, 60, (h) => hostLink(h), "none");
    const update = (t) => {
      renew();
      const now = run.servedHosts(s, t),
        key = now.join();
      if (key !== before) {
        before = key;
        fill(now);
      }
      size.set(pluralize(now.length, "host"));
      const past = through.filter((i) => run.handoffs.start[i] <= t && run.handoffs.from[i] !== run.handoffs.to[i]);
      arrived.set(
        past.filter((i) => run.handoffs.to[i] === s).length +
          " and " +
          past.filter((i) => run.handoffs.from[i] === s).length,
      );
      if (past.length !== latest) {
        latest = past.length;
        app.parts.keep(list, past.slice(-6).reverse(), events.handoffLine, "none yet");
      }
      buffers.update(t);
      connections.update(t);
      inside.update();
    };
    return { title: "Station " + run.stationLabel(s), body, update, actions: inside.actions };
  };

  return { ...events, host, station, hostLink, stationLink, live, some, sample };
};
