// The card of a message: which hosts have it, and for those without it, what the events show. The events do not
// ask whether a message has arrived at a host, so no card gives a reason for a late one.
Mobilenet.messageCard = (app, m) => {
  const { run, clock } = app,
    msg = run.messages,
    isCausal = run.about.is_causal,
    { el, row, link, action, heading, note, pluralize, duration } = app.parts;
  const open = (p) => app.select({ kind: "message", id: p });
  const reached = app.cards.live("Delivered"),
    bar = el("i"),
    chart = app.charts.spread(m),
    have = el("div.mn-list"),
    story = el("div"),
    lack = el("div.mn-list");
  const predecessors = msg.predecessors(m),
    haveHead = heading("Deliveries, latest first"),
    lackHead = heading("Not yet");
  const before = el("div.mn-chips");
  app.cards.some(before, 40, (p) => link(msg.label(p), () => open(p)))(predecessors);
  const body = el(
    "div",
    row("Broadcast by", app.cards.hostLink(msg.host[m], true)),
    row("When", app.clockText(msg.time[m], true, 3)),
    reached.node,
    el("div.mn-bar-of", bar),
    chart.canvas,
    lackHead,
    lack,
    haveHead,
    have,
    story,
    app.stories.isPartial ? note("Only the slowest deliveries of the run have a “why?” on this page.") : null,
    isCausal ? heading("Must be delivered after") : null,
    predecessors.length
      ? before
      : note(!isCausal || msg.before_unknown[m] ? "" : "nothing: its sender had neither sent nor delivered anything"),
    isCausal && msg.before_unknown[m] < 0
      ? note("reload this page to see which messages it follows")
      : msg.before_unknown[m] > 0
        ? note(pluralize(msg.before_unknown[m], "message") + " outside the sample")
        : null,
    note(
      (isCausal
        ? "Causal order: a host may deliver this message only after those it follows. "
        : "This run does not promise causal order, so what a host waits for is not known. ") +
        "On the map a full ring marks hosts that have it, a dashed red ring marks those that do not, and the square " +
        "is its sender.",
    ),
  );
  const placeOf = (h, t) => {
    const s = run.stationAt(h, t);
    return s >= 0 ? "at " + run.stationLabel(s) : "no cell";
  };
  const why = ({ host, waits }, t) => {
    if (waits.length)
      return el(
        "span.mn-why",
        "lacks ",
        ...waits.slice(0, 3).flatMap((p, i) => [i ? ", " : "", link(msg.label(p), () => open(p))]),
        waits.length > 3 ? " and " + (waits.length - 3) + " more" : "",
        ", which it follows",
      );
    const f = run.flagsAt(host, t);
    if (f & Mobilenet.DOWN) return el("span", "is down");
    if (!(f & Mobilenet.COVERED)) return el("span", "out of coverage");
    if (f & Mobilenet.HANDING) return el("span", "in a handoff");
    return el("span.mn-why", "reason not known");
  };
  const lacking = app.cards.some(
    lack,
    12,
    (each) =>
      el(
        "div.mn-event.mn-waits",
        app.cards.hostLink(each.host),
        el("span.mn-note.mn-name", each.where),
        why(each, each.t),
      ),
    null,
    (each) => [each.host, each.where, each.waits, run.flagsAt(each.host, each.t)].join(" "),
  );
  let asked = app.stories.opened,
    drawn = "";
  app.stories.opened = -1;
  const ask = (h) => {
    asked = h;
    if (h >= 0) app.stories.ask(m, h);
    app.redraw();
  };
  if (asked >= 0) ask(asked);
  const showStory = () => {
    const key = app.stories.key(m, asked);
    if (key === drawn) return;
    drawn = key;
    story.replaceChildren(asked < 0 ? "" : app.stories.view(m, asked));
  };
  const update = (t) => {
    showStory();
    if (app.live && !app.live.learn(m)) {
      reached.set("…");
      return;
    }
    const now = run.progress(m, t),
      at = msg.deliveredAt(m),
      all = now.have.length + now.lack.length;
    reached.set(t < msg.time[m] ? "not broadcast yet" : now.have.length + " of " + all + " hosts");
    bar.style.width = (all ? (100 * now.have.length) / all : 0) + "%";
    lackHead.textContent = now.lack.length
      ? "Not yet: " + pluralize(now.lack.length, "host") + ", with what is known about each"
      : t < msg.time[m]
        ? "Not broadcast yet"
        : "Delivered to all";
    lacking(now.lack.map((each) => ({ ...each, t, where: placeOf(each.host, t) })));
    const latest = now.have.sort((a, b) => at.get(b) - at.get(a)).slice(0, 6);
    app.parts.keep(have, latest, (h) =>
        el(
          "div.mn-event",
          app.cards.hostLink(h),
          el("span.mn-note.mn-name", placeOf(h, at.get(h))),
          el(
            "span.mn-right",
            h === msg.host[m] && at.get(h) === msg.time[m]
              ? "its sender"
              : "after " + duration(at.get(h) - msg.time[m]),
          ),
          app.stories.isKnown(m, h) ? link("why?", () => ask(asked === h ? -1 : h), "What did it wait for?") : "",
        ),
    );
    haveHead.hidden = !latest.length;
    chart.update(t);
  };
  const when = () => {
    clock.seek(msg.time[m] - 0.02); // first: the speed of a live run stays
    clock.at(0.1);
    clock.play();
  };
  return { title: "Message " + msg.label(m), body, update, actions: [action("Watch it spread", when)] };
};

// One line of the list of recent messages.
Mobilenet.messageLine = (app, m) => {
  const msg = app.run.messages,
    { el, link } = app.parts,
    bar = el("i"),
    count = el("span.mn-right");
  const line = link(
    "",
    () => {
      app.select({ kind: "message", id: m });
      app.clock.pause();
    },
    "Where is this message?",
  );
  line.classList.add("mn-event");
  line.append(
    el("span.mn-when", app.clockText(msg.time[m], true)),
    " ",
    el("span", msg.label(m)),
    " ",
    el("span.mn-bar-of", bar),
    count,
  );
  const own = app.run.progress(m, Infinity),
    all = own.have.length + own.lack.length,
    times = Float64Array.from(msg.deliveredAt(m).values()).sort();
  const show = (have, of) => {
    bar.style.width = (100 * have) / Math.max(1, of) + "%";
    count.textContent = have + " of " + of;
  };
  const update = (t) => {
    if (!app.run.live) {
      show(Mobilenet.upTo(times, t), all);
      return;
    }
    if (!app.live.learn(m)) {
      count.textContent = "…";
      return;
    }
    const now = app.run.progress(m, t); // an end to look back from does not exist yet
    show(now.have.length, now.have.length + now.lack.length);
  };
  return { line, update };
};
