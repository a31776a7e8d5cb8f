// The choice of a heat map, and what its colours mean.
Mobilenet.heat = (app) => {
  const { run, clock } = app,
    { el, note, symbol, duration, release, minus } = app.parts;
  const box = el("div.mn-heat");
  const choices = [
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
      legend();
      box.scrollIntoView({ block: "nearest" });
      app.redraw(true);
    });
    return el("label.mn-layer", radio, el("span", words));
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
  const scale = (least, most) => el("div.mn-scale", el("span", least), el("span", most + " and more"));
  let lossChart = null;
  const legend = () => {
    const name = app.layers.heat;
    box.replaceChildren();
    lossChart = null;
    if (!name) return;
    if (name === "power") {
      const { power, strongest } = app.radio;
      box.append(
        strip(name),
        scale(minus(power.least_dbm) + " dBm", minus(strongest) + " dBm"),
        note(
          "Power of the best-received station: path loss, walls and shadowing, without fading, in squares of " +
            power.side_m.toFixed(power.side_m % 1 ? 1 : 0) +
            " m. Not coloured: no preamble of any station is strong enough.",
        ),
      );
      return;
    }
    const grid = run.places[name];
    if (grid && grid.total) {
      const top = app.heatTop(name);
      box.append(
        strip(name),
        name === "losses" ? scale("0 %", (100 * top).toFixed(0) + " %") : scale("0 s", duration(top)),
        note(
          name === "losses"
            ? "Share of " +
                grid.total.toLocaleString("en") +
                " receptions (a frame at a node " +
                (app.radio.isSinr ? "that could detect its preamble in silence" : "in range") +
                ") lost to another frame (collided, " +
                (app.radio.isSinr ? "never attempted, or its preamble missed" : "or never attempted") +
                "), by position of the receiver; whole run. Small squares: fewer than 20 receptions."
            : "Mean delay of " +
                grid.total.toLocaleString("en") +
                " deliveries, by position of the host; whole run. Small squares: fewer than 20 deliveries.",
        ),
      );
    } else if (name === "losses") {
      box.append(
        note(
          "This run did not record where frames were lost. Draw the map with  --losses,  which repeats " +
            "the run to find out, or run the scenario with  record: {frames: true}.  Only the share in the " +
            "whole network is known:",
        ),
      );
      const chart = app.charts.losses();
      box.append(chart.empty ? note("nothing") : chart.canvas);
      if (!chart.empty) lossChart = chart;
      update();
    } else box.append(note("Nothing was delivered."));
  };
  const update = () => lossChart && lossChart.update(clock.t);
  legend();
  return { choices, box, update };
};
