// Small charts on canvases: steps over time, sessions, deliveries, delays.
Mobilenet.charts = (app) => {
  const { run } = app,
    { INK, QUIET, withAlpha, upTo, line, text } = Mobilenet;
  const make = (height, label, width = 296) => {
    const made = Mobilenet.canvas(document.createElement("div"), "mn-chart");
    made.canvas.setAttribute("role", "img");
    made.canvas.setAttribute("aria-label", label);
    made.fit(width, height);
    return { ...made, width, height };
  };
  const now = (g, t, height, width, top = 0) => {
    const x = (t / app.span()) * width;
    line(g, x, top, x, height, INK, 1);
  };
  const ends = (g, y, width) => {
    text(g, "0 s", 0, y);
    text(g, app.clockText(app.span()), width, y, "right");
  };
  const seekOnClick = ({ canvas, width }) =>
    canvas.addEventListener("click", (event) => app.clock.seek((event.offsetX / width) * app.span()));

  const short = (g, words, most) => {
    g.font = "10px system-ui, sans-serif";
    let label = words;
    while (label.length > 1 && g.measureText(label).width > most)
      label = label.slice(0, label.endsWith("…") ? -2 : -1) + "…";
    return label;
  };
  const label = (g, names, x, room, colour) => {
    // the name where it fits, else the number, else nothing
    g.font = "10px system-ui, sans-serif";
    const words = names.find((name) => g.measureText(name).width <= room);
    if (words) text(g, words, x, 16, "left", colour);
  };

  // Buffers over the whole run; a click goes to that moment.
  const buffers = (kind, i, colour) => {
    const c = make(92, "Messages in the buffers over time"),
      series = run.buffers[kind],
      { g, width, height } = c,
      base = height - 14;
    const DASHES = [[], [3, 2], [1, 2], [6, 2]];
    const lines = series.series.map(({ name, sizes }, k) => [sizes, name === "RBuffer" || k ? INK : colour, name]);
    const TOP = 17;
    let most = 0,
      drawn = -1;
    seekOnClick(c);
    const still = document.createElement("canvas");
    still.width = c.canvas.width;
    still.height = c.canvas.height;
    const s = still.getContext("2d");
    s.setTransform(still.width / width, 0, 0, still.height / height, 0, 0);
    const draw = () => {
    s.clearRect(0, 0, width, height);
    const known = Math.min(series.bins, Math.ceil(run.now_s / series.bin_s) + 1);
    most = 0;
    for (const [sizes] of lines) for (let b = 0; b < known; b++) most = Math.max(most, sizes[i * series.bins + b]);
    const top = Math.max(4, most);
    for (const y of [TOP, base]) line(s, 0, y, width, y, "#e3e1da", 1);
    lines.forEach(([sizes, ink], k) => {
      s.beginPath();
      for (let b = 0; b < known; b++)
        s.lineTo(
          (b * series.bin_s * width) / app.span(),
          base - ((base - TOP) * sizes[i * series.bins + b]) / top,
        );
      s.setLineDash(DASHES[k % DASHES.length]);
      Mobilenet.stroke(s, ink, 1.3);
      s.setLineDash([]);
    });
    ends(s, height - 3, width);
    };
    const update = (t) => {
      if (!lines.length) return;
      if (drawn < 0 || run.now_s - drawn > app.span() / 300) {
        drawn = run.now_s;
        draw();
      }
      g.clearRect(0, 0, width, height);
      g.drawImage(still, 0, 0, width, height);
      now(g, t, base, width, TOP);
      let x = 0; // the legend is the reading: the look of each line, its name, its value now
      lines.forEach(([, ink, words], k) => {
        g.setLineDash(DASHES[k % DASHES.length]);
        line(g, x, 6, x + 16, 6, ink, 1.6);
        g.setLineDash([]);
        const reading = words + " " + run.valueAt(kind, words, i, t);
        text(g, reading, x + 20, 9, "left", INK);
        x += 34 + g.measureText(reading).width;
      });
      text(g, most ? "maximum " + most : "nothing in the whole run", width, 9, "right");
    };
    return { nodes: lines.length ? [app.parts.heading("Buffers"), c.canvas] : [], update };
  };

  // Which station served a host when; without a cell grey, down black.
  const sessions = (h) => {
    const c = make(34, "Sessions over time, coloured by station"),
      { g, width } = c,
      states = run.states(h),
      { DOWN, COVERED, MEMBER } = Mobilenet;
    seekOnClick(c);
    const update = (t) => {
      g.clearRect(0, 0, width, c.height);
      states.times.forEach((from, i) => {
        const to = states.times[i + 1] ?? run.now_s,
          f = states.flags[i],
          s = states.stations[i],
          isServed = s >= 0 && !(f & DOWN) && f & COVERED,
          alpha = f & MEMBER ? 0.85 : 0.3;
        g.fillStyle = isServed ? withAlpha(app.colours[s], alpha) : f & DOWN ? INK : "#dcdad3";
        const x = (from / app.span()) * width,
          w = Math.max(0.5, ((to - from) / app.span()) * width);
        g.fillRect(x, 4, w, 16);
        if (isServed) {
          const names = [run.stationLabel(s), run.stationLabel(s)];
          label(g, names, x + 4, w - 6, Mobilenet.readable(app.colours[s], alpha));
        }
      });
      now(g, t, 24, width);
      ends(g, 33, width);
    };
    return { canvas: c.canvas, update };
  };

  // One tick per delivery at a host, with its handoffs as bands: an interruption is where ticks are missing.
  const deliveries = (h, span, bracket) => {
    const c = make(58, "Deliveries at this host around this moment, one line each"),
      { g, width } = c,
      own = run.deliveriesOf(h);
    const update = (t) => {
      const [from, to] = span ? span() : [Math.max(0, t - 4), Math.max(0, t - 4) + 6],
        at = (when) => ((when - from) / (to - from)) * width;
      g.clearRect(0, 0, width, c.height);
      g.fillStyle = "#f4f2ec";
      g.fillRect(0, 18, width, 26);
      let free = 0,
        any = false; // labels are above the bands, side by side, and whole
      for (const i of run.handoffsOf(h)) {
        const a = run.handoffs.start[i],
          b = Number.isNaN(run.handoffs.end[i]) ? a : run.handoffs.end[i];
        if (b < from || a > to) continue;
        const colour = run.handoffs.to[i] >= 0 ? app.colours[run.handoffs.to[i]] : QUIET;
        g.fillStyle = withAlpha(colour, 0.45);
        g.fillRect(at(a), 14, Math.max(2, at(b) - at(a)), 30);
        const words = short(g, run.stationLabel(run.handoffs.to[i]), 120),
          wide = g.measureText(words).width,
          x = Math.max(0, Math.min(at(a), width - wide));
        if (x >= free) {
          text(g, words, x, 10, "left", INK);
          free = x + wide + 5;
        }
      }
      for (let i = upTo(own.time, from); i < own.time.length && own.time[i] <= to; i++) {
        const past = own.time[i] <= t,
          x = at(own.time[i]);
        line(g, x, 20, x, 42, past ? INK : withAlpha(INK, 0.22), 1);
        any = true;
      }
      if (bracket) {
        line(g, at(bracket[0]), 46, at(bracket[1]), 46, "#b24c0e", 2);
        for (const end of bracket) line(g, at(end), 43, at(end), 49);
      }
      if (t >= from && t <= to) line(g, at(t), 14, at(t), 46, "#c0392b", 1.5);
      if (!any)
        text(
          g,
          own.time.length && own.time[0] > t ? "nothing yet" : "no deliveries in this period",
          width / 2,
          35,
          "center",
        );
      text(g, app.clockText(from, true), 0, 57);
      text(g, app.clockText(to, true), width, 57, "right");
    };
    return { canvas: c.canvas, update };
  };

  // How many hosts have a message, over the time since its broadcast (the axis is logarithmic: from a millisecond on).
  const spread = (m) => {
    const c = make(80, "Hosts that have the message, over the time since its broadcast"),
      { g, width } = c,
      base = 64,
      msg = run.messages;
    let delays = [],
      longest = 1;
    const scale = (s) => (Math.log10(Math.max(s, 0.001) / 0.001) / Math.log10(longest / 0.001)) * width;
    const update = (t) => {
      if (delays.length !== msg.deliveredAt(m).size) {
        delays = Array.from(msg.delays(m)).sort((a, b) => a - b); // of a run that goes on there are more and more
        longest = Math.max(1, delays.at(-1) ?? 1);
      }
      g.clearRect(0, 0, width, c.height);
      for (const tick of [0.001, 0.01, 0.1, 1, 10, 100]) {
        if (tick > longest) break;
        line(g, scale(tick), 4, scale(tick), base, "#e3e1da", 1);
        text(g, tick < 1 ? tick * 1000 + " ms" : tick + " s", Math.min(scale(tick) + 2, width - 24), 76);
      }
      g.beginPath();
      g.moveTo(0, base);
      delays.forEach((d, i) => {
        g.lineTo(scale(d), base - ((base - 6) * i) / delays.length);
        g.lineTo(scale(d), base - ((base - 6) * (i + 1)) / delays.length);
      });
      Mobilenet.stroke(g, INK, 1.6);
      if (t > msg.time[m]) {
        const x = Math.min(width - 1, scale(t - msg.time[m]));
        line(g, x, 2, x, base, "#c0392b");
      }
    };
    return { canvas: c.canvas, update };
  };

  // The share of receptions lost in the whole network, second by second.
  const losses = () => {
    const c = make(66, "Share of receptions lost, over time", 200),
      { g, width } = c,
      base = 52;
    let top = 0.05;
    for (const v of run.losses.share) top = Math.max(top, v);
    const update = (t) => {
      g.clearRect(0, 0, width, c.height);
      g.beginPath();
      run.losses.time.forEach((when, i) =>
        g.lineTo((when / app.span()) * width, base - ((base - 18) * run.losses.share[i]) / top),
      );
      Mobilenet.stroke(g, "#b24c0e", 1.3);
      g.save();
      g.beginPath();
      g.rect(0, 13, width, base);
      g.clip();
      now(g, t, base, width);
      g.restore();
      text(g, "maximum " + (100 * top).toFixed(1) + " %", 0, 9);
      ends(g, 64, width);
    };
    return { canvas: c.canvas, update, empty: !run.losses.time.length };
  };
  return { make, buffers, sessions, deliveries, spread, losses };
};
