// Marks of events at their places.
Mobilenet.LAYER_OF = {
  handoff: "handoffs",
  recovery: "handoffs",
  crash: "crashes",
  recover: "crashes",
  out_of_coverage: "coverage",
  in_coverage: "coverage",
  gap: "gaps",
  expire: "gaps",
};
Mobilenet.WORDS = {
  handoff: "handoff",
  recovery: "new session",
  crash: "crash",
  recover: "recovery",
  out_of_coverage: "loses coverage",
  in_coverage: "back in coverage",
  gap: "gap",
  expire: "given up by its station",
  join: "joins",
  leave: "leaves",
  refused: "broadcast refused",
};
Mobilenet.marks = (app) => {
  const { run, view } = app,
    { upTo, LAYER_OF, INK, withAlpha, text } = Mobilenet,
    MOST = 3000,
    sprite = Mobilenet.sprites();
  const items = [],
    times = [],
    ofHandoff = new Map(),
    ofEvent = new Map();
  const seen = new Set(); // the first coverage of a host is not marked
  const ofEventNumber = (i) => {
    const kind = run.eventKind(i),
      host = run.events.host[i];
    if (kind === "in_coverage" && !seen.has(host)) {
      seen.add(host);
      return null;
    }
    return LAYER_OF[kind] && host >= 0 ? { t: run.events.time[i], kind, host, event: i } : null;
  };
  const ofHandoffNumber = (i) =>
    run.handoffs.host[i] >= 0
      ? {
          t: run.handoffs.start[i],
          kind: run.causeOf(i) === "cell" ? "handoff" : "recovery",
          host: run.handoffs.host[i],
          handoff: i,
        }
      : null;
  // In order of time.
  const take = (item) => {
    if (!item) return;
    const place = run.lastPlace(item.host, item.t);
    item.x = place ? place.x : NaN;
    item.y = place ? place.y : NaN;
    item.id = items.length;
    items.push(item);
    times.push(item.t);
    if (item.handoff === undefined) ofEvent.set(item.event, item);
    else ofHandoff.set(item.handoff, item);
  };
  const first = [];
  for (let i = 0; i < run.events.time.length; i++) first.push(ofEventNumber(i));
  for (let i = 0; i < run.handoffs.count; i++) first.push(ofHandoffNumber(i));
  for (const item of first.filter(Boolean).sort((a, b) => a.t - b.t)) take(item);
  const takeEvent = (i) => take(ofEventNumber(i)),
    takeHandoff = (i) => take(ofHandoffNumber(i));
  // Marks stay for half a minute; for less where there would be hundreds.
  const KEEP_S = run.live ? 15 : Math.max(2, Math.min(30, (250 * run.end_s) / Math.max(1, items.length)));
  const isVisible = (item) => app.layers[LAYER_OF[item.kind]];
  const each = (t, visit) => {
    for (let i = upTo(times, t) - 1, drawn = 0; i >= 0 && drawn < MOST; i--) {
      if (!app.layers.keep && times[i] < t - KEEP_S) break;
      if (!isVisible(items[i]) || Number.isNaN(items[i].x)) continue;
      drawn++;
      visit(items[i], Math.max(0, 1 - (t - items[i].t) / KEEP_S));
    }
  };
  const colour = (s) => (s >= 0 ? app.colours[s] : "#fff");
  const colours = ({ handoff }) =>
    handoff === undefined ? [] : [colour(run.handoffs.from[handoff]), colour(run.handoffs.to[handoff])];
  const paint = (g, item, x, y, r) => Mobilenet.mark(g, item.kind, x, y, r, ...colours(item));
  const draw = (g, t) => {
    const small = Math.max(0.5, Math.min(1, (run.range_m * view.scaleAt(0)) / 60));
    each(t, (item, fresh) => {
      const p = view.point(item.x, item.y);
      g.globalAlpha = 0.3 + 0.7 * fresh;
      const r = small * (5 + Math.round(3 * fresh) / 2),
        key = item.kind + r + colours(item).join("");
      if (p.x > -20 && p.y > -20 && p.x < app.size.width + 20 && p.y < app.size.height + 20)
        sprite(g, key, p.x, p.y, 2 * Math.ceil(1.3 * r + 1), (own, x, y) => paint(own, item, x, y, r));
      if (app.selected && app.selected.mark === item.id) {
        g.globalAlpha = 1;
        Mobilenet.ring(g, p.x, p.y, 12, INK, 2);
      }
    });
    g.globalAlpha = 1;
  };
  const near = (x, y, t) => {
    let best = null,
      nearest = 100;
    each(t, (item) => {
      const p = view.point(item.x, item.y),
        d = (p.x - x) ** 2 + (p.y - y) ** 2;
      if (d < nearest) {
        nearest = d;
        best = item;
      }
    });
    return best;
  };
  const next = (t, step, of) => {
    // the next or previous event of the layers that are shown
    let i = step > 0 ? upTo(times, t + 1e-6) : upTo(times, t - 1e-6) - 1;
    while (items[i] && !(isVisible(items[i]) && (!of || items[i].kind === of))) i += step;
    return items[i];
  };
  return {
    items,
    times,
    ofHandoff,
    ofEvent,
    keepS: KEEP_S,
    takeEvent,
    takeHandoff,
    draw,
    near,
    paint,
    next,
    isVisible,
  };
};
