// What is below the pointer: a host, an event, a station; a word about it, and a click chooses it.
Mobilenet.pointer = (app) => {
  const { run, map } = app,
    host = map.getContainer(),
    tip = app.parts.el("div.mn-tip", { "aria-hidden": "true" }); // cards have the same, without a mouse
  const stationNear = (x, y) => {
    for (let s = 0; s < run.stationCount; s++) {
      const p = app.stationPoint(s);
      if (Math.abs(p.x - x) < 12 && Math.abs(p.y - y) < 12) return s;
    }
    return -1;
  };
  const under = (x, y) => {
    const h = app.field.hostNear(x, y, 10),
      item = app.marks.near(x, y, app.clock.t),
      s = stationNear(x, y),
      [buffer] = run.buffers.stations.series;
    if (h >= 0) return { kind: "host", id: h, say: run.hostInFull(h) + ": " + run.sayState(h, app.clock.t) };
    if (item)
      return {
        kind: item.event === undefined ? "handoff" : "event",
        id: item.event ?? item.handoff,
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
          ": " +
          (buffer ? buffer.name + " " + run.valueAt("stations", buffer.name, s, app.clock.t) : "no buffer recorded"),
      };
    return null;
  };
  map.on("click", (event) => {
    if (app.live && app.live.wasPlaced) return;
    if (app.live && performance.now() - (app.live.wasDragged || -1e9) < 300) return;
    const target = under(event.containerPoint.x, event.containerPoint.y);
    if (target || app.selected) app.select(target);
  });
  let pointer = null;
  // Again in every picture: moving hosts come and go below it.
  const hover = () => {
    if (!pointer) return;
    const { x, y } = pointer,
      target = under(x, y);
    host.style.cursor = target ? "pointer" : "";
    tip.classList.toggle("mn-on", Boolean(target));
    if (target) {
      tip.textContent = target.say;
      const left = Math.max(0, Math.min(x + 14, app.size.width - 260));
      tip.style.transform = "translate(" + left + "px," + (y + 14) + "px)";
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
  return { tip, hover };
};
