// The panels at the sides: what run this is, layers and legend on the left; what happens, or the chosen card, on the
// right.
"use strict";
Mobilenet.panels = (app) => {
  const { run, clock } = app,
    { el, row, link, heading, note, symbol, counted, duration, release, keep, keyboard } = app.parts,
    { upTo, MEMBER, DOWN, COVERED, HANDING } = Mobilenet;
  const about = run.about,
    verdict = el(
      "span",
      {
        class:
          "mn-verdict mn-" + (["valid", "violated", "unknown"].includes(about.verdict) ? about.verdict : "unknown"),
        title: Object.entries(about.checks)
          .map(([k, v]) => k + ": " + v)
          .join("\n"),
      },
      about.verdict,
    );
  const head = el(
    "header",
    { class: "mn-head" },
    el("h1", {}, el("bdi", {}, about.name)),
    verdict,
    el(
      "p",
      {},
      about.protocol +
        ", " +
        counted(run.count, "host") +
        ", " +
        counted(run.stationCount, "station") +
        ", seed " +
        about.seed,
    ),
    about.description ? el("p", { class: "mn-note" }, el("bdi", {}, about.description)) : null,
    ...about.warnings.map((line) => el("p", { class: "mn-note" }, "warning: " + line)),
  );

  const toggle = (name, words, paint) => {
    const box = el("input", { type: "checkbox", "data-layer": name });
    box.checked = app.layers[name];
    box.addEventListener("change", () => {
      app.layers[name] = box.checked;
      release(box);
      app.changed(true);
    });
    return el("label", { class: "mn-layer" }, box, symbol(paint), el("span", {}, words));
  };
  const dot = (colour, hollow) => (g, x, y) => {
    g.beginPath();
    g.arc(x, y, 5, 0, 7);
    g.fillStyle = hollow ? "#fff" : colour;
    g.fill();
    g.strokeStyle = hollow ? colour : "#fff";
    g.lineWidth = 2;
    g.stroke();
  };
  const stroke =
    (dash, colour = Mobilenet.INK, width = 2) =>
    (g, x, y) => {
      g.setLineDash(dash);
      g.strokeStyle = colour;
      g.lineWidth = width;
      g.beginPath();
      g.moveTo(x - 9, y);
      g.lineTo(x + 9, y);
      g.stroke();
    };
  const markOf = (kind) => (g, x, y) => Mobilenet.mark(g, kind, x, y, 5.5, app.colours[0], app.colours[1] || "#fff");
  const c0 = app.colours[0] || "#0072B2";
  const heatNote = el("div", { class: "mn-heat" });
  const heats = [
    ["", "none"],
    ["losses", "frames lost"],
    ["delays", "delivery delay"],
    ...(app.radio.power ? [["power", "power received"]] : []),
  ].map(([value, words]) => {
    const radio = el("input", { type: "radio", name: "mn-heat", value, "data-heat": value || "none" });
    radio.checked = (app.layers.heat || "") === value;
    radio.addEventListener("change", () => {
      app.layers.heat = value;
      release(radio);
      heatLegend();
      heatNote.scrollIntoView({ block: "nearest" });
      app.changed(true);
    });
    return el("label", { class: "mn-layer" }, radio, el("span", {}, words));
  });
  const strip = (name) =>
    symbol(
      (g) => {
        for (let i = 0; i < 160; i++) {
          g.fillStyle = Mobilenet.ramp(name, i / 159);
          g.fillRect(i, 0, 1.5, 10);
        }
      },
      160,
      10,
    );
  let lossChart = null;
  const heatLegend = () => {
    const name = app.layers.heat;
    heatNote.replaceChildren();
    lossChart = null;
    if (!name) return;
    if (name === "power") {
      const { power, strongest } = app.radio;
      heatNote.append(
        strip(name),
        el(
          "div",
          { class: "mn-scale" },
          el("span", {}, String(power.least_dbm).replace("-", "−") + " dBm"),
          el("span", {}, String(strongest).replace("-", "−") + " dBm and more"),
        ),
        note(
          "Of the station that is received best there: path loss, walls and shadowing, without fading, in squares of " +
            power.side_m.toFixed(power.side_m % 1 ? 1 : 0) +
            " m. Not coloured: no preamble of any station is strong enough.",
        ),
      );
      return;
    }
    const grid = run.places[name];
    if (grid && grid.total) {
      const top = app.heatTop(name);
      heatNote.append(
        strip(name),
        el(
          "div",
          { class: "mn-scale" },
          el("span", {}, name === "losses" ? "0 %" : "0 s"),
          el("span", {}, name === "losses" ? (100 * top).toFixed(0) + " % and more" : duration(top) + " and more"),
        ),
        note(
          name === "losses"
            ? "Share of " +
                grid.total.toLocaleString("en") +
                " receptions (a frame at a node " +
                (app.radio.isSinr ? "that could detect its preamble in silence" : "in range") +
                ") lost to another frame (collided, " +
                (app.radio.isSinr ? "never attempted, or its preamble missed" : "or never attempted") +
                "), where the receiver was; whole run. Pale: few."
            : "Mean delay of " +
                grid.total.toLocaleString("en") +
                " deliveries where the host was; whole run. Pale: few.",
        ),
      );
    } else if (name === "losses") {
      heatNote.append(
        note(
          "This run did not record where frames were lost. Draw the map with  --losses,  which runs " +
            "it again to find out, or run the scenario with  record: {frames: true}.  What is known is " +
            "the share in the whole network:",
        ),
      );
      lossChart = app.charts.losses();
      heatNote.append(lossChart.empty ? note("nothing") : lossChart.canvas);
      if (!lossChart.empty) lossChart.update(clock.t);
    } else heatNote.append(note("Nothing was delivered."));
  };
  // With power no circle is a cell: half of the places at that distance are in it, and walls are left out.
  const cellsAre = app.radio.power
    ? "best station"
    : app.radio.isSinr
      ? "median reach in the open, " + run.range_m.toFixed(0) + " m"
      : "cells";
  const layers = el(
    "details",
    { class: "mn-layers", open: "" },
    el("summary", {}, "Layers and legend"),
    el(
      "div",
      { class: "mn-group" },
      el("div", { class: "mn-layer mn-fixed" }, symbol(dot(c0)), el("span", {}, "host, station's colour")),
      run.stationCount > Mobilenet.HUES
        ? el(
            "div",
            { class: "mn-layer mn-fixed" },
            symbol((g, x, y) => {
              Mobilenet.dot(g, run.stationCount > 2 * Mobilenet.HUES ? x - 5 : x, y, 5, app.colours[Mobilenet.HUES], 1);
              if (run.stationCount > 2 * Mobilenet.HUES)
                Mobilenet.dot(g, x + 6, y, 4.5, app.colours[2 * Mobilenet.HUES], 2);
            }),
            el("span", {}, "the same, from s" + Mobilenet.HUES + " on"),
          )
        : null,
      el("div", { class: "mn-layer mn-fixed" }, symbol(dot(c0, true)), el("span", {}, "no member yet, or left")),
      el("div", { class: "mn-layer mn-fixed" }, symbol(dot(Mobilenet.ALONE, true)), el("span", {}, "out of coverage")),
      el("div", { class: "mn-layer mn-fixed" }, symbol(markOf("crash")), el("span", {}, "down")),
    ),
    el(
      "div",
      { class: "mn-group" },
      toggle("cells", cellsAre + (app.tiles ? "" : " (hatched: none)"), (g, x, y) => {
        g.fillStyle = Mobilenet.withAlpha(c0, 0.15);
        g.strokeStyle = c0;
        g.beginPath();
        g.arc(x, y, 7, 0, 7);
        g.fill();
        g.stroke();
      }),
      ...(app.radio.buildings.length
        ? [
            toggle("walls", app.parts.counted(app.radio.buildings.length, "building"), (g, x, y) => {
              g.fillStyle = "#d3cfc4";
              g.strokeStyle = Mobilenet.INK;
              g.fillRect(x - 7, y - 5, 14, 10);
              g.strokeRect(x - 7, y - 5, 14, 10);
            }),
          ]
        : []),
      ...(app.layers.streets ? [toggle("streets", "streets of the recording", stroke([], "#cfcabd", 5))] : []),
      toggle(
        "wires",
        run.stations.edges.length || run.stationCount < 2
          ? run.stations.edges.length > run.stationCount
            ? "wires (all with all)"
            : "wired tree"
          : "wires: all with all, not drawn",
        stroke([]),
      ),
      toggle("links", "host to its station", stroke([], c0, 1.2)),
      toggle("trails", "trails, 25 s", stroke([], Mobilenet.withAlpha(c0, 0.5), 2)),
      toggle("broadcasts", "broadcasts" + (run.messages.every > 1 ? " (sample)" : ""), (g, x, y) => {
        g.strokeStyle = Mobilenet.INK;
        g.globalAlpha = 0.6;
        for (const r of [4, 7.5]) {
          g.beginPath();
          g.arc(x, y, r, 0, 7);
          g.stroke();
        }
      }),
      toggle("buffers", "stations' " + (run.buffers.stations.series[0]?.name ?? "buffer") + "s, 30 s", (g, x, y) => {
        g.fillStyle = Mobilenet.withAlpha(c0, 0.5);
        g.beginPath();
        [
          [-9, 6],
          [-9, 2],
          [-4, 0],
          [0, -6],
          [4, -1],
          [9, 3],
          [9, 6],
        ].forEach(([a, b]) => g.lineTo(x + a, y + b));
        g.fill();
      }),
      toggle("names", "names", (g, x, y) => {
        g.font = "600 11px system-ui";
        g.textAlign = "center";
        g.fillText("h1", x, y + 4);
      }),
    ),
    el(
      "div",
      { class: "mn-group" },
      toggle("handoffs", "handoff, from | to", markOf("handoff")),
      toggle("crashes", "crash, and recovery \u25b3", markOf("crash")),
      toggle("coverage", "coverage lost, found", markOf("out_of_coverage")),
      toggle("gaps", "gap; given up (hollow)", markOf("gap")),
      toggle("keep", "keep marks (else " + app.marks.keepS.toFixed(0) + " s)", () => {}),
    ),
    el("div", { class: "mn-group" }, heading("Heat map"), ...heats, heatNote),
  );
  const narrow = window.matchMedia("(max-width: 900px)");
  if (narrow.matches || (app.tiles === false && window.innerHeight < 700)) layers.removeAttribute("open");
  layers.firstChild.addEventListener("click", () => release(layers.firstChild));
  const touch = app.live ? Mobilenet.livePanel(app) : null;
  if (touch) layers.removeAttribute("open");
  const left = el("aside", { class: "mn-left" + (touch ? " mn-wide" : "") }, head, touch && touch.box, layers);

  const title = el("h2", { tabindex: "-1" }),
    actions = el("div", { class: "mn-actions" }),
    content = el("div", { class: "mn-content" });
  const close = link("×", () => app.select(null), "Close (Esc)");
  close.classList.add("mn-close");
  close.setAttribute("aria-label", "Close");
  const fold = el("button", { class: "mn-fold", "aria-label": "Show or hide the details" });
  const right = el(
    "aside",
    { class: "mn-right-side", "aria-live": "off" },
    el("div", { class: "mn-title" }, title, fold, close),
    actions,
    content,
  );
  let folded = narrow.matches; // of the overview, in a narrow window
  const refold = () => {
    const now = folded && !app.selected;
    right.classList.toggle("mn-folded", now);
    fold.textContent = now ? "▴" : "▾";
    fold.setAttribute("aria-expanded", String(!now));
  };
  fold.addEventListener("click", () => {
    folded = !folded;
    refold();
    release(fold);
  });

  const overview = () => {
    const now = {
      members: app.cards.live("Members"),
      cell: app.cards.live("In a session"),
      handing: app.cards.live("In a handoff"),
      out: app.cards.live("Out of coverage"),
      down: app.cards.live("Down"),
      handoffs: app.cards.live("Handoffs so far"),
    };
    const feed = el("div", { class: "mn-list", "data-list": "events" }),
      recent = el("div", { class: "mn-list", "data-list": "messages" });
    const handoffTimes = [],
      picked = [],
      pickedTimes = [],
      msg = run.messages;
    let marksSeen = 0,
      messagesSeen = 0;
    const renew = () => {
      for (; marksSeen < app.marks.items.length; marksSeen++)
        if (app.marks.items[marksSeen].kind === "handoff") handoffTimes.push(app.marks.items[marksSeen].t);
      for (; messagesSeen < msg.count; messagesSeen++)
        if (msg.picked[messagesSeen]) {
          picked.push(messagesSeen);
          pickedTimes.push(msg.time[messagesSeen]);
        }
    };
    const body = el(
      "div",
      {},
      ...Object.values(now).map((each) => each.node),
      heading("What happened last"),
      feed,
      heading(msg.every > 1 ? "Messages, a sample" : "Messages"),
      msg.every > 1
        ? note(
            "Details of one message in " +
              msg.every +
              " and of those that it has to follow: " +
              msg.count.toLocaleString("en") +
              " of " +
              msg.total.toLocaleString("en") +
              ". Everything else is complete.",
          )
        : null,
      recent,
      note("Click a host, a station, a mark or a message. Space plays, h goes to the next handoff, ? shows all keys."),
    );
    const summary = el("span", { class: "mn-summary" });
    let shownFeed = "",
      shownMessages = "",
      lines = new Map();
    const update = (t) => {
      renew();
      let members = 0,
        cell = 0,
        handing = 0,
        out = 0,
        down = 0;
      for (let h = 0; h < run.count; h++) {
        const f = run.flagsAt(h, t);
        if (!run.place(h, t)) continue;
        if (f & MEMBER) members++;
        if (f & DOWN) down++;
        else if (!(f & COVERED)) out++;
        else if (f & HANDING) handing++;
        else if (f & MEMBER) cell++;
      }
      now.members.set(members + " of " + run.count);
      now.cell.set(cell);
      now.handing.set(handing);
      now.out.set(out);
      now.down.set(down);
      now.handoffs.set(upTo(handoffTimes, t));
      summary.textContent = ": " + counted(members, "member") + ", " + counted(upTo(handoffTimes, t), "handoff");
      const latest = [];
      for (let i = upTo(app.marks.times, t) - 1; i >= 0 && latest.length < 7; i--)
        if (app.marks.items[i].kind !== "in_coverage") latest.push(app.marks.items[i]);
      const isOpen = (item) => item.handoff !== undefined && Number.isNaN(run.handoffs.end[item.handoff]),
        line = (item) => item.id + (isOpen(item) ? " open" : "");
      const key = latest.map(line).join(),
        none = app.marks.items.length || run.live ? "nothing yet" : "no handoff, crash or gap in this run";
      if (key !== shownFeed || !feed.childNodes.length) {
        shownFeed = key;
        keep(
          feed,
          latest.length ? latest : [null],
          (item) => (item ? line(item) : "none"),
          (item) => (item ? app.cards.markLine(item) : note(none)),
        );
      }
      const upto = upTo(pickedTimes, t),
        wanted = picked.slice(Math.max(0, upto - 6), upto).reverse(),
        messageKey = wanted.join();
      if (messageKey !== shownMessages || !recent.childNodes.length) {
        shownMessages = messageKey;
        const before = lines;
        lines = new Map(wanted.map((m) => [m, before.get(m) || Mobilenet.messageLine(app, m)]));
        keep(
          recent,
          wanted.length ? wanted : [null],
          (m) => m ?? "none",
          (m) => (m === null ? note(msg.total || run.live ? "none yet" : "nothing was broadcast") : lines.get(m).line),
        );
      }
      for (const each of lines.values()) each.update(t);
    };
    return { title: "Now", summary, body, update, actions: [] };
  };

  let card = null,
    last = 0;
  const open = () => {
    const s = app.selected;
    card = !s ? overview() : s.kind === "message" ? Mobilenet.messageCard(app, s.id) : app.cards[s.kind](s.id);
    title.replaceChildren(card.title, ...(card.summary ? [card.summary] : []));
    close.hidden = !s;
    fold.hidden = Boolean(s);
    refold();
    actions.replaceChildren(...card.actions);
    content.replaceChildren(card.body);
    content.scrollTop = 0;
    right.dataset.card = s ? s.kind : "overview";
    card.update(clock.t);
    if (keyboard() && !(document.activeElement && document.activeElement.closest(".mn-bar")))
      title.focus({ preventScroll: true });
  };
  const update = (stamp, force) => {
    if (touch) touch.update(stamp);
    if (!card || (!force && clock.playing && stamp - last < 240)) return;
    last = stamp;
    card.update(clock.t);
    if (lossChart && !lossChart.empty) lossChart.update(clock.t);
  };
  heatLegend();
  return { left, right, open, update };
};
