// The view (metres to pixels), two canvases over the map, and what moves: hosts, trails, links, broadcasts, the
// chosen message.
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
  // A closed ring of places, as a part of a path.
  view.outline = (g, ring) => {
    ring.forEach(([x, y], i) => {
      const p = view.point(x, y);
      if (i) g.lineTo(p.x, p.y);
      else g.moveTo(p.x, p.y);
    });
    g.closePath();
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
    { INK, ALONE, MEMBER, DOWN, HANDING, COVERED, withAlpha, upTo, line, ring } = Mobilenet,
    st = run.stations;
  let n, px, py, here, colourOf, state, widths;
  const makeRoom = () => {
    n = run.count;
    px = new Float32Array(n);
    py = new Float32Array(n);
    here = new Uint8Array(n);
    colourOf = new Int16Array(n);
    state = new Uint8Array(n);
    widths = new Float32Array(n); // of names
  };
  makeRoom();
  run.onAdded.push(makeRoom);
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
  // Hosts of each station.
  const byColour = (isWanted) => {
    const groups = new Map();
    for (let h = 0; h < n; h++) {
      if (!isWanted(h)) continue;
      const c = colourOf[h];
      if (!groups.has(c)) groups.set(c, []);
      groups.get(c).push(h);
    }
    return groups;
  };
  const trails = (g, t) => {
    g.lineWidth = 1.3;
    g.lineJoin = "round";
    for (const [c, hosts] of byColour((h) => here[h])) {
      g.strokeStyle = withAlpha(c < 0 ? ALONE : app.colours[c], 0.32);
      g.beginPath();
      for (const h of hosts) trail(g, h, t, TRAIL_S);
      g.stroke();
    }
  };
  const toStation = (g, h, s, alpha, width) => {
    const p = app.stationPoint(s);
    line(g, px[h], py[h], p.x, p.y, withAlpha(app.colours[s], alpha), width);
  };
  const links = (g) => {
    for (let h = 0; h < n; h++)
      if (here[h] && colourOf[h] >= 0 && state[h] & MEMBER && !(state[h] & DOWN)) toStation(g, h, colourOf[h], 0.3, 1);
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
        g.setLineDash([4, 4]);
        toStation(g, h, from, 0.9 * fade, 2);
        g.setLineDash([]);
      }
      if (to >= 0) toStation(g, h, to, 0.9 * fade, open ? 2 : 3);
      ring(g, px[h], py[h], open ? 11 : 11 + 9 * (1 - fade), withAlpha(to >= 0 ? app.colours[to] : INK, fade), 2);
    }
  };
  const radius = () => (n <= 150 ? 5.5 : n <= 500 ? 4.5 : run.range_m * view.scaleAt(0) < 40 ? 2.4 : 3.4);
  const hosts = (g) => {
    const r = radius(),
      isOdd = (h) => !(state[h] & COVERED) || state[h] & DOWN || !(state[h] & MEMBER);
    for (const [c, own] of byColour((h) => here[h] && !isOdd(h))) {
      const colour = c < 0 ? ALONE : app.colours[c];
      const look = Mobilenet.lookOf(c);
      for (const h of own)
        sprite(g, colour + look + " " + r, px[h], py[h], 2 * Math.ceil(r + 1), (s, x, y) =>
          Mobilenet.dot(s, x, y, r, colour, look, n <= 500 ? 1.4 : 0.6),
        );
    }
    for (let h = 0; h < n; h++) {
      if (!here[h] || !isOdd(h)) continue;
      if (state[h] & DOWN) {
        Mobilenet.mark(g, "crash", px[h], py[h], r + 1);
        continue;
      }
      Mobilenet.circle(g, px[h], py[h], r - 0.8);
      g.fillStyle = "#fff";
      g.fill();
      Mobilenet.stroke(g, colourOf[h] < 0 ? ALONE : app.colours[colourOf[h]], 2);
    }
  };
  // Next to each host where there is room, on one side or another; else the tooltip shows it.
  const names = (g) => {
    const rows = new Map(),
      own = app.followedHost(),
      H = 13;
    const isTaken = (x, y, w) => {
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
        const p = app.stationPoint(s);
        for (const dy of [-13, 0, 13]) take(p.x - 12, p.y + dy, 24);
        if (run.stationName(s)) take(p.x - 30, p.y + 20, 60);
        const box = app.layers.buffers ? app.boxes.of(s) : null;
        if (box) for (const dy of [6, box.h - 6]) take(box.x, box.y + dy, box.w);
      }
    g.font = "11px system-ui, sans-serif";
    if (own >= 0 && here[own]) take(px[own] + 12, py[own] - 12, 8 + 1.15 * g.measureText(run.hostLabel(own)).width);
    for (let h = 0; h < n; h++) {
      if (!here[h] || h === own) continue;
      const words = run.hostLabel(h),
        w = widths[h] || (widths[h] = Math.min(160, g.measureText(words).width) + 2);
      for (const [x, y] of [
        [px[h] + 7, py[h] - 8],
        [px[h] + 7, py[h] + 8],
        [px[h] - 7 - w, py[h] - 8],
        [px[h] - 7 - w, py[h] + 8],
      ]) {
        if (isTaken(x, y, w)) continue;
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
      const p = app.stationPoint(s),
        name = (app.layers.names || run.stationCount <= 30) && run.stationName(s);
      Mobilenet.drawWithHalo(g, run.stationLabel(s), p.x, p.y + 0.5, "center", "600 10px");
      if (name) app.write(g, name, p.x, p.y + 20, "center");
    }
  };
  const pulses = (g, t) => {
    // who has just broadcast
    const msg = run.messages,
      span = Math.min(4, Math.max(0.15, 0.6 * app.rate()));
    for (let m = upTo(msg.time, t) - 1, seen = 0; m >= 0 && seen < 500 && msg.time[m] > t - span; m--, seen++) {
      const h = msg.host[m];
      if (h < 0 || !here[h]) continue;
      const share = (t - msg.time[m]) / span;
      ring(g, px[h], py[h], radius() + 14 * share, withAlpha(INK, 0.5 * (1 - share)), 1.2);
    }
  };
  // What was done by hand: words on an impaired wire and under an impaired host, a cross on a cut wire, a crossed
  // ring around a station that is off.
  const drawSwitches = (g, t) => {
    for (const one of run.impairedAt(t).values()) {
      if (one.host) {
        const h = run.hosts.number.indexOf(Number(one.host.slice(1)));
        if (here[h]) Mobilenet.drawWithHalo(g, Mobilenet.sayImpairment(one), px[h], py[h] + 22, "center", "600 11px");
        continue;
      }
      const [a, b] = one.link.map((name) => Number(name.slice(1)));
      if (a >= run.stationCount || b >= run.stationCount) continue;
      const from = { ...app.stationPoint(a) },
        to = app.stationPoint(b);
      const words = Mobilenet.sayImpairment(one),
        middle = [(from.x + to.x) / 2, (from.y + to.y) / 2 + 18];
      Mobilenet.drawWithHalo(g, words, ...middle, "center", "600 11px");
    }
    for (const one of run.offAt(t).values()) {
      const [a, b] = (one.link || [one.station, one.station]).map((name) => Number(name.slice(1)));
      if (a >= run.stationCount || b >= run.stationCount) continue;
      const from = { ...app.stationPoint(a) },
        to = app.stationPoint(b),
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
      Mobilenet.stroke(g, "#c0392b", 2.4);
    }
  };
  const message = (g, t) => {
    // full ring: has it; open broken ring: not yet
    const m = app.selected.id;
    if (app.live && !app.live.learn(m)) return;
    const { have, lack } = run.progress(m, t),
      sender = run.messages.host[m],
      [wide, far] = n <= 150 ? [2.6, 3] : [1.3, 1.2]; // in a crowd a ring must not cover the next host
    for (const h of have) if (here[h]) ring(g, px[h], py[h], radius() + far, INK, wide);
    g.setLineDash([3, 3]);
    for (const { host } of lack) if (here[host]) ring(g, px[host], py[host], radius() + far + 2, "#c0392b", 2);
    g.setLineDash([]);
    if (sender >= 0 && here[sender]) {
      g.lineWidth = 2;
      g.strokeStyle = INK;
      g.strokeRect(px[sender] - 10, py[sender] - 10, 20, 20);
    }
  };
  const drawChosen = (g, t) => {
    const h = app.followedHost();
    if (app.isSelected("station")) {
      const p = app.stationPoint(app.selected.id);
      g.lineWidth = 2.5;
      g.strokeStyle = INK;
      g.strokeRect(p.x - 15, p.y - 15, 30, 30);
    }
    if (h < 0 || !here[h]) return;
    g.globalAlpha = 0.55;
    g.beginPath();
    trail(g, h, t, 90);
    Mobilenet.stroke(g, INK, 2);
    g.globalAlpha = 1;
    if (colourOf[h] >= 0 && !(state[h] & DOWN)) {
      if (state[h] & HANDING) g.setLineDash([5, 4]);
      toStation(g, h, colourOf[h], 1, 2.4);
      g.setLineDash([]);
    }
    ring(g, px[h], py[h], radius() + 5, INK, 2.4);
    app.write(g, run.hostLabel(h), px[h] + 12, py[h] - 12, "left", true);
  };
  const draw = (g, width, height, t) => {
    g.clearRect(0, 0, width, height);
    locate(t);
    if (app.layers.buffers) app.boxes.draw(g, t);
    if (app.layers.trails) trails(g, t);
    if (app.layers.links) links(g);
    app.marks.draw(g, t);
    if (app.layers.broadcasts) pulses(g, t);
    handovers(g, t);
    hosts(g);
    if (app.layers.names) names(g);
    labels(g);
    if (app.layers.buffers) app.boxes.write(g, t);
    if (run.switches.length) drawSwitches(g, t);
    drawChosen(g, t);
    if (app.isSelected("message")) message(g, t);
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
