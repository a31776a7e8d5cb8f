// What the radio makes of places: walls, power and best station as small pictures, the link of a host.
Mobilenet.radio = (app) => {
  const { run, view } = app,
    { INK, withAlpha, upTo } = Mobilenet,
    given = run.radio,
    power = given && given.power,
    NOTHING = 255,
    STRONG_DBM = -40, // and more, in the legend
    box = power
      ? [power.x_m, power.y_m, power.x_m + power.columns * power.side_m, power.y_m + power.rows * power.side_m]
      : null;
  const unpackWalls = (walls) => {
    const buildings = [];
    for (let b = 0, r = 0, i = 0, x = 0, y = 0; b < walls.rings.length; b++) {
      const rings = [];
      for (const last = r + walls.rings[b]; r < last; r++) {
        const ring = [];
        for (const end = i + walls.corners[r]; i < end; i++) {
          x += walls.x_cm[i];
          y += walls.y_cm[i];
          ring.push([x / 100, y / 100]);
        }
        rings.push(ring);
      }
      buildings.push(rings);
    }
    return buildings;
  };
  const buildings = given && given.walls ? unpackWalls(given.walls) : [];
  const drawWalls = (g) => {
    g.beginPath();
    for (const rings of buildings)
      for (const ring of rings) view.outline(g, ring);
    g.fillStyle = "#d3cfc4";
    g.fill("evenodd");
    Mobilenet.stroke(g, withAlpha(INK, 0.55), 1);
  };

  // One pixel for each square, drawn larger later.
  const picture = (colourOf) => {
    const canvas = document.createElement("canvas");
    canvas.width = power.columns;
    canvas.height = power.rows;
    const g = canvas.getContext("2d");
    for (let row = 0, i = 0; row < power.rows; row++)
      for (let column = 0; column < power.columns; column++, i++) {
        const colour = colourOf(i);
        if (!colour) continue;
        g.fillStyle = colour;
        g.fillRect(column, power.rows - 1 - row, 1, 1);
      }
    return canvas;
  };
  const isReceived = (i) => power.below_dbm[i] !== NOTHING;
  const share = (dbm) => (dbm - power.least_dbm) / (STRONG_DBM - power.least_dbm);
  const made = {},
    PICTURES = {
      power: (i) => (isReceived(i) ? Mobilenet.ramp("power", share(-power.below_dbm[i])) : null),
      cells: (i) => (isReceived(i) ? app.colours[power.best[i]] : null),
    };
  const draw = (g, name, alpha) => {
    if (!made[name]) made[name] = picture(PICTURES[name]);
    const [west, south, east, north] = box,
      a = { ...view.point(west, north) },
      b = view.point(east, south);
    g.save();
    g.globalAlpha = alpha;
    g.imageSmoothingEnabled = false;
    g.drawImage(made[name], a.x, a.y, b.x - a.x, b.y - a.y);
    g.restore();
  };
  // The station that is received best at a place, on average, and its power in dBm; null: none, undefined: unknown.
  const bestAt = (x, y) => {
    if (!power) return undefined;
    const column = Math.floor((x - power.x_m) / power.side_m),
      row = Math.floor((y - power.y_m) / power.side_m),
      i = row * power.columns + column;
    if (column < 0 || row < 0 || column >= power.columns || row >= power.rows) return undefined;
    if (!isReceived(i)) return null;
    return { station: power.best[i], dbm: -power.below_dbm[i] };
  };

  const links = given && !run.live && given.links, // a live run does not have each link
    ends = [];
  if (links) links.count.reduce((sum, count, h) => (ends[h] = sum + count), 0);
  // The last frame that a host has received by t; null: none yet, or not recorded.
  const linkAt = (h, t) => {
    if (!links) return null;
    const begin = ends[h] - links.count[h],
      i = upTo(links.time_ms, 1000 * t + 1e-6, begin, ends[h]) - 1;
    if (i < begin) return null;
    const from = links.sender[i],
      by = from < run.count ? run.hostLabel(from) : run.stationLabel(from - run.count);
    return {
      from: by,
      since: t - links.time_ms[i] / 1000,
      dbm: links.power_ddbm[i] / 10,
      sinr: links.sinr_ddb[i] / 10,
    };
  };
  return {
    isSinr: Boolean(given),
    power: power || null,
    buildings,
    links: links || null,
    strongest: STRONG_DBM,
    box,
    drawWalls,
    draw,
    bestAt,
    linkAt,
  };
};
