// The view (metres to pixels), two canvases over the map, and what moves: hosts, trails, links, broadcasts, the
// chosen message.
"use strict";
Mobilenet.view = (map, origin) => {
  const R = 6371000,
    view = { point: null, scaleAt: null },
    out = { x: 0, y: 0 };
  const latOf = (y) => origin.lat + (y * 180) / (Math.PI * R),
    perLon = origin ? 180 / (Math.PI * R * Math.cos((origin.lat * Math.PI) / 180)) : 0;
  view.latLng = (x, y) => (origin ? [latOf(y), origin.lon + x * perLon] : [y, x]);
  view.renew = () => {
    // Leaflet's own corner of the plane, without its rounding
    const zero = map.getPixelOrigin().subtract(map._getMapPanePos());
    if (!origin) {
      const s = map.options.crs.scale(map.getZoom());
      view.point = (x, y) => {
        out.x = x * s - zero.x;
        out.y = -y * s - zero.y;
        return out;
      };
      view.scaleAt = () => s;
    } else {
      const w = map.options.crs.scale(map.getZoom());
      view.point = (x, y) => {
        const sin = Math.sin((latOf(y) * Math.PI) / 180);
        out.x = w * ((origin.lon + x * perLon) / 360 + 0.5) - zero.x;
        out.y = w * (0.5 - Math.log((1 + sin) / (1 - sin)) / (4 * Math.PI)) - zero.y;
        return out;
      };
      view.scaleAt = (y) => w / (2 * Math.PI * R * Math.cos((latOf(y) * Math.PI) / 180));
    }
  };
  // Where on the plane a pixel is, in metres.
  view.metres = (pixel) => {
    const { lat, lng } = map.containerPointToLatLng(pixel);
    return origin ? [(lng - origin.lon) / perLon, ((lat - origin.lat) * Math.PI * R) / 180] : [lng, lat];
  };
  view.renew();
  return view;
};

Mobilenet.canvas = (parent, className) => {
  const canvas = document.createElement("canvas");
  canvas.className = className;
  parent.appendChild(canvas);
  const g = canvas.getContext("2d");
  const fit = (width, height) => {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
  };
  return { canvas, g, fit };
};

Mobilenet.field = (app) => {
  const { run, view } = app,
    { INK, ALONE, MEMBER, DOWN, HANDING, COVERED, withAlpha, upTo } = Mobilenet,
    st = run.stations;
  const n = run.count,
    px = new Float32Array(n),
    py = new Float32Array(n),
    here = new Uint8Array(n),
    colourOf = new Int16Array(n),
    state = new Uint8Array(n);
  const TRAIL_S = 25,
    sprite = Mobilenet.sprites();
  const locate = (t) => {
    for (let h = 0; h < n; h++) {
      const place = run.place(h, t);
      here[h] = place ? 1 : 0;
      if (!place) continue;
      const p = view.point(place.x, place.y);
      px[h] = p.x;
      py[h] = p.y;
      state[h] = run.flagsAt(h, t);
      colourOf[h] = run.stationAt(h, t);
    }
  };
  const trail = (g, h, t, seconds) => {
    const last = run.indexAt(h, t);
    if (last < 0 || !here[h]) return;
    g.moveTo(px[h], py[h]);
    for (let i = last; i >= 0; i = run.placeBefore(i)) {
      const when = run.moments[run.momentOf(h, i)];
      if (when < t - seconds || (i < last && run.moments[run.momentOf(h, i + 1)] - when > 3.5 * app.interval)) break;
      const p = view.point(run.xAt(h, i) / 100, run.yAt(h, i) / 100);
      g.lineTo(p.x, p.y);
    }
  };
  const trails = (g, t) => {
    g.lineWidth = 1.3;
    g.lineJoin = "round";
    const byColour = new Map();
    for (let h = 0; h < n; h++)
      if (here[h]) {
        const c = colourOf[h];
        if (!byColour.has(c)) byColour.set(c, []);
        byColour.get(c).push(h);
      }
    for (const [c, hosts] of byColour) {
      g.strokeStyle = withAlpha(c < 0 ? ALONE : app.colours[c], 0.32);
      g.beginPath();
      for (const h of hosts) trail(g, h, t, TRAIL_S);
      g.stroke();
    }
  };
  const line = (g, h, s) => {
    const p = view.point(st.x_m[s], st.y_m[s]);
    g.beginPath();
    g.moveTo(px[h], py[h]);
    g.lineTo(p.x, p.y);
    g.stroke();
  };
  const links = (g) => {
    g.lineWidth = 1;
    for (let h = 0; h < n; h++)
      if (here[h] && colourOf[h] >= 0 && state[h] & MEMBER && !(state[h] & DOWN)) {
        g.strokeStyle = withAlpha(app.colours[colourOf[h]], 0.3);
        line(g, h, colourOf[h]);
      }
  };
  // A handoff lasts a tenth of a second: it stays to be seen for about one second of the watcher's.
  const handovers = (g, t) => {
    const hand = run.handoffs,
      linger = app.linger();
    for (let i = upTo(hand.start, t) - 1, seen = 0; i >= 0 && seen < 400; i--, seen++) {
      if (hand.start[i] < t - linger - 10) break;
      const h = hand.host[i],
        open = !(hand.end[i] <= t),
        past = t - (Number.isNaN(hand.end[i]) ? hand.start[i] : hand.end[i]);
      if (h < 0 || !here[h] || past > linger || (open && hand.next[i] >= 0 && hand.start[hand.next[i]] <= t)) continue;
      const fade = open ? 1 : Math.max(0, 1 - past / linger),
        to = hand.to[i],
        from = hand.from[i];
      if (from >= 0 && from !== to) {
        g.lineWidth = 2;
        g.setLineDash([4, 4]);
        g.strokeStyle = withAlpha(app.colours[from], 0.9 * fade);
        line(g, h, from);
        g.setLineDash([]);
      }
      if (to >= 0) {
        g.lineWidth = open ? 2 : 3;
        g.strokeStyle = withAlpha(app.colours[to], 0.9 * fade);
        line(g, h, to);
      }
      g.lineWidth = 2;
      g.strokeStyle = withAlpha(to >= 0 ? app.colours[to] : INK, fade);
      g.beginPath();
      g.arc(px[h], py[h], open ? 11 : 11 + 9 * (1 - fade), 0, 7);
      g.stroke();
    }
  };
  const radius = () => (n <= 150 ? 5.5 : n <= 500 ? 4.5 : run.range_m * view.scaleAt(0) < 40 ? 2.4 : 3.4);
  const hosts = (g) => {
    const r = radius(),
      groups = new Map(),
      odd = [];
    for (let h = 0; h < n; h++) {
      if (!here[h]) continue;
      if (!(state[h] & COVERED) || state[h] & DOWN || !(state[h] & MEMBER)) {
        odd.push(h);
        continue;
      }
      const c = colourOf[h];
      if (!groups.has(c)) groups.set(c, []);
      groups.get(c).push(h);
    }
    for (const [c, own] of groups) {
      const colour = c < 0 ? ALONE : app.colours[c];
      const look = Mobilenet.lookOf(c);
      for (const h of own)
        sprite(g, colour + look + " " + r, px[h], py[h], 2 * Math.ceil(r + 1), (s, x, y) =>
          Mobilenet.dot(s, x, y, r, colour, look, n <= 500 ? 1.4 : 0.6),
        );
    }
    for (const h of odd) {
      const colour = colourOf[h] < 0 ? ALONE : app.colours[colourOf[h]];
      if (state[h] & DOWN) {
        Mobilenet.mark(g, "crash", px[h], py[h], r + 1);
        continue;
      }
      g.fillStyle = "#fff";
      g.strokeStyle = colour;
      g.lineWidth = 2;
      g.beginPath();
      g.arc(px[h], py[h], r - 0.8, 0, 7);
      g.fill();
      g.stroke();
    }
  };
  // Beside each host where there is room, on one side or another; where there is none, the tooltip says it.
  const widths = new Float32Array(n);
  const names = (g) => {
    const rows = new Map(),
      own = app.followed(),
      H = 13;
    const taken = (x, y, w) => {
      for (const r of [-1, 0, 1])
        for (const [a, b, c] of rows.get(Math.floor(y / H) + r) || [])
          if (x < b && a < x + w && Math.abs(y - c) < H) return true;
      return false;
    };
    const take = (x, y, w) => {
      const r = Math.floor(y / H);
      if (!rows.has(r)) rows.set(r, []);
      rows.get(r).push([x, x + w, y]);
    };
    if (run.range_m * view.scaleAt(0) >= 45)
      for (let s = 0; s < run.stationCount; s++) {
        const p = view.point(st.x_m[s], st.y_m[s]);
        for (const dy of [-13, 0, 13]) take(p.x - 12, p.y + dy, app.layers.buffers ? 96 : 24);
        if (run.stationName(s)) take(p.x - 30, p.y + 20, 60);
      }
    g.font = "11px system-ui, sans-serif";
    if (own >= 0 && here[own]) take(px[own] + 12, py[own] - 12, 8 + 1.15 * g.measureText(run.hostCalled(own)).width);
    for (let h = 0; h < n; h++) {
      if (!here[h] || h === own) continue;
      const words = run.hostCalled(h),
        w = widths[h] || (widths[h] = Math.min(160, g.measureText(words).width) + 2);
      for (const [x, y] of [
        [px[h] + 7, py[h] - 8],
        [px[h] + 7, py[h] + 8],
        [px[h] - 7 - w, py[h] - 8],
        [px[h] - 7 - w, py[h] + 8],
      ]) {
        if (taken(x, y, w)) continue;
        take(x, y, w);
        app.write(g, words, x, y, "left");
        break;
      }
    }
  };
  const labels = (g) => {
    // above the hosts, so that a crowd hides none
    if (run.range_m * view.scaleAt(0) < 30) return;
    for (let s = 0; s < run.stationCount; s++) {
      const p = view.point(st.x_m[s], st.y_m[s]),
        name = (app.layers.names || run.stationCount <= 30) && run.stationName(s);
      g.font = "600 10px system-ui, sans-serif";
      g.textAlign = "center";
      g.textBaseline = "middle";
      g.lineJoin = "round";
      g.lineWidth = 3;
      g.strokeStyle = "rgba(255,255,255,.9)";
      g.strokeText(run.stationLabel(s), p.x, p.y + 0.5);
      g.fillStyle = INK;
      g.fillText(run.stationLabel(s), p.x, p.y + 0.5);
      if (name) app.write(g, name, p.x, p.y + 20, "center");
    }
  };
  const pulses = (g, t) => {
    // who has just broadcast
    const msg = run.messages,
      span = Math.min(4, Math.max(0.15, 0.6 * app.rate()));
    g.lineWidth = 1.2;
    for (let m = upTo(msg.time, t) - 1, seen = 0; m >= 0 && seen < 500 && msg.time[m] > t - span; m--, seen++) {
      const h = msg.host[m];
      if (h < 0 || !here[h]) continue;
      const share = (t - msg.time[m]) / span;
      g.strokeStyle = withAlpha(INK, 0.5 * (1 - share));
      g.beginPath();
      g.arc(px[h], py[h], radius() + 14 * share, 0, 7);
      g.stroke();
    }
  };
  // What somebody has cut or switched off: a cross on the wire, a crossed ring around the station.
  const switched = (g, t) => {
    const off = new Map();
    for (const one of run.switches) {
      if (one.at_s > t) break;
      const key = one.station || [...one.link].sort().join();
      if (one.do === "cut" || one.do === "radio_off") off.set(key, one);
      else off.delete(key);
    }
    if (t >= run.duration_s) return; // then everything is mended
    g.strokeStyle = "#c0392b";
    g.lineWidth = 2.4;
    for (const one of off.values()) {
      const [a, b] = (one.link || [one.station, one.station]).map((name) => Number(name.slice(1)));
      if (a >= run.stationCount || b >= run.stationCount) continue;
      const from = { ...view.point(st.x_m[a], st.y_m[a]) },
        to = view.point(st.x_m[b], st.y_m[b]),
        x = (from.x + to.x) / 2,
        y = (from.y + to.y) / 2,
        r = one.station ? 15 : 8;
      g.beginPath();
      if (one.station) {
        g.arc(x, y, r, 0, 7);
        g.moveTo(x - 0.7 * r, y + 0.7 * r);
        g.lineTo(x + 0.7 * r, y - 0.7 * r);
      } else {
        if (!st.edges.length) {
          g.moveTo(from.x, from.y); // wires that are too many are not drawn, but this one
          g.lineTo(to.x, to.y);
        }
        g.moveTo(x - r, y - r);
        g.lineTo(x + r, y + r);
        g.moveTo(x + r, y - r);
        g.lineTo(x - r, y + r);
      }
      g.stroke();
    }
  };
  const message = (g, t) => {
    // full ring: has it; open broken ring: not yet
    const m = app.selected.id;
    if (app.live && !app.live.learn(m)) return;
    const { have, lack } = run.progress(m, t),
      sender = run.messages.host[m];
    g.lineWidth = 2.6;
    g.strokeStyle = INK;
    for (const h of have)
      if (here[h]) {
        g.beginPath();
        g.arc(px[h], py[h], radius() + 3, 0, 7);
        g.stroke();
      }
    g.lineWidth = 2;
    g.setLineDash([3, 3]);
    g.strokeStyle = "#c0392b";
    for (const { host } of lack)
      if (here[host]) {
        g.beginPath();
        g.arc(px[host], py[host], radius() + 5, 0, 7);
        g.stroke();
      }
    g.setLineDash([]);
    if (sender >= 0 && here[sender]) {
      g.lineWidth = 2;
      g.strokeStyle = INK;
      g.strokeRect(px[sender] - 10, py[sender] - 10, 20, 20);
    }
  };
  const chosen = (g, t) => {
    const sel = app.selected;
    const h = sel && (sel.kind === "host" ? sel.id : sel.kind === "handoff" ? run.handoffs.host[sel.id] : -1);
    if (sel && sel.kind === "station") {
      const p = view.point(st.x_m[sel.id], st.y_m[sel.id]);
      g.lineWidth = 2.5;
      g.strokeStyle = INK;
      g.strokeRect(p.x - 15, p.y - 15, 30, 30);
    }
    if (!(h >= 0) || !here[h]) return;
    g.lineWidth = 2;
    g.strokeStyle = INK;
    g.globalAlpha = 0.55;
    g.beginPath();
    trail(g, h, t, 90);
    g.stroke();
    g.globalAlpha = 1;
    if (colourOf[h] >= 0 && !(state[h] & DOWN)) {
      g.lineWidth = 2.4;
      g.strokeStyle = app.colours[colourOf[h]];
      if (state[h] & HANDING) g.setLineDash([5, 4]);
      line(g, h, colourOf[h]);
      g.setLineDash([]);
    }
    g.lineWidth = 2.4;
    g.strokeStyle = INK;
    g.beginPath();
    g.arc(px[h], py[h], radius() + 5, 0, 7);
    g.stroke();
    app.write(g, run.hostCalled(h), px[h] + 12, py[h] - 12, "left", true);
  };
  const draw = (g, width, height, t) => {
    g.clearRect(0, 0, width, height);
    locate(t);
    if (app.layers.buffers) app.marks.buffers(g, t);
    if (app.layers.trails) trails(g, t);
    if (app.layers.links) links(g);
    app.marks.draw(g, t);
    if (app.layers.broadcasts) pulses(g, t);
    handovers(g, t);
    hosts(g);
    if (app.layers.names) names(g);
    labels(g);
    if (app.layers.buffers) app.marks.numbers(g, t);
    if (run.switches.length) switched(g, t);
    chosen(g, t);
    if (app.selected && app.selected.kind === "message") message(g, t);
  };
  const hostNear = (x, y, reach = 12) => {
    let best = -1,
      nearest = reach * reach;
    for (let h = 0; h < n; h++)
      if (here[h]) {
        const d = (px[h] - x) ** 2 + (py[h] - y) ** 2;
        if (d < nearest) {
          nearest = d;
          best = h;
        }
      }
    return best;
  };
  return { draw, hostNear, pixels: (h) => (here[h] ? [px[h], py[h]] : null) };
};
