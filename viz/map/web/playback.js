// The clock: play, pause, speed, seek, and the keyboard.
Mobilenet.SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32];
Mobilenet.clock = (app) => {
  const { run } = app,
    clock = { t: 0, speed: 1, playing: false };
  let before = null;
  clock.tick = (stamp) => {
    if (!clock.playing) {
      before = null;
      return;
    }
    if (before !== null) clock.t += Math.min(0.25, (stamp - before) / 1000) * clock.speed;
    before = stamp;
    if (clock.t >= run.now_s) {
      clock.t = run.now_s;
      clock.pause();
    }
  };
  clock.play = () => {
    if (clock.t >= run.now_s) clock.t = 0;
    clock.playing = true;
    app.redraw();
  };
  clock.pause = () => {
    clock.playing = false;
    app.redraw();
  };
  clock.toggle = () => (clock.playing ? clock.pause() : clock.play());
  clock.seek = (t) => {
    clock.t = Math.max(0, Math.min(run.now_s, t));
    before = null;
    app.redraw();
  };
  clock.speeds = Mobilenet.SPEEDS;
  clock.faster = (step) => {
    // the next one of the list; the present one need not be in it, and "max" is above all
    const value = (speed) => (speed === "max" ? Infinity : speed),
      now = value(clock.speed),
      { speeds } = clock,
      next = step > 0 ? speeds.find((s) => value(s) > now) : speeds.findLast((s) => value(s) < now);
    if (next !== undefined) clock.at(next);
  };
  clock.at = (speed) => {
    clock.speed = speed;
    app.redraw();
  };
  return clock;
};

// Whether what has the focus makes something of this key itself.
Mobilenet.takesKey = (node, key) => {
  const role = node && node.tagName,
    arrow = key.startsWith("Arrow");
  if (role === "BUTTON" || role === "SUMMARY") return key === " " || key === "Enter";
  if (role === "INPUT" && node.type === "checkbox") return key === " ";
  if (role === "INPUT" && node.type === "radio") return key === " " || arrow;
  return role === "SELECT" || role === "INPUT" || role === "TEXTAREA";
};

Mobilenet.keyboard = (app) => {
  const { clock } = app;
  const keys = {
    " ": clock.toggle,
    k: clock.toggle,
    ArrowRight: (e) => clock.seek(clock.t + (e.shiftKey ? 10 : 1)),
    ArrowLeft: (e) => clock.seek(clock.t - (e.shiftKey ? 10 : 1)),
    ArrowUp: () => clock.faster(1),
    ArrowDown: () => clock.faster(-1),
    "+": () => clock.faster(1),
    "=": () => clock.faster(1),
    "-": () => clock.faster(-1),
    n: () => app.jump(1),
    p: () => app.jump(-1),
    h: () => app.jump(1, "handoff"),
    H: () => app.jump(-1, "handoff"),
    o: () => app.another("host", 1),
    O: () => app.another("host", -1),
    s: () => app.another("station", 1),
    S: () => app.another("station", -1),
    Home: () => clock.seek(0),
    End: () => clock.seek(app.run.now_s),
    f: () => app.follow(!app.following),
    z: app.fit,
    d: () => app.dark(),
    Escape: () => {
      if (!app.help(false) && app.selected) app.select(null);
    },
    "/": () => app.focusFinder(),
    "?": () => app.help(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    if (Mobilenet.takesKey(event.target, event.key)) return;
    event.preventDefault();
    keys[event.key](event);
  });
};
