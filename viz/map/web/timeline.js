// The bar at the bottom: buttons, speed, and the time line with its events, which is the slider, too.
Mobilenet.bar = (app) => {
  const { run, clock } = app,
    { el, icon, release, onClick } = app.parts,
    { INK, withAlpha } = Mobilenet;
  const play = el("button.mn-play", { title: "Play or pause (space)", "aria-label": "Play or pause" });
  const choice = (s) => el("option", { value: String(s) }, s === "max" ? "max" : s + "×");
  const speed = el(
    "select.mn-speed",
    { title: "Speed (+ and −)", "aria-label": "Speed" },
    ...clock.speeds.map(choice),
  );
  speed.disabled = Boolean(run.live && run.live.is_real_time);
  speed.addEventListener("change", () => {
    clock.at(speed.value === "max" ? "max" : Number(speed.value));
    release(speed);
  });
  onClick(play, clock.toggle);
  const button = (name, title, act) =>
    onClick(el("button.mn-button", { title, "aria-label": title }, icon(name)), act);
  const time = el("div.mn-time");
  const box = el("div", {
    class: "mn-line",
    role: "slider",
    tabindex: "0",
    "aria-label": "Simulated time",
    "aria-valuemin": "0",
    "aria-valuemax": String(run.end_s),
  });
  const bar = el(
    "footer.mn-bar",
    button("previous", "Previous event (p)", () => app.jump(-1)),
    button("back", "One second back (←; ten with Shift)", () => clock.seek(clock.t - 1)),
    play,
    button("forward", "One second forward (→; ten with Shift)", () => clock.seek(clock.t + 1)),
    button("next", "Next event (n); next handoff (h)", () => app.jump(1)),
    speed,
    time,
    box,
    button("fit", "The whole field (z)", () => app.fit()),
    button("help", "Keys (?)", () => app.help()),
  );
  const lines = Mobilenet.canvas(box, ""),
    still = document.createElement("canvas");
  let width = 0,
    drag = false,
    layersDrawn = "",
    lastWords = "",
    drawnAt = NaN; // where the playhead was
  const HEIGHT = 46,
    BASE = 28;
  const changes = () => (app.live ? app.live.interventions : run.switches);
  const paint = () => {
    // the number of handoffs over time as bars; rare events as marks above them
    still.width = lines.canvas.width;
    still.height = lines.canvas.height;
    const g = still.getContext("2d"),
      ratio = still.width / width;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const bins = new Float64Array(Math.max(1, Math.floor(width / 4)));
    const rare = [];
    for (const item of app.marks.items) {
      if (!app.marks.isVisible(item)) continue;
      if (item.kind === "handoff") bins[Math.min(bins.length - 1, Math.floor((item.t / run.end_s) * bins.length))]++;
      else if (item.kind !== "in_coverage" && item.kind !== "recovery") rare.push(item);
    }
    const top = Math.max(3, ...bins);
    g.fillStyle = "#eceae3";
    Mobilenet.box(g, 0, 4, width, BASE - 4, 4);
    g.fill();
    g.fillStyle = "#a9b1b7";
    bins.forEach((v, i) => {
      if (v)
        g.fillRect(i * (width / bins.length) + 0.5, BASE - 3 - (16 * v) / top, width / bins.length - 1, (16 * v) / top);
    });
    const few = rare.length <= width / 6;
    for (const item of rare) {
      const x = (item.t / run.end_s) * width;
      if (few) app.marks.paint(g, item, x, 9, 4);
      else {
        g.fillStyle = withAlpha(INK, 0.5);
        g.fillRect(x, 5, 1, 5);
      }
    }
    let free = -Infinity; // a letter where there is room for it
    for (const one of changes()) {
      const x = (one.at_s / run.end_s) * width;
      const [letter, colour] = Mobilenet.markByHand(one.do);
      g.fillStyle = colour;
      g.fillRect(x - 1, 0, 2, 8);
      g.font = "700 9px system-ui, sans-serif";
      if (x < free) continue;
      free = x + 12;
      g.textAlign = "left";
      g.textBaseline = "alphabetic";
      g.fillText(letter, Math.min(x + 2.5, width - 8), 8);
    }
    const step =
      [0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 86400].find(
        (s) => (s / run.end_s) * width >= 70,
      ) || run.end_s;
    for (let s = 0; s <= run.end_s + 1e-9; s += step) {
      const x = (s / run.end_s) * width;
      Mobilenet.text(g, app.clockText(s), x, HEIGHT - 3, x < 10 ? "left" : x > width - 14 ? "right" : "center");
    }
  };
  const layout = () => {
    width = Math.max(80, box.clientWidth);
    lines.fit(width, HEIGHT);
    paint();
    drawnAt = NaN;
  };
  const draw = () => {
    const key = JSON.stringify([app.layers, app.marks.items.length, run.end_s, changes().length]),
      words = app.clockText(clock.t, true) + " / " + app.clockText(run.end_s),
      x = (clock.t / run.end_s) * width;
    if (key !== layersDrawn) {
      layersDrawn = key;
      paint();
      drawnAt = NaN;
    }
    if (words !== lastWords) {
      lastWords = words;
      time.textContent = words;
      box.setAttribute("aria-valuenow", clock.t.toFixed(2));
      box.setAttribute("aria-valuetext", app.clockText(clock.t, true));
    }
    const wanted = clock.playing ? "pause" : "play";
    if (play.dataset.icon !== wanted) {
      play.dataset.icon = wanted;
      play.replaceChildren(icon(wanted));
    }
    const pace = String(clock.speed);
    if (speed.value !== pace) {
      if (![...speed.options].some((each) => each.value === pace)) speed.append(choice(clock.speed));
      speed.value = pace;
    }
    if (Math.abs(x - drawnAt) < 0.5) return;
    drawnAt = x;
    const { g } = lines;
    g.clearRect(0, 0, width, HEIGHT);
    g.drawImage(still, 0, 0, width, HEIGHT);
    g.fillStyle = withAlpha("#0072B2", 0.13);
    g.fillRect(0, 4, x, BASE - 4);
    Mobilenet.line(g, x, 2, x, BASE + 2, "#0072B2", 2);
    g.fillStyle = "#0072B2";
    Mobilenet.circle(g, Math.max(4.5, Math.min(width - 4.5, x)), BASE + 1, 4.5);
    g.fill();
  };
  new ResizeObserver(() => {
    if (Math.abs(box.clientWidth - width) > 0.5) {
      layout();
      app.redraw();
    }
  }).observe(box);
  const momentOf = (event) => ((event.clientX - box.getBoundingClientRect().left) / width) * run.end_s;
  box.addEventListener("pointerdown", (event) => {
    drag = true;
    box.setPointerCapture(event.pointerId);
    clock.seek(momentOf(event));
  });
  box.addEventListener("pointermove", (event) => {
    const when = momentOf(event);
    if (drag) clock.seek(when);
    const item = app.marks.next(when - (4 / width) * run.end_s, 1),
      byHand = changes().filter((one) => Math.abs(one.at_s - when) < (6 / width) * run.end_s);
    box.title = byHand.length
      ? byHand.map((one) => app.clockText(one.at_s, true) + " " + Mobilenet.sayByHand(one)).join("\n")
      : item && Math.abs(item.t - when) < (6 / width) * run.end_s ? app.sayMark(item) : app.clockText(when, true);
  });
  for (const name of ["pointerup", "pointercancel"])
    box.addEventListener(name, () => {
      drag = false;
    });
  return { bar, layout, draw };
};
