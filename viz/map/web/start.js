// Everything together: one object `app`, one loop that draws when something has changed.
"use strict";
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
    keep: false,
    heat: "",
  };
  app.colours = run.stations.colours;
  app.dark = (on) => document.documentElement.classList.toggle("mn-dark", on);
  app.dark(window.matchMedia("(prefers-color-scheme: dark)").matches);
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
    g.font = (strong ? "600 12px" : "11px") + " system-ui, sans-serif";
    g.textAlign = align;
    g.textBaseline = "middle";
    g.lineJoin = "round";
    g.lineWidth = 3;
    g.strokeStyle = "rgba(255,255,255,.9)";
    g.strokeText(short, x, y);
    g.fillStyle = Mobilenet.INK;
    g.fillText(short, x, y);
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
  app.marks = Mobilenet.marks(app);
  app.charts = Mobilenet.charts(app);
  app.cards = Mobilenet.cards(app);
  app.field = Mobilenet.field(app);
  const drawGround = Mobilenet.ground(app);

  // A frame is asked for when there is something to draw: even an empty one costs.
  const FRAME_MS = 16;
  let dirty = true,
    groundDirty = true,
    awake = false,
    alarm = 0,
    painted = 0,
    width = 0,
    height = 0;
  app.wake = (ms = 0) => {
    if (awake) return;
    clearTimeout(alarm);
    if (ms > 2 * FRAME_MS) alarm = setTimeout(app.wake, ms - FRAME_MS / 2);
    else {
      awake = true;
      requestAnimationFrame(loop);
    }
  };
  app.changed = (all) => {
    dirty = true;
    if (all) groundDirty = true;
    app.wake();
  };
  app.sayMark = (item) =>
    app.clockText(item.t, true) +
    "  " +
    run.hostCalled(item.host) +
    ": " +
    (item.handoff === undefined
      ? Mobilenet.WORDS[item.kind]
      : Mobilenet.WORDS[item.kind] +
        " " +
        run.stationCalled(run.handoffs.from[item.handoff]) +
        " → " +
        run.stationCalled(run.handoffs.to[item.handoff]));

  app.select = (what) => {
    app.selected = what;
    if (!what || (what.kind !== "host" && what.kind !== "handoff")) app.following = false;
    panels.open();
    app.changed();
  };
  app.followed = () =>
    !app.selected
      ? -1
      : app.selected.kind === "host"
        ? app.selected.id
        : app.selected.kind === "handoff"
          ? run.handoffs.host[app.selected.id]
          : -1;
  app.follow = (on) => {
    app.following = on && app.followed() >= 0;
    app.changed();
    panels.update(0, true);
  };
  app.closer = (h, t) => {
    const p = run.lastPlace(h, t),
      z =
        map.getZoom() +
        Math.log2(Math.max(1, 1.1 / (view.scaleAt(p.y) / (host.clientHeight / (run.range_m * 3.2))) / 1.1));
    map.setView(view.latLng(p.x, p.y), Math.max(map.getZoom(), z), { animate: false });
  };
  // The first moment with something to see: somebody is there, and something has just happened, an event or a
  // broadcast; so long ago that the ring of a broadcast is wider than its host, and the first deliveries are there.
  app.opening = () => {
    const JUST_S = 0.15;
    let there = run.end_s;
    for (let h = 0; h < run.count; h++)
      if (run.tracks.count[h]) there = Math.min(there, run.moments[run.momentOf(h, 0)]);
    if (there >= run.end_s) return 0;
    const mark = app.marks.next(there - 1e-9, 1),
      sent = run.messages.time[Mobilenet.upTo(run.messages.time, there - 1e-9)],
      first = Math.min(mark ? mark.t : Infinity, sent === undefined ? Infinity : sent);
    return first === Infinity ? there : Math.min(run.end_s, first + JUST_S);
  };
  app.jump = (step, kind) => {
    const item = app.marks.next(app.clock.t, step, kind);
    if (!item) {
      app.say(
        step > 0 ? "No later event in the layers that are shown." : "No earlier event in the layers that are shown.",
      );
      return;
    }
    app.clock.pause();
    app.clock.seek(item.t);
    if (item.handoff !== undefined) app.cards.openHandoff(item.handoff);
    else app.cards.openEvent(item.event);
    app.intoView(item);
  };
  app.another = (kind, step) => {
    // the next or previous host that is here, or station
    const count = kind === "host" ? run.count : run.stationCount,
      t = app.clock.t,
      place = (i) => (kind === "host" ? run.place(i, t) : { x: run.stations.x_m[i], y: run.stations.y_m[i] });
    let id = app.selected && app.selected.kind === kind ? app.selected.id : step > 0 ? -1 : count;
    for (let tried = 0; tried < count; tried++) {
      id = (id + step + count) % count;
      const p = place(id);
      if (p) {
        const at = { x: p.x, y: p.y };
        app.select({ kind, id });
        app.intoView(at);
        return;
      }
    }
    app.say("No " + kind + " is here now.");
  };
  app.intoView = (item) => {
    const wide = host.clientWidth > 900,
      top = wide ? 0 : panels.left.offsetTop + panels.left.offsetHeight,
      bottom = wide ? height : panels.right.offsetTop; // narrow: panels above and below
    const p = view.point(item.x, item.y),
      inside = p.x > frame.left && p.x < width - frame.right && p.y > top + 20 && p.y < bottom - 20;
    if (inside || Number.isNaN(item.x)) return;
    map.panTo(view.latLng(item.x, item.y), { animate: false });
    map.panBy([0, (height - top - bottom) / 2], { animate: false });
  };

  app.live = run.live ? Mobilenet.live(app) : null;
  const bar = Mobilenet.bar(app),
    panels = Mobilenet.panels(app),
    space = app.live ? Mobilenet.liveSpace(app) : null,
    drag = app.live ? Mobilenet.liveDrag(app) : null;
  const { el } = app.parts,
    toast = el("div", { class: "mn-toast", role: "status" }),
    tip = el("div", { class: "mn-tip" });
  const KEYS = [
    ["Space", "play or pause"],
    ["← →", "a second back or on; with Shift ten"],
    ["+ − or ↑ ↓", "faster, slower"],
    ["n  p", "next, previous event"],
    ["h  H", "next, previous handoff"],
    ["o  O", "next, previous host"],
    ["s  S", "next, previous station"],
    ["f", "follow the chosen host"],
    ["z", "the whole field"],
    ["d", "dark or light"],
    ["Home End", "to the beginning, to the end"],
    ["Esc", "close the card"],
  ];
  const help = el(
    "dialog",
    { class: "mn-help" },
    el("h2", {}, "Keys"),
    ...KEYS.map(([key, does]) => el("div", { class: "mn-row" }, el("kbd", {}, key), el("span", {}, does))),
    el(
      "p",
      { class: "mn-note" },
      "Drag and wheel move and zoom the map. Click or drag on the time line to go to a moment. " +
        "Places are rounded to a centimetre, and go straight from one to the next, " +
        (run.live ? "a frame" : app.interval + " s") +
        " apart; buffers show their largest value in each " +
        run.buffers.stations.bin_s.toFixed(2) +
        " s" +
        (run.origin ? "." : "; the plane is the scenario's own, with no place on Earth.") +
        " mobilenet " +
        run.about.version +
        (run.live
          ? ". What you do to the run is on the left, and on the card of whom you choose; drag a host to put it " +
            "elsewhere."
          : ", fingerprint " + run.about.fingerprint),
    ),
  );
  app.help = (wanted) => {
    const was = help.open;
    if (wanted === false || was) help.close();
    else help.show();
    return was;
  };
  help.addEventListener("click", () => help.close());
  let toastOff = 0;
  app.say = (words) => {
    toast.textContent = words;
    toast.classList.add("mn-on");
    clearTimeout(toastOff);
    toastOff = setTimeout(() => toast.classList.remove("mn-on"), 1500 + 40 * words.length);
  };
  if (space) document.body.append(space.box);
  document.body.append(panels.left, panels.right, bar.bar, toast, help, tip);
  map.attributionControl.setPosition("bottomright");
  L.control.scale({ imperial: false, position: "bottomleft" }).addTo(map);

  const frame = { left: 0, right: 0 };
  app.fit = () => {
    const [[w, s], [e, n]] = app.bounds,
      wide = host.clientWidth > 900;
    frame.left = wide ? panels.left.offsetWidth + 24 : 12;
    frame.right = wide ? panels.right.offsetWidth + 24 : 12;
    const top = wide ? 14 : panels.left.offsetHeight + 16,
      bottom = wide ? 14 : panels.right.offsetHeight + 44,
      roomy = top + bottom < host.clientHeight / 2;
    app.following = false;
    map.fitBounds([view.latLng(w, s), view.latLng(e, n)], {
      paddingTopLeft: [frame.left, roomy ? top : 14],
      paddingBottomRight: [frame.right, roomy ? bottom : 14],
      animate: false,
    });
  };
  const layout = () => {
    width = host.clientWidth;
    height = host.clientHeight;
    app.size = { width, height };
    ground.fit(width, height);
    live.fit(width, height);
    bar.layout();
    app.changed(true);
  };
  map.on("move zoom viewreset resize", () => app.changed(true));
  map.on("dragstart", () => {
    app.following = false;
  });
  let touched = false; // until somebody moves the map, it shows all of the field, whatever size the window takes
  for (const kind of ["pointerdown", "wheel"])
    host.addEventListener(
      kind,
      () => {
        touched = true;
      },
      { passive: true },
    );
  window.addEventListener("resize", () => {
    map.invalidateSize({ animate: false });
    layout();
    if (!touched) app.fit();
  });

  const stationNear = (x, y) => {
    for (let s = 0; s < run.stationCount; s++) {
      const p = view.point(run.stations.x_m[s], run.stations.y_m[s]);
      if (Math.abs(p.x - x) < 12 && Math.abs(p.y - y) < 12) return s;
    }
    return -1;
  };
  const under = (x, y) => {
    const h = app.field.hostNear(x, y, 10),
      item = app.marks.near(x, y, app.clock.t),
      s = stationNear(x, y);
    if (h >= 0) return { kind: "host", id: h, say: run.hostInFull(h) + ": " + run.sayState(h, app.clock.t) };
    if (item)
      return {
        kind: item.handoff === undefined ? "event" : "handoff",
        id: item.handoff === undefined ? item.event : item.handoff,
        mark: item.id,
        say: app.sayMark(item),
      };
    if (s >= 0)
      return {
        kind: "station",
        id: s,
        say:
          "station " +
          run.stationInFull(s) +
          (run.buffers.stations.series
            .map(({ name }) => ": " + name + " " + run.valueAt("stations", name, s, app.clock.t))
            .slice(0, 1)
            .join("") || ": no buffer recorded"),
      };
    return null;
  };
  map.on("click", (event) => {
    if (app.live && performance.now() - (app.live.wasDragged || -1e9) < 300) return;
    const found = under(event.containerPoint.x, event.containerPoint.y);
    if (found || app.selected) app.select(found);
  });
  let pointer = null;
  const hover = () => {
    const { x, y } = pointer,
      found = under(x, y);
    host.style.cursor = found ? "pointer" : "";
    tip.classList.toggle("mn-on", Boolean(found));
    if (found) {
      tip.textContent = found.say;
      tip.style.transform = "translate(" + Math.max(0, Math.min(x + 14, width - 260)) + "px," + (y + 14) + "px)";
    }
  };
  map.on("mousemove", (event) => {
    pointer = event.containerPoint;
    hover();
  });
  map.on("mouseout", () => {
    pointer = null;
    tip.classList.remove("mn-on");
  });

  const paint = (stamp) => {
    const t = app.clock.t,
      h = app.following ? app.followed() : -1,
      place = h >= 0 ? run.place(h, t) : null;
    if (place) {
      view.renew();
      const p = view.point(place.x, place.y),
        dx = p.x - (frame.left + (width - frame.left - frame.right) / 2),
        dy = p.y - height / 2;
      if (Math.abs(dx) + Math.abs(dy) > 1) map.panBy([dx, dy], { animate: false, noMoveStart: true });
    }
    view.renew();
    if (groundDirty) {
      groundDirty = false;
      drawGround(ground.g, width, height);
    }
    app.field.draw(live.g, width, height, t);
    if (pointer) hover(); // who moves comes and goes below it
    if (drag) drag.draw(live.g);
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
  } else app.clock.seek(app.opening());
  // For tests: milliseconds that drawing takes, over so many moments spread over the run.
  app.measure = (frames) => {
    app.clock.playing = true;
    const began = performance.now();
    for (let i = 0; i < frames; i++) {
      app.clock.t = (run.end_s * i) / frames;
      paint(performance.now());
      live.g.getImageData(0, 0, 1, 1);
    }
    app.clock.pause();
    return (performance.now() - began) / frames;
  };
  app.paintForTests = (stamp) => {
    paint(stamp);
    live.g.getImageData(0, 0, 1, 1);
  };
  Mobilenet.app = app;
  app.wake();
};
