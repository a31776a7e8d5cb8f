// The last half minute of each station's SBuffer (or the first buffer it has), in a box next to the station: on the
// side where it covers the fewest wires and other stations, below the hosts, on a scale common to all. Where stations
// or hosts are close together there are smaller boxes, then none.
Mobilenet.boxes = (app) => {
  const { run, view } = app,
    { INK, withAlpha, drawWithHalo } = Mobilenet,
    series = run.buffers.stations,
    SPAN_S = 30,
    LEAST_REACH = 45, // pixels of a station's range
    MOST_HOSTS = 0.35, // on a box, if hosts are spread evenly
    SIZES = [
      { w: 68, h: 26, apart: 150 },
      { w: 42, h: 20, apart: 100 },
    ];
  let top = 1,
    placedAt = 0,
    placed = [],
    size = null;
  const higher = (sizes) => {
    for (const v of sizes) if (v > top) top = v;
  };
  if (series.series[0]) higher(series.series[0].sizes);
  const meets = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
  // Whether the line from a to b crosses a box (Liang and Barsky, 1984).
  const crosses = (box, a, b) => {
    let from = 0,
      to = 1;
    for (const [p, q] of [
      [a.x - b.x, a.x - box.x],
      [b.x - a.x, box.x + box.w - a.x],
      [a.y - b.y, a.y - box.y],
      [b.y - a.y, box.y + box.h - a.y],
    ]) {
      if (p === 0) {
        if (q < 0) return false;
      } else if (p < 0) from = Math.max(from, q / p);
      else to = Math.min(to, q / p);
    }
    return from <= to;
  };
  // Places depend only on the zoom, so that no box jumps while the map is moved.
  const place = () => {
    const scale = view.scaleAt(0);
    if (scale === placedAt) return;
    placedAt = scale;
    const points = [];
    for (let s = 0; s < run.stationCount; s++) points.push({ ...app.stationPoint(s) });
    let apart = Infinity;
    const near = points.map((p, s) => {
      const near = [];
      points.forEach((q, other) => {
        const d = Math.hypot(p.x - q.x, p.y - q.y);
        if (other !== s) apart = Math.min(apart, d);
        if (other !== s && d < 400) near.push(other);
      });
      return near;
    });
    const [[west, south], [east, north]] = app.bounds,
      perPixel = run.count / ((east - west) * (north - south) * scale * scale),
      hasRoom = (each) => apart >= each.apart && perPixel * each.w * each.h <= MOST_HOSTS;
    size = run.range_m * scale < LEAST_REACH ? null : SIZES.find(hasRoom) || null;
    placed = [];
    if (!size) return;
    const { w, h } = size;
    points.forEach((p, s) => {
      const wires = run.stations.edges.filter(([a, b]) => a === s || b === s || near[s].includes(a));
      const cost = ([dx, dy]) => {
        const box = { x: p.x + dx, y: p.y + dy, w, h };
        let total = 0;
        for (const [a, b] of wires) if (crosses(box, points[a], points[b])) total += 1;
        for (const other of near[s]) {
          const q = points[other];
          if (meets(box, { x: q.x - 16, y: q.y - 16, w: 32, h: 44 })) total += 3;
          if (placed[other] && meets(box, { x: q.x + placed[other][0], y: q.y + placed[other][1], w, h })) total += 3;
        }
        return total;
      };
      const sides = [
        [15, -h / 2],
        [-15 - w, -h / 2],
        [12, -18 - h],
        [-12 - w, -18 - h],
        [28, -13 - h],
        [-28 - w, -13 - h],
        [12, 28],
        [-12 - w, 28],
        [28, 13],
        [-28 - w, 13],
      ];
      let best = sides[0],
        least = Infinity;
      for (const side of sides) {
        const price = cost(side);
        if (price < least) {
          least = price;
          best = side;
        }
      }
      placed[s] = best;
    });
  };
  // Where the box of a station is on the screen; null: there is none.
  const of = (s) => {
    if (!series.series[0]) return null;
    place();
    if (!size) return null;
    const p = app.stationPoint(s);
    return { x: p.x + placed[s][0], y: p.y + placed[s][1], w: size.w, h: size.h };
  };
  const draw = (g, t) => {
    const end = Math.floor(t / series.bin_s),
      count = Math.max(8, Math.round(SPAN_S / series.bin_s));
    for (let s = 0; s < run.stationCount; s++) {
      const box = of(s);
      if (!box) return;
      const { x, y, w, h } = box;
      Mobilenet.box(g, x, y, w, h, 4);
      g.fillStyle = "rgba(255,255,255,.88)";
      g.fill();
      Mobilenet.stroke(g, withAlpha(INK, 0.18), 1);
      g.beginPath();
      g.moveTo(x + 3, y + h - 3);
      for (let k = 0; k <= count; k++) {
        const bin = Math.min(series.bins - 1, end - count + k),
          v = bin >= 0 ? series.series[0].sizes[s * series.bins + bin] : 0;
        g.lineTo(x + 3 + ((w - 6) * k) / count, y + h - 3 - ((h - 8) * v) / top);
      }
      g.lineTo(x + w - 3, y + h - 3);
      g.closePath();
      g.fillStyle = withAlpha(app.colours[s], 0.45);
      g.fill();
    }
  };
  // Above the hosts, as the names of stations.
  const write = (g, t) => {
    for (let s = 0; s < run.stationCount; s++) {
      const box = of(s);
      if (!box) return;
      const { x, y, w, h } = box;
      const now = String(run.valueAt("stations", series.series[0].name, s, t));
      if (now === "0") drawWithHalo(g, "empty", x + 5, y + h - 8, "left", "10px");
      else drawWithHalo(g, now, x + w - 4, y + 8, "right", "600 10px");
    }
  };
  return { draw, write, of, higher, highest: () => top, isCharted: () => run.stationCount > 0 && of(0) !== null };
};
