// The space-time diagram of the followed host's last seconds: a line for it and for each station that it hears of.
Mobilenet.liveSpace = (app) => {
  const { run, live } = app,
    { el } = app.parts,
    { INK, line, text } = Mobilenet,
    SPANS_S = [3, 1, 0.3, 0.1],
    LINE = 30,
    LEFT = 64,
    LEGEND = "blue messages, grey acknowledgements, brown control, violet wire, red lost, ▮ delivered",
    UNKNOWN = "frames are kept for 10 s, from the moment the host was selected",
    box = el("aside.mn-space", { hidden: "", "aria-label": "Space-time diagram of the selected host" }),
    words = el("span"),
    fold = el("button.mn-fold-space", { "aria-label": "Show or hide the diagram" }, "▾"),
    title = el("div.mn-space-title", fold, words);
  box.append(title);
  const c = Mobilenet.canvas(box, "mn-chart"),
    { g } = c;
  const narrow = window.matchMedia("(max-width: 900px)");
  let span = 0, // which of SPANS_S
    width = 0,
    height = 0,
    whose = -1,
    most = 0, // lines, since it was chosen: a diagram that shrank again and again would move the map
    covered = 0,
    drawnAt = 0;
  const refit = () => {
    if (covered === app.coversBelow()) return;
    covered = app.coversBelow();
    setTimeout(app.refit);
  };
  box.title = "Click to change the time span";
  fold.addEventListener("click", (event) => {
    event.stopPropagation();
    const isFolded = box.classList.toggle("mn-folded-space");
    fold.textContent = isFolded ? "▴" : "▾";
    app.refit();
    app.redraw();
  });
  box.addEventListener("click", () => {
    span = (span + 1) % SPANS_S.length;
    app.redraw();
  });
  const labelOf = (node) => {
    const i = Number(node.slice(1)),
      words = node[0] === "s" ? run.stationLabel(i) : run.hostLabel(i);
    return words.length > 9 ? words.slice(0, 8) + "…" : words;
  };
  const COLOURS = { App: "#0072B2", Ack: "#9aa3aa" };
  const colourOf = (arrow) =>
    arrow.outcome !== "received"
      ? "#c0392b"
      : arrow.sender[0] === "s" && arrow.receiver[0] === "s"
        ? "#7a4b9e"
        : arrow.message || arrow.kind === "packet"
          ? COLOURS.App
          : /^ack|_ack$/i.test(arrow.kind)
            ? COLOURS.Ack
            : "#b24c0e";
  const head = (x, y, dx, dy) => {
    const long = Math.hypot(dx, dy) || 1,
      ux = (dx / long) * 5,
      uy = (dy / long) * 5;
    g.beginPath();
    g.moveTo(x, y);
    g.lineTo(x - ux - uy * 0.5, y - uy + ux * 0.5);
    g.lineTo(x - ux + uy * 0.5, y - uy - ux * 0.5);
    g.fill();
  };
  const draw = (stamp) => {
    const chosen = app.isSelected("host") ? app.selected.id : -1;
    box.hidden = chosen < 0;
    app.coversBelow = () => (box.hidden || narrow.matches ? 0 : box.offsetHeight + 20);
    const card = narrow.matches && document.querySelector(".mn-content"), // where there is little room, in the card
      first = card && [...card.querySelectorAll("h3")].find((head) => !head.hidden && !box.contains(head));
    if (!narrow.matches) {
      if (box.parentNode !== document.body) document.body.append(box);
    } else if (!card.contains(box)) first ? first.before(box) : card.append(box); // before its first chart
    if (chosen < 0) refit();
    if (chosen < 0 || (app.clock.playing && stamp - drawnAt < 40)) return;
    drawnAt = stamp;
    const SPAN_S = SPANS_S[span],
      t = app.clock.t,
      from = Math.max(0, t - SPAN_S),
      name = "h" + run.hosts.number[chosen],
      lines = [name],
      seen = live.arrows.filter((arrow) => arrow.sent_ns / 1e9 >= from && arrow.sent_ns / 1e9 <= t);
    const states = run.states(chosen);
    for (let i = 0; i < states.times.length; i++)
      if (states.stations[i] >= 0 && (states.times[i + 1] ?? Infinity) >= from && states.times[i] <= t)
        if (!lines.includes("s" + states.stations[i])) lines.push("s" + states.stations[i]);
    for (const arrow of seen)
      for (const end of [arrow.sender, arrow.receiver])
        if (end[0] === "s" && !lines.includes(end) && lines.length < 6) lines.push(end);
    most = Math.max(whose === chosen ? most : 0, lines.length);
    whose = chosen;
    const wide = box.clientWidth - 20,
      high = LINE * most + 34;
    if (wide !== width || high !== height) {
      width = wide;
      height = high;
      c.fit(width, height);
    }
    refit();
    words.textContent = run.hostInFull(chosen) + ", the last " + SPAN_S + " s (click to change the span)";
    const x = (s) => LEFT + ((s - from) / SPAN_S) * (width - LEFT - 8),
      y = (node) => 20 + LINE * lines.indexOf(node);
    g.clearRect(0, 0, width, height);
    const known = live.arrowsFrom_s;
    if (known > from) {
      const wide = x(Math.min(t, known)) - LEFT;
      g.fillStyle = "rgba(34,48,60,.06)";
      g.fillRect(LEFT, 8, wide, LINE * lines.length + 4);
      g.font = "10px system-ui, sans-serif";
      if (g.measureText(UNKNOWN).width < wide - 8) text(g, UNKNOWN, LEFT + 4, LINE * lines.length + 6);
    }
    for (const node of lines) {
      const station = node[0] === "s" ? Number(node.slice(1)) : -1;
      line(g, LEFT, y(node), width - 8, y(node), station < 0 ? INK : app.colours[station], station < 0 ? 2 : 1.5);
      g.font = "600 11px system-ui, sans-serif";
      g.textAlign = "left";
      g.textBaseline = "middle";
      g.fillStyle = INK;
      g.fillText(labelOf(node), 2, y(node));
    }
    // down, and handoffs, as bands on the host's line
    states.times.forEach((begin, i) => {
      const end = states.times[i + 1] ?? run.now_s;
      if (end < from || begin > t) return;
      const f = states.flags[i];
      if (!(f & (Mobilenet.DOWN | Mobilenet.HANDING))) return;
      g.fillStyle = f & Mobilenet.DOWN ? "rgba(34,48,60,.8)" : "rgba(230,159,0,.45)";
      const left = x(Math.max(from, begin));
      g.fillRect(left, y(name) - 6, Math.max(2, x(Math.min(t, end)) - left), 12);
    });
    let free = 0;
    for (const arrow of seen) {
      if (!lines.includes(arrow.sender) || !lines.includes(arrow.receiver)) continue;
      const x0 = x(arrow.sent_ns / 1e9),
        arrives = arrow.arrives_ns < 0 ? arrow.sent_ns + 10e6 : arrow.arrives_ns,
        x1 = Math.max(x0 + 3, x(arrives / 1e9)),
        y0 = y(arrow.sender),
        y1 = y(arrow.receiver),
        colour = colourOf(arrow);
      line(g, x0, y0, x1, y1, colour, 1.2);
      g.fillStyle = colour;
      if (arrow.outcome === "received") head(x1, y1, x1 - x0, y1 - y0);
      else {
        g.beginPath();
        for (const side of [3, -3]) {
          g.moveTo(x1 - side, y1 - 7);
          g.lineTo(x1 + side, y1 - 1);
        }
        g.stroke();
      }
      if (!arrow.message && !/^ack|_ack$/i.test(arrow.kind) && x0 >= free) {
        const label = arrow.label || arrow.kind;
        g.font = "9px system-ui, sans-serif"; // in the middle of its line, as the names of nodes
        const wide = g.measureText(label).width;
        if (arrow.label) {
          g.fillStyle = "rgba(255,255,255,.85)";
          g.fillRect(x0 + 1, (y0 + y1) / 2 - 2, wide + 2, 12);
          g.fillStyle = colour;
        }
        g.fillText(label, x0 + 2, (y0 + y1) / 2 + 4);
        free = x0 + wide + 6;
      }
    }
    const own = run.deliveriesOf(chosen);
    g.fillStyle = INK;
    for (let i = own.time.length - 1; i >= 0 && own.time[i] >= from; i--)
      if (own.time[i] <= t) g.fillRect(x(own.time[i]) - 1.5, y(name) - 9, 3, 6);
    text(g, app.clockText(from, true, 2), LEFT, height - 4);
    const room = width - LEFT - 8 - g.measureText(LEGEND).width; // next to the times, or above them
    if (room > 0) text(g, LEGEND, (LEFT + width - 8) / 2, height - (room > 120 ? 4 : 17), "center");
    text(g, app.clockText(from + SPAN_S, true, 2), width - 8, height - 4, "right");
  };
  return { box, draw };
};

// A host that is dragged on the map is put where it is let go; and where a host is to be added, one clicks.
Mobilenet.liveDrag = (app) => {
  const { map, live, view, run } = app,
    host = map.getContainer();
  let dragged = -1,
    start = null,
    at = null;
  const place = (pixel) => view.metres(pixel).map((v) => Math.round(v * 100) / 100);
  const pixel = (event) => {
    const box = host.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  host.addEventListener(
    "pointerdown",
    (event) => {
      const [x, y] = pixel(event);
      live.wasPlaced = false;
      if (event.button !== 0 || event.target.closest("aside")) return;
      if (app.placing) {
        app.placing = false;
        live.wasPlaced = true; // the click that follows chooses nothing
        live.touch({ do: "add", to_m: place([x, y]) }).then(({ error }) => error || app.say("The host is added."));
        return;
      }
      dragged = app.field.hostNear(x, y, 10);
      start = [x, y];
      at = null;
      if (dragged >= 0) map.dragging.disable();
    },
    true,
  );
  window.addEventListener("pointermove", (event) => {
    if (dragged < 0) return;
    const [x, y] = pixel(event);
    if (at || Math.hypot(x - start[0], y - start[1]) > 6) {
      at = [x, y];
      app.redraw();
    }
  });
  window.addEventListener("pointerup", () => {
    if (dragged < 0) return;
    map.dragging.enable();
    if (at) {
      live.touch({ do: "drag", host: "h" + run.hosts.number[dragged], to_m: place(at) });
      live.wasDragged = performance.now();
    }
    dragged = -1;
    at = null;
    app.redraw();
  });
  const draw = (g) => {
    if (dragged < 0 || !at) return;
    const from = app.field.pixels(dragged);
    g.setLineDash([4, 4]);
    if (from) Mobilenet.line(g, ...from, ...at, Mobilenet.INK, 1.5);
    g.setLineDash([]);
    Mobilenet.ring(g, ...at, 9, Mobilenet.INK, 1.5);
  };
  return { draw };
};
