// The bar at the bottom: buttons, speed, and the time line with its events, which is the slider, too.
"use strict";
Mobilenet.bar = (app) => {
  const { run, clock } = app,
    { el, icon, release } = app.parts,
    { INK, QUIET, withAlpha } = Mobilenet;
  const play = el("button", { class: "mn-play", title: "Play or pause (space)", "aria-label": "Play or pause" });
  const choice = (s) => el("option", { value: String(s) }, s === "max" ? "max" : s + "×");
  const speed = el(
    "select",
    { class: "mn-speed", title: "Speed (+ and −)", "aria-label": "Speed" },
    ...clock.speeds.map(choice),
  );
  speed.addEventListener("change", () => {
    clock.at(speed.value === "max" ? "max" : Number(speed.value));
    release(speed);
  });
  play.addEventListener("click", () => {
    clock.toggle();
    release(play);
  });
  const button = (name, title, act) => {
    const b = el("button", { class: "mn-button", title, "aria-label": title }, icon(name));
    b.addEventListener("click", () => {
      act();
      release(b);
    });
    return b;
  };
  const time = el("div", { class: "mn-time" });
  const box = el("div", {
    class: "mn-line",
    role: "slider",
    tabindex: "0",
    "aria-label": "Simulated time",
    "aria-valuemin": "0",
    "aria-valuemax": String(run.end_s),
  });
  const bar = el(
    "footer",
    { class: "mn-bar" },
    button("previous", "Previous event (p)", () => app.jump(-1)),
    button("back", "One second back (←; with shift ten)", () => clock.seek(clock.t - 1)),
    play,
    button("forward", "One second on (→; with shift ten)", () => clock.seek(clock.t + 1)),
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
    said = "",
    drawnAt = NaN; // where the hand was
  const HEIGHT = 46,
    BASE = 28;
  const mark = (g, x, item) => app.marks.paint(g, item, x, 9, 4);
  const paint = () => {
    // how many handoffs when, as bars; what is rare as marks above them
    still.width = lines.canvas.width;
    still.height = lines.canvas.height;
    const g = still.getContext("2d"),
      ratio = still.width / width;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const bins = new Float64Array(Math.max(1, Math.floor(width / 4)));
    const rare = [];
    for (const item of app.marks.items) {
      if (!app.marks.shown(item)) continue;
      if (item.kind === "handoff") bins[Math.min(bins.length - 1, Math.floor((item.t / run.end_s) * bins.length))]++;
      else if (item.kind !== "in_coverage" && item.kind !== "recovery") rare.push(item);
    }
    const top = Math.max(3, ...bins);
    g.fillStyle = "#eceae3";
    g.beginPath();
    if (g.roundRect) g.roundRect(0, 4, width, BASE - 4, 4);
    else g.rect(0, 4, width, BASE - 4);
    g.fill();
    g.fillStyle = "#a9b1b7";
    bins.forEach((v, i) => {
      if (v)
        g.fillRect(i * (width / bins.length) + 0.5, BASE - 3 - (16 * v) / top, width / bins.length - 1, (16 * v) / top);
    });
    const few = rare.length <= width / 6;
    for (const item of rare) {
      const x = (item.t / run.end_s) * width;
      if (few) mark(g, x, item);
      else {
        g.fillStyle = withAlpha(INK, 0.5);
        g.fillRect(x, 5, 1, 5);
      }
    }
    g.fillStyle = QUIET;
    g.font = "10px system-ui, sans-serif";
    const step =
      [0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 86400].find(
        (s) => (s / run.end_s) * width >= 70,
      ) || run.end_s;
    for (let s = 0; s <= run.end_s + 1e-9; s += step) {
      const x = (s / run.end_s) * width;
      g.textAlign = x < 10 ? "left" : x > width - 14 ? "right" : "center";
      g.fillText(app.clockText(s), x, HEIGHT - 3);
    }
  };
  const layout = () => {
    width = Math.max(80, box.clientWidth);
    lines.fit(width, HEIGHT);
    paint();
    drawnAt = NaN;
  };
  const draw = () => {
    const key = JSON.stringify([app.layers, app.marks.items.length, run.end_s]),
      words = app.clockText(clock.t, true) + " / " + app.clockText(run.end_s),
      x = (clock.t / run.end_s) * width;
    if (key !== layersDrawn) {
      layersDrawn = key;
      paint();
      drawnAt = NaN;
    }
    if (words !== said) {
      said = words;
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
    g.strokeStyle = "#0072B2";
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(x, 2);
    g.lineTo(x, BASE + 2);
    g.stroke();
    g.fillStyle = "#0072B2";
    g.beginPath();
    g.arc(Math.max(4.5, Math.min(width - 4.5, x)), BASE + 1, 4.5, 0, 7);
    g.fill();
  };
  new ResizeObserver(() => {
    if (Math.abs(box.clientWidth - width) > 0.5) {
      layout();
      app.changed();
    }
  }).observe(box);
  const at = (event) => clock.seek(((event.clientX - box.getBoundingClientRect().left) / width) * run.end_s);
  box.addEventListener("pointerdown", (event) => {
    drag = true;
    box.setPointerCapture(event.pointerId);
    at(event);
  });
  box.addEventListener("pointermove", (event) => {
    if (drag) at(event);
    const when = ((event.clientX - box.getBoundingClientRect().left) / width) * run.end_s,
      item = app.marks.next(when - (4 / width) * run.end_s, 1);
    box.title =
      item && Math.abs(item.t - when) < (6 / width) * run.end_s ? app.sayMark(item) : app.clockText(when, true);
  });
  for (const name of ["pointerup", "pointercancel"])
    box.addEventListener(name, () => {
      drag = false;
    });
  return { bar, layout, draw };
};
