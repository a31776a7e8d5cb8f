// What can be shown on the map, and what its marks mean.
Mobilenet.layers = (app) => {
  const { run } = app,
    { INK, HUES, withAlpha } = Mobilenet,
    { el, heading, symbol, pluralize, release } = app.parts,
    heat = Mobilenet.heat(app);
  const toggle = (name, words, paint) => {
    const box = el("input", { type: "checkbox", "data-layer": name });
    box.checked = app.layers[name];
    box.addEventListener("change", () => {
      app.layers[name] = box.checked;
      release(box);
      app.redraw(true);
    });
    return el("label.mn-layer", box, symbol(paint), words instanceof Node ? words : el("span", words));
  };
  const bufferWords = el("span"),
    updateBuffers = () => {
      const words = "stations' " + (run.buffers.stations.series[0]?.name ?? "buffer") + "s, 30 s",
        far = run.buffers.stations.series[0] && !app.boxes.isCharted() ? "; zoom in to see them" : "";
      if (bufferWords.textContent !== words + far) bufferWords.textContent = words + far;
    };
  const fixedEntry = (paint, words) => el("div.mn-layer.mn-fixed", symbol(paint), el("span", words));
  const dot = (colour, hollow) => (g, x, y) => {
    Mobilenet.circle(g, x, y, 5);
    g.fillStyle = hollow ? "#fff" : colour;
    g.fill();
    Mobilenet.stroke(g, hollow ? colour : "#fff", 2);
  };
  const stroke =
    (colour = INK, width = 2) =>
    (g, x, y) =>
      Mobilenet.line(g, x - 9, y, x + 9, y, colour, width);
  const markOf = (kind) => (g, x, y) => Mobilenet.mark(g, kind, x, y, 5.5, app.colours[0], app.colours[1] || "#fff");
  const c0 = app.colours[0] || "#0072B2";
  // With power no circle is a cell: half of the places at that distance are in it, and walls are left out.
  const cellsAre = app.radio.power
    ? "best station"
    : app.radio.isSinr
      ? "median reach in the open, " + run.range_m.toFixed(0) + " m"
      : "cells";
  const box = el(
    "details.mn-layers",
    { open: "" },
    el("summary", "Layers and legend"),
    el(
      "div.mn-group",
      fixedEntry(dot(c0), "host, station's colour"),
      run.stationCount > HUES
        ? fixedEntry(
            (g, x, y) => {
              const hasThird = run.stationCount > 2 * HUES;
              Mobilenet.dot(g, hasThird ? x - 5 : x, y, 5, app.colours[HUES], 1);
              if (hasThird) Mobilenet.dot(g, x + 6, y, 4.5, app.colours[2 * HUES], 2);
            },
            "the same, from s" + HUES + " on",
          )
        : null,
      fixedEntry(dot(c0, true), "not a member yet, or no longer"),
      fixedEntry(dot(Mobilenet.ALONE, true), "out of coverage"),
      fixedEntry(markOf("crash"), "down"),
    ),
    el(
      "div.mn-group",
      toggle("cells", cellsAre + (app.tiles ? "" : " (hatched: none)"), (g, x, y) => {
        Mobilenet.circle(g, x, y, 7);
        g.fillStyle = withAlpha(c0, 0.15);
        g.fill();
        Mobilenet.stroke(g, c0);
      }),
      ...(app.radio.buildings.length
        ? [
            toggle("walls", pluralize(app.radio.buildings.length, "building"), (g, x, y) => {
              g.fillStyle = "#d3cfc4";
              g.strokeStyle = INK;
              g.fillRect(x - 7, y - 5, 14, 10);
              g.strokeRect(x - 7, y - 5, 14, 10);
            }),
          ]
        : []),
      ...(app.layers.streets ? [toggle("streets", "streets of the recording", stroke("#cfcabd", 5))] : []),
      toggle(
        "wires",
        run.stations.edges.length || run.stationCount < 2
          ? run.stations.edges.length > run.stationCount
            ? "wires (full mesh)"
            : "wired tree"
          : "wires: full mesh, not drawn",
        stroke(),
      ),
      toggle("links", "host to its station", stroke(c0, 1.2)),
      toggle("trails", "trails, 25 s", stroke(withAlpha(c0, 0.5))),
      toggle("broadcasts", "broadcasts" + (run.messages.every > 1 ? " (sample)" : ""), (g, x, y) => {
        g.globalAlpha = 0.6;
        for (const r of [4, 7.5]) Mobilenet.ring(g, x, y, r, INK);
      }),
      toggle("buffers", bufferWords, (g, x, y) => {
        g.fillStyle = withAlpha(c0, 0.5);
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
      "div.mn-group",
      toggle("handoffs", "handoff, from | to", markOf("handoff")),
      toggle("crashes", "crash, and recovery \u25b3", markOf("crash")),
      toggle("coverage", "coverage lost, regained", markOf("out_of_coverage")),
      ...(app.connections.any
        ? [toggle("stalls", "stalled TCP connection", (g, x, y) => app.connections.sign(g, x, y, 7))]
        : []),
      toggle("gaps", "gap; given up (hollow)", markOf("gap")),
      toggle("keep", "keep marks (otherwise " + app.marks.keepS.toFixed(0) + " s)", () => {}),
    ),
    el("div.mn-group", heading("Heat map", "h2"), ...heat.choices, heat.box),
  );
  box.firstChild.addEventListener("click", () => release(box.firstChild));
  const update = () => {
    heat.update();
    updateBuffers();
  };
  return { box, update };
};
