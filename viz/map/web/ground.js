// What stands still: uncovered ground, cells, walls, wires, heat, stations. Redrawn only when the view changes.
Mobilenet.ground = (app) => {
  const { run, view } = app,
    { INK, withAlpha, ramp } = Mobilenet,
    { radio } = app,
    st = run.stations;
  let hatch = null;
  const pattern = (g) => {
    if (hatch) return hatch;
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const p = tile.getContext("2d");
    p.strokeStyle = "#d9d5ca";
    p.lineWidth = 1;
    p.beginPath();
    p.moveTo(-2, 10);
    p.lineTo(10, -2);
    p.moveTo(-2, 2);
    p.lineTo(2, -2);
    p.moveTo(6, 10);
    p.lineTo(10, 6);
    p.stroke();
    return (hatch = g.createPattern(tile, "repeat"));
  };
  const corners = (g, ring) => {
    g.beginPath();
    view.outline(g, ring);
  };
  const box = (g, [w, s, e, n]) =>
    corners(g, [
      [w, s],
      [e, s],
      [e, n],
      [w, n],
    ]);
  const cell = (g, i) => {
    const p = app.stationPoint(i);
    Mobilenet.circle(g, p.x, p.y, run.range_m * view.scaleAt(st.y_m[i]));
  };

  const drawUncovered = (g) => {
    // the box of the field, less all cells: what is left are the holes
    g.save();
    box(g, radio.box || app.bounds.flat());
    g.fillStyle = pattern(g);
    g.fill();
    g.globalCompositeOperation = "destination-out";
    if (radio.power) radio.draw(g, "cells", 1);
    else
      for (let i = 0; i < run.stationCount; i++) {
        cell(g, i);
        g.fill();
      }
    g.restore();
  };
  const cells = (g) => {
    if (radio.power) {
      radio.draw(g, "cells", 0.2);
      return;
    }
    for (let i = 0; i < run.stationCount; i++) {
      cell(g, i);
      g.fillStyle = withAlpha(app.colours[i], 0.1);
      g.fill();
    }
    for (let i = 0; i < run.stationCount; i++) {
      cell(g, i);
      Mobilenet.stroke(g, withAlpha(app.colours[i], 0.55), 1);
    }
  };
  const square = (g, x, y, side) => {
    const a = { ...view.point(x, y + side) },
      b = view.point(x + side, y);
    g.fillRect(a.x, a.y, b.x - a.x + 0.6, b.y - a.y + 0.6);
  };
  // Where recorded hosts ever were, in squares: their streets, without a map.
  const STREET_M = 4;
  let squares = null;
  const streets = (g) => {
    if (!squares) {
      const keys = new Set(),
        [x, y] = [run.x_cm, run.y_cm];
      for (let h = 0; h < run.count; h++)
        for (let i = run.starts[h] + 1; i < run.starts[h] + run.tracks.count[h]; i++) {
          const dx = x[i] - x[i - 1],
            dy = y[i] - y[i - 1],
            steps = Math.ceil(Math.hypot(dx, dy) / (100 * STREET_M)) + 1;
          for (let k = 0; steps < 50 && k <= steps; k++) {
            const column = Math.floor((x[i - 1] + (dx * k) / steps) / 100 / STREET_M);
            keys.add(column * 1e6 + Math.floor((y[i - 1] + (dy * k) / steps) / 100 / STREET_M));
          }
        }
      squares = Array.from(keys, (key) => [Math.round(key / 1e6), key - 1e6 * Math.round(key / 1e6)]);
    }
    g.fillStyle = "#dedad0";
    for (const [column, row] of squares) square(g, column * STREET_M, row * STREET_M, STREET_M);
  };
  const heat = (g, name) => {
    const grid = run.places[name],
      side = run.places.side_m;
    if (!grid) return;
    const top = app.heatTop(name);
    g.globalAlpha = 0.9;
    for (let i = 0; i < grid.mean.length; i++) {
      const own = side * Math.max(0.3, Math.sqrt(Math.min(1, grid.count[i] / 20))), // the colour is only the value
        rim = (side - own) / 2;
      g.fillStyle = ramp(name, grid.mean[i] / top);
      square(g, run.places.x_m + grid.column[i] * side + rim, run.places.y_m + grid.row[i] * side + rim, own);
    }
    g.globalAlpha = 1;
  };
  const walls = (g) => {
    g.lineWidth = 1.4;
    g.strokeStyle = withAlpha(INK, 0.45);
    if (run.area.box_m) {
      g.setLineDash([7, 5]);
      box(g, run.area.box_m);
      g.stroke();
      g.setLineDash([]);
    }
    for (const ring of run.area.holes_m) {
      corners(g, ring);
      g.fillStyle = "#e4e1d8";
      g.fill();
      g.stroke();
    }
  };
  const wires = (g) => {
    const mesh = st.edges.length > run.stationCount;
    for (const [a, b] of st.edges) {
      const p = { ...app.stationPoint(a) },
        q = app.stationPoint(b);
      Mobilenet.line(g, p.x, p.y, q.x, q.y, withAlpha(INK, mesh ? 0.18 : 0.5), mesh ? 1 : 2);
    }
  };
  const stations = (g) => {
    const small = run.range_m * view.scaleAt(0) < 30;
    for (let i = 0; i < run.stationCount; i++) {
      const p = app.stationPoint(i),
        r = small ? 4 : 10;
      Mobilenet.box(g, p.x - r, p.y - r, 2 * r, 2 * r, 3);
      g.fillStyle = "#fff";
      g.fill();
      Mobilenet.stroke(g, app.colours[i], small ? 2 : 3);
      const look = Mobilenet.lookOf(i); // the same second mark as its hosts have
      if (!small && look) {
        g.lineWidth = look === 1 ? 1.2 : 1.4;
        g.strokeStyle = look === 1 ? "#fff" : INK;
        const half = look === 2 ? r + 2 : r;
        g.strokeRect(p.x - half, p.y - half, 2 * half, 2 * half);
      }
    }
  };
  return (g, width, height) => {
    g.clearRect(0, 0, width, height);
    if (app.layers.cells && !app.tiles) drawUncovered(g);
    if (app.layers.streets && !app.tiles) streets(g);
    if (app.layers.cells) cells(g);
    walls(g);
    if (app.layers.heat === "power") {
      if (radio.power) radio.draw(g, "power", 0.85);
    } else if (app.layers.heat) heat(g, app.layers.heat);
    if (app.layers.walls) radio.drawWalls(g);
    if (app.layers.wires) wires(g);
    stations(g);
  };
};
