// TCP connections of real software on the card of a node: how each one is now, and its throughput over time.
Mobilenet.connections = (app) => {
  const { run } = app,
    { el, row, heading, note, duration, pluralize, keep, link } = app.parts,
    { QUIET, withAlpha, text, line } = Mobilenet,
    given = run.connections || { list: [], left_out: 0, bin_s: 1 },
    BLUE = "#0072B2",
    RED = "#c0392b",
    STALL = "#D55E00",
    MOST = 10,
    HIGH = 34;
  const bytes = (n) => {
    for (const [unit, size] of [["MB", 1e6], ["kB", 1e3]])
      if (n >= size) return (n / size).toFixed(n >= 10 * size ? 0 : 1) + " " + unit;
    return Math.round(n) + " B";
  };
  const percent = (share) => (100 * share).toFixed(share && share < 0.001 ? 2 : 1) + " %";
  const of = (node) => given.list.filter((one) => one.ends.some(([name]) => name === node));
  // From the view of one of its ends.
  const nameOf = (one, node) => {
    const [own, other] = one.ends[0][0] === node ? one.ends : [...one.ends].reverse();
    return "TCP " + own[1] + " ↔ " + other[0] + ":" + other[1];
  };
  const stallAt = (one, t) => one.stalls.find(([begin, end]) => begin <= t && t < end);
  const state = (one, t) => {
    if (t < one.begin_s) return "not yet open";
    if (t > one.end_s) return "over";
    const stall = stallAt(one, t);
    return stall ? "stalled for " + duration(t - stall[0]) : "open";
  };
  const rateAt = (one, t) => one.rates[Math.floor(t / given.bin_s) - one.first] || 0;

  const chart = (one) => {
    const c = app.charts.make(HIGH, "Throughput over time, with stalls and handoffs"),
      { width } = c,
      x = (s) => (s / run.end_s) * width,
      most = Math.max(1, ...one.rates);
    const draw = (t) => {
      const { g } = c;
      g.clearRect(0, 0, width, HIGH);
      g.fillStyle = "#f4f2ec";
      g.fillRect(0, 0, width, HIGH);
      g.fillStyle = withAlpha(STALL, 0.45);
      for (const [begin, end] of one.stalls) g.fillRect(x(begin), 0, Math.max(1, x(end) - x(begin)), HIGH);
      g.fillStyle = BLUE;
      const wide = Math.max(0.5, width / 200);
      one.rates.forEach((rate, i) => {
        const high = ((HIGH - 4) * rate) / most;
        g.fillRect(x((one.first + i) * given.bin_s), HIGH - high, wide, high);
      });
      for (const each of one.handoffs)
        line(g, x(each.at_s), 0, x(each.at_s), HIGH, each.survived ? Mobilenet.INK : RED, 1);
      if (t <= run.end_s) line(g, x(t), 0, x(t), HIGH, RED, 1.5);
      text(g, "▲ " + bytes(most) + "/s", 2, 9, "left", QUIET, "9px");
    };
    return { canvas: c.canvas, draw };
  };
  const times = (one, which) => {
    const known = one.handoffs.map((each) => each[which]).filter((each) => each !== null);
    return known.length ? known.reduce((a, b) => a + b) / known.length : null;
  };
  const summary = (one) => {
    const words = [bytes(one.carried) + " in all"].concat(one.again ? ["sent again " + percent(one.again)] : []),
      survived = one.handoffs.filter((each) => each.survived).length,
      before = times(one, "before_s"),
      after = times(one, "after_s");
    if (one.longest_s > 0.2) words.push("longest stall " + duration(one.longest_s));
    if (one.handoffs.length) words.push("survived " + survived + " of " + pluralize(one.handoffs.length, "handoff"));
    if (before !== null && after !== null)
      words.push(`round trip, on average over handoffs: ${duration(before)} before, ${duration(after)} after`);
    return words.join("; ") + ".";
  };
  const LEGEND = "Blue: throughput, both directions. Orange: stalls of 0.2 s or more. Black lines: handoffs that the "
    + "connection survived. Red line: now.";

  // The connections of a node, as a part of its card.
  const section = (node) => {
    const own = of(node),
      list = el("div"),
      box = el("div");
    if (!own.length) return { box, update: () => {} };
    box.append(heading("Connections"), list);
    const lines = new Map();
    let all = own.length <= MOST;
    const make = (one) => {
      const now = el("b"),
        drawn = chart(one);
      lines.set(one, { now, drawn });
      return el("div.mn-connection", row(nameOf(one, node), now), drawn.canvas, note(summary(one)));
    };
    const more = link("and " + (own.length - MOST) + " more", () => {
      all = true;
      app.redraw();
    });
    box.append(all ? "" : more, note(LEGEND));
    if (given.left_out) box.append(note(pluralize(given.left_out, "smaller connection") + " not shown."));
    let lastKey = "";
    const update = (t) => {
      if (lastKey !== String(all)) {
        lastKey = String(all);
        more.hidden = all;
        keep(list, all ? own : own.slice(0, MOST), make, null, (one) => own.indexOf(one));
      }
      for (const [one, { now, drawn }] of lines) {
        const words = state(one, t) === "open" ? "open, " + bytes(rateAt(one, t)) + "/s" : state(one, t);
        if (now.textContent !== words) now.textContent = words;
        drawn.draw(t);
      }
    };
    return { box, update };
  };

  // On the map: a ring around each host with a connection that is stalled.
  const draw = (g, t) => {
    if (!app.layers.stalls) return;
    const stalled = new Set();
    for (const one of given.list)
      if (one.begin_s <= t && t <= one.end_s && stallAt(one, t))
        for (const [name] of one.ends) if (name[0] === "h") stalled.add(Number(name.slice(1)));
    for (const h of stalled) {
      const at = run.hosts.number[h] === h ? app.field.pixels(h) : null;
      if (at) sign(g, at[0], at[1], 12);
    }
  };
  const sign = (g, x, y, radius) => Mobilenet.ring(g, x, y, radius, STALL, 2.5);
  return { section, draw, sign, any: given.list.length > 0 };
};
