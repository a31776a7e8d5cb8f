// Everything together: one object `app`, one loop that draws when something has changed.
Mobilenet.start = (map, L) => {
  const run = Mobilenet.read(document.getElementById("mobilenet-data").textContent);
  if (run.live) Mobilenet.grow(run);
  Mobilenet.addStates(run);
  document.title = run.about.name + " – mobilenet";
  const app = {
    run,
    map,
    selected: null,
    following: false,
    size: { width: 0, height: 0 },
    tiles: run.tiles && run.origin !== null,
    interval: run.live ? Infinity : run.tracks.interval_ns / 1e9,
  };
  app.layers = {
    cells: true,
    walls: true,
    wires: true,
    streets: run.hosts.names.some((name) => name),
    links: false,
    trails: run.count <= 200,
    broadcasts: run.count <= 300,
    buffers: true,
    names: false,
    handoffs: true,
    crashes: true,
    coverage: true,
    gaps: true,
    stalls: true,
    keep: false,
    heat: "",
  };
  app.colours = run.stations.colours;
  app.dark = (on) => document.documentElement.classList.toggle("mn-dark", on);
  // Inside a report, which is white, it is light.
  app.dark(location.protocol !== "about:" && window.matchMedia("(prefers-color-scheme: dark)").matches);
  app.parts = Mobilenet.parts();
  app.clockText = (s, fine, digits = 1) => {
    const sign = s < 0 ? "−" : "",
      all = Math.abs(s),
      minutes = Math.floor(all / 60 + 1e-9),
      rest = Math.max(0, all - 60 * minutes),
      text = fine ? rest.toFixed(digits) : String(Math.round(rest * 10) / 10);
    return sign + (minutes || all >= 60 ? minutes + ":" + (rest < 9.95 ? "0" : "") + text : text + " s");
  };
  app.heatTop = (name) => {
    // the value that 95 % of the squares with enough in them stay below
    const grid = run.places[name],
      values = Array.from(grid.mean)
        .filter((_, i) => grid.count[i] >= 5)
        .sort((a, b) => a - b);
    return Math.max(
      1e-6,
      values.length ? values[Math.min(values.length - 1, Math.floor(values.length * 0.95))] : Math.max(...grid.mean),
    );
  };
  app.write = (g, words, x, y, align, strong) => {
    const short = words.length > 24 ? words.slice(0, 23) + "…" : words;
    Mobilenet.drawWithHalo(g, short, x, y, align, strong ? "600 12px" : "11px");
  };
  // What charts show: all of a recorded run, of one that goes on what there is and a little more.
  app.span = () => (run.live ? Math.min(run.end_s, Math.max(20, Math.ceil((1.3 * run.now_s) / 10) * 10)) : run.end_s);
  // Simulated seconds that pass in one of the watcher's.
  app.rate = () => (app.clock.speed === "max" ? Math.max(1, app.live.state.rate) : app.clock.speed);
  app.linger = () => Math.max(0.1, 1.2 * app.rate());

  map.setMinZoom(run.origin ? 1 : -14);
  map.setMaxZoom(run.origin ? 22 : 10);
  let left = Infinity,
    bottom = Infinity,
    right = -Infinity,
    top = -Infinity;
  const extend = (x, y, r) => {
    left = Math.min(left, x - r);
    right = Math.max(right, x + r);
    bottom = Math.min(bottom, y - r);
    top = Math.max(top, y + r);
  };
  const view = (app.view = Mobilenet.view(map, run.origin)),
    host = map.getContainer();
  app.stationPoint = (s) => view.point(run.stations.x_m[s], run.stations.y_m[s]);
  app.isSelected = (kind) => Boolean(app.selected) && app.selected.kind === kind;
  app.radio = Mobilenet.radio(app);
  // A disk is a station's own; with power the reach in the open is mostly empty, and what is there decides.
  const rim = Math.max(1, run.range_m * 0.1);
  const around = app.radio.power ? rim : run.range_m * 1.05;
  for (let i = 0; i < run.stationCount; i++) extend(run.stations.x_m[i], run.stations.y_m[i], around);
  for (let i = 0; i < run.x_cm.length; i++) extend(run.x_cm[i] / 100, run.y_cm[i] / 100, rim);
  if (run.area.box_m) {
    const [w, s, e, n] = run.area.box_m;
    extend(w, s, rim);
    extend(e, n, rim);
  }
  if (app.radio.power) for (const rings of app.radio.buildings) for (const [x, y] of rings[0]) extend(x, y, rim);
  if (left > right) extend(0, 0, 100);
  app.bounds = [
    [left, bottom],
    [right, top],
  ];

  host.style.background = Mobilenet.PAPER;
  const ground = Mobilenet.canvas(host, "mn-canvas"),
    live = Mobilenet.canvas(host, "mn-canvas mn-live");
  app.clock = Mobilenet.clock(app);
  app.boxes = Mobilenet.boxes(app);
  app.marks = Mobilenet.marks(app);
  app.charts = Mobilenet.charts(app);
  app.stories = Mobilenet.stories(app);
  app.cards = Mobilenet.cards(app);
  app.field = Mobilenet.field(app);
  const drawGround = Mobilenet.ground(app);

  // A frame is asked for when there is something to draw: even an empty one costs.
  const FRAME_MS = 16;
  let dirty = true,
    groundDirty = true,
    awake = false,
    alarm = 0,
    painted = 0;
  app.wake = (ms = 0) => {
    if (awake) return;
    clearTimeout(alarm);
    if (ms > 2 * FRAME_MS) alarm = setTimeout(app.wake, ms - FRAME_MS / 2);
    else {
      awake = true;
      requestAnimationFrame(loop);
    }
  };
  app.redraw = (all) => {
    dirty = true;
    if (all) groundDirty = true;
    app.wake();
  };
  app.sayMark = (item) =>
    app.clockText(item.t, true) +
    "  " +
    run.hostLabel(item.host) +
    ": " +
    Mobilenet.WORDS[item.kind] +
    (item.handoff === undefined
      ? ""
      : " " +
        run.stationLabel(run.handoffs.from[item.handoff]) +
        " → " +
        run.stationLabel(run.handoffs.to[item.handoff]));

  app.select = (what) => {
    app.selected = what;
    if (app.followedHost() < 0) app.following = false;
    panels.open();
    address.renew();
    app.redraw();
  };
  app.live = run.live ? Mobilenet.live(app) : null;
  app.connections = Mobilenet.connections(app);
  app.packets = app.live ? Mobilenet.livePackets(app) : null;
  const bar = Mobilenet.bar(app),
    panels = Mobilenet.panels(app),
    space = app.live ? Mobilenet.liveSpace(app) : null,
    drag = app.live ? Mobilenet.liveDrag(app) : null;
  const pointer = Mobilenet.pointer(app),
    address = Mobilenet.address(app);
  Mobilenet.travel(app, panels);
  if (space) document.body.append(space.box);
  document.body.append(panels.left, panels.right, bar.bar, ...Mobilenet.help(app), pointer.tip);
  map.attributionControl.setPosition("bottomright");
  L.control.scale({ imperial: false, position: "bottomleft" }).addTo(map);

  const layout = () => {
    const { clientWidth: width, clientHeight: height } = host;
    app.size = { width, height };
    ground.fit(width, height);
    live.fit(width, height);
    bar.layout();
    app.redraw(true);
  };
  map.on("move zoom viewreset resize", () => app.redraw(true));
  map.on("dragstart", () => {
    isMoved = true;
    app.following = false;
  });
  let isMoved = false; // until the user moves the map, it shows all of the field, whatever size the window takes
  for (const kind of ["wheel", "touchmove", "dblclick"])
    host.addEventListener(kind, () => (isMoved = true), { passive: true });
  window.addEventListener("resize", () => {
    map.invalidateSize({ animate: false });
    layout();
    if (!isMoved) app.fit();
  });

  const paint = (stamp) => {
    const t = app.clock.t,
      { width, height } = app.size;
    app.goAlong(t);
    view.renew();
    if (groundDirty) {
      groundDirty = false;
      drawGround(ground.g, width, height);
    }
    app.field.draw(live.g, width, height, t);
    pointer.hover();
    if (drag) drag.draw(live.g);
    if (app.packets) app.packets.draw(live.g);
    app.connections.draw(live.g, t);
    if (space) space.draw(stamp);
    bar.draw();
    panels.update(stamp, !app.clock.playing);
  };
  const loop = (stamp) => {
    awake = false;
    app.clock.tick(stamp);
    const stays = app.live ? app.live.pictureMs() : 0,
      rest = stays - (stamp - painted);
    if (dirty || (app.clock.playing && rest <= FRAME_MS)) {
      dirty = false;
      painted = stamp;
      paint(stamp);
      if (app.clock.playing) app.wake(stays);
    } else if (app.clock.playing) app.wake(rest);
  };
  Mobilenet.keyboard(app);
  layout();
  panels.open();
  if (!app.live || !app.live.recall()) app.fit();
  if (app.live) {
    app.live.connect();
    app.live.toNow();
  } else if (!address.follow()) app.clock.seek(app.opening());
  // For tests: draws the map at moments spread over the run.
  app.drawForTests = (frames) => {
    app.clock.playing = true;
    for (let i = 0; i < frames; i++) {
      app.clock.t = (run.end_s * i) / frames;
      paint(performance.now());
      live.g.getImageData(0, 0, 1, 1);
    }
    app.clock.pause();
  };
  app.paintForTests = (stamp) => {
    paint(stamp);
    live.g.getImageData(0, 0, 1, 1);
  };
  Mobilenet.app = app;
  app.wake();
};
